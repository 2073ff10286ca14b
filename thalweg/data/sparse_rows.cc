// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "thalweg/data/memory_sources.h"
#include "thalweg/data/state.h"
#include "thalweg/resources/batch_rows.h"

namespace thalweg {
namespace {

class SparseRows : public Dataset {
 public:
  SparseRows(Tensor indices, Tensor values, int64_t rows, Tensor row_shape, ElementSpec spec)
      : Dataset(std::move(spec)),
        indices_(std::move(indices)),
        values_(std::move(values)),
        rows_(rows),
        row_shape_(std::move(row_shape)) {}
  std::string Kind() const override { return "SparseTensorSlice"; }
  int64_t Cardinality() const override { return rows_; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<RowsStage>(*this, shared_from_this()));
  }

 private:
  class RowsStage : public Stage {
   public:
    RowsStage(const SparseRows& rows, DatasetPtr owner) : rows_(rows), owner_(std::move(owner)) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (row_ >= rows_.rows_) return Poll::kEnd;
      const int64_t n = rows_.values_.num_elements(), rank = rows_.indices_.dim(1);
      const int64_t* const indices = rows_.indices_.data<int64_t>();
      int64_t end = begin_;
      while (end < n && indices[end * rank] == row_) ++end;
      out->resize(3);
      ASSIGN_OR_RETURN((*out)[0], Tensor::Allocate(poller.allocator(), DType::kInt64,
                                                   Shape{end - begin_, rank - 1}));
      int64_t* to = (*out)[0].mutable_data<int64_t>();
      for (int64_t i = begin_; i < end; ++i) {
        to = std::copy(indices + i * rank + 1, indices + (i + 1) * rank, to);
      }
      ASSIGN_OR_RETURN((*out)[1], CutRows(poller.allocator(), rows_.values_, begin_, end));
      (*out)[2] = rows_.row_shape_;
      begin_ = end;
      ++row_;
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller&, StateWriter& writer) override {
      writer.Add(row_);
      writer.Add(begin_);
      return Poll::kElement;
    }
    Status Restore(const Poller&, StateReader& reader) override {
      RETURN_IF_ERROR(reader.Read(&row_));
      RETURN_IF_ERROR(reader.Read(&begin_));
      return row_ >= 0 && begin_ >= 0 && begin_ <= rows_.values_.num_elements()
                 ? OkStatus()
                 : InvalidArgument("the state of the iterator is none of this dataset");
    }

   private:
    const SparseRows& rows_;
    const DatasetPtr owner_;
    int64_t row_ = 0;
    int64_t begin_ = 0;  // of the row among the values
  };

  const Tensor indices_;
  const Tensor values_;
  const int64_t rows_;
  const Tensor row_shape_;
};

}  // namespace

Result<DatasetPtr> SparseRowsDataset(Tensor indices, Tensor values, const Tensor& shape) {
  if (indices.rank() != 2) {
    return InvalidArgument("Input indices should be a matrix but received shape ", indices.shape());
  }
  if (values.rank() != 1) {
    return InvalidArgument("Input values should be a vector but received shape ", values.shape());
  }
  if (shape.rank() != 1) {
    return InvalidArgument("Input shape should be a vector but received shape ", shape.shape());
  }
  if (values.dim(0) != indices.dim(0)) {
    return InvalidArgument("Number of values must match first dimension of indices. Got ",
                           values.dim(0), " values, indices shape: ", indices.shape());
  }
  const int64_t rank = shape.dim(0);
  if (rank == 0 || indices.dim(1) != rank) {
    return InvalidArgument("Number of dimensions must match second dimension of indices and be ",
                           "positive. Got ", rank, " dimensions, indices shape: ", indices.shape());
  }
  const int64_t* const places = indices.data<int64_t>();
  int64_t before = 0;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const int64_t row = places[i * rank];
    if (row < before) {
      return Unimplemented(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered "
          "input is not currently supported.");
    }
    before = row;
  }
  const int64_t* const dims = shape.data<int64_t>();
  if (dims[0] < 0) return InvalidArgument("a SparseTensor cannot have ", dims[0], " rows");
  ASSIGN_OR_RETURN(Tensor row_shape, Tensor::AllocateHost(DType::kInt64, Shape{rank - 1}));
  std::copy(dims + 1, dims + rank, row_shape.mutable_data<int64_t>());
  ElementSpec spec = {{DType::kInt64, values.dtype(), DType::kInt64},
                      {PartialShape{-1, rank - 1}, PartialShape{-1}, PartialShape{rank - 1}}};
  const int64_t rows = dims[0];
  return DatasetPtr(std::make_shared<SparseRows>(std::move(indices), std::move(values), rows,
                                                 std::move(row_shape), std::move(spec)));
}

}  // namespace thalweg
