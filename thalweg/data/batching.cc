// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/batching.h"

#include <algorithm>
#include <utility>

#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/resources/batch_rows.h"
#include "thalweg/resources/held_tensor.h"

namespace thalweg {
namespace {

bool HaveOneShape(const Tensor& a, const Tensor& b) {
  const int rank = a.rank();
  bool same = rank == b.rank();
  for (int d = 0; same && d < rank; ++d) same = a.dim(d) == b.dim(d);
  return same;
}

// Collects elements until there are enough; what it has stays where one is late.
class CollectingStage : public InputStage {
 public:
  // `types`: of the input's components.
  CollectingStage(StagePtr input, int64_t size, bool drop_remainder, std::vector<DType> types)
      : InputStage(std::move(input)),
        size_(size),
        drop_remainder_(drop_remainder),
        types_(std::move(types)) {}

  Result<Poll> DoNext(const Poller& poller, Element* out) final {
    while (static_cast<int64_t>(elements_.size()) < size_) {
      RETURN_IF_ERROR(poller.Look());
      Result<Poll> poll = input_->Next(poller, out);
      if (!poll.ok()) {
        // The batch of an element that fails is the error's, as in TensorFlow.
        Status failed = elements_.Explain(poll.status());
        if (poller.Look().ok()) elements_.Clear();
        return failed;
      }
      if (*poll == Poll::kPending) return poll;
      if (*poll == Poll::kEnd) {
        if (elements_.empty()) return poll;
        if (!drop_remainder_) break;
        elements_.Clear();
        return Poll::kEnd;
      }
      RETURN_IF_ERROR(CheckTypes(*out));
      if (Status kept = elements_.Push(poller.allocator(), std::move(*out)); !kept.ok()) {
        elements_.Clear();
        return kept;
      }
    }
    Status made = elements_.Explain(Make(poller.allocator(), elements_, out));
    elements_.Clear();
    if (!made.ok()) return made;
    return Poll::kElement;
  }

  Result<Poll> Save(const Poller& poller, StateWriter& writer) final {
    elements_.Save(writer);
    return InputStage::Save(poller, writer);
  }
  Status Restore(const Poller& poller, StateReader& reader) final {
    RETURN_IF_ERROR(elements_.Restore(poller.allocator(), reader, &types_));
    return InputStage::Restore(poller, reader);
  }

 protected:
  // May take what `elements` hold.
  virtual Status Make(Allocator& allocator, KeptElements& elements, Element* out) = 0;
  // Component i of all.
  static std::vector<Tensor> Component(const KeptElements& elements, size_t i) {
    std::vector<Tensor> parts;
    parts.reserve(elements.size());
    for (size_t k = 0; k < elements.size(); ++k) parts.push_back(elements[k][i]);
    return parts;
  }

 private:
  // A graph may say that elements are of other types than they are.
  Status CheckTypes(const Element& element) const {
    const bool same = element.size() == types_.size() &&
                      std::equal(element.begin(), element.end(), types_.begin(),
                                 [](const Tensor& t, DType type) { return t.dtype() == type; });
    return same ? OkStatus()
                : InvalidArgument("an element of ", element.size(),
                                  " components is none of the types that its dataset says");
  }

  const int64_t size_;
  const bool drop_remainder_;
  const std::vector<DType> types_;
  KeptElements elements_{"Batch"};
};

class Batch : public DatasetOver {
 public:
  Batch(DatasetPtr input, int64_t size, const BatchOptions& options, ElementSpec spec)
      : DatasetOver(std::move(spec), std::move(input)), size_(size), options_(options) {}
  std::string Kind() const override { return "Batch"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    return n < 0 ? n : n / size_ + (!options_.drop_remainder && n % size_ != 0 ? 1 : 0);
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return Collect(std::move(input));
  }

 protected:
  virtual StagePtr Collect(StagePtr input) const {
    return std::make_unique<BatchStage>(std::move(input), size_, options_.drop_remainder,
                                        input_->spec().types);
  }

  class BatchStage : public CollectingStage {
   public:
    using CollectingStage::CollectingStage;

   private:
    Status Make(Allocator& allocator, KeptElements& elements, Element* out) override {
      out->resize(elements[0].size());
      std::vector<Tensor*> rows(elements.size());
      for (size_t i = 0; i < out->size(); ++i) {
        for (size_t k = 0; k < rows.size(); ++k) {
          rows[k] = &elements[k][i];
          if (HaveOneShape(*rows[k], *rows[0])) continue;
          return InvalidArgument("Cannot batch tensors with different shapes in component ", i,
                                 ". First element had shape ", rows[0]->shape(), " and element ", k,
                                 " had shape ", rows[k]->shape(), ".");
        }
        ASSIGN_OR_RETURN((*out)[i], BatchOfRows(allocator, rows));
      }
      return OkStatus();
    }
  };

  const int64_t size_;
  const BatchOptions options_;
};

class PaddedBatch : public Batch {
 public:
  PaddedBatch(DatasetPtr input, int64_t size, const BatchOptions& options,
              std::vector<PartialShape> shapes, Element values, ElementSpec spec)
      : Batch(std::move(input), size, options, std::move(spec)),
        shapes_(std::move(shapes)),
        values_(std::move(values)) {}
  std::string Kind() const override { return "PaddedBatch"; }

 private:
  StagePtr Collect(StagePtr input) const override {
    return std::make_unique<PaddedStage>(std::move(input), *this, shared_from_this());
  }

  class PaddedStage : public CollectingStage {
   public:
    PaddedStage(StagePtr input, const PaddedBatch& batch, DatasetPtr owner)
        : CollectingStage(std::move(input), batch.size_, batch.options_.drop_remainder,
                          batch.input_->spec().types),
          batch_(batch),
          owner_(std::move(owner)) {}

   private:
    Status Make(Allocator& allocator, KeptElements& elements, Element* out) override {
      out->resize(elements[0].size());
      for (size_t i = 0; i < out->size(); ++i) {
        const std::vector<Tensor> parts = Component(elements, i);
        ASSIGN_OR_RETURN(const Shape shape, PaddedShape(i, parts));
        ASSIGN_OR_RETURN((*out)[i], PaddedBatchOf(allocator, shape, parts, batch_.values_[i]));
      }
      return OkStatus();
    }

    Result<Shape> PaddedShape(size_t i, const std::vector<Tensor>& parts) const {
      const PartialShape& wanted = batch_.shapes_[i];
      const int rank = wanted.known_rank() ? wanted.rank() : parts[0].rank();
      Dims dims;
      for (int d = 0; d < rank; ++d) {
        dims.push_back(wanted.known_rank() ? std::max<int64_t>(wanted.dim(d), 0) : 0);
      }
      for (const Tensor& part : parts) {
        if (part.rank() != rank) {
          return InvalidArgument(
              "All elements in a batch must have the same rank as the padded shape for component",
              i, ": expected rank ", rank, " but got element with rank ", part.rank());
        }
        for (int d = 0; d < rank; ++d) {
          const bool is_open = !wanted.known_rank() || wanted.dim(d) < 0;
          if (!is_open && part.dim(d) > dims[d]) {
            return DataLoss("Attempted to pad to a smaller size than the input element: component ",
                            i, " has shape ", part.shape(), ", the padded shape is ", wanted);
          }
          if (is_open) dims[d] = std::max(dims[d], part.dim(d));
        }
      }
      return Shape::Make(dims);
    }

    const PaddedBatch& batch_;
    const DatasetPtr owner_;
  };

  const std::vector<PartialShape> shapes_;
  const Element values_;
};

// The elements of a batch as one sparse tensor of three variants.
class SparseBatch : public Batch {
 public:
  SparseBatch(DatasetPtr input, int64_t size, PartialShape row, ElementSpec spec)
      : Batch(std::move(input), size, {}, std::move(spec)), row_(std::move(row)) {}
  std::string Kind() const override { return "DenseToSparseBatch"; }

 private:
  StagePtr Collect(StagePtr input) const override {
    return std::make_unique<SparseStage>(std::move(input), size_, row_, input_->spec().types);
  }

  class SparseStage : public CollectingStage {
   public:
    SparseStage(StagePtr input, int64_t size, PartialShape row, std::vector<DType> types)
        : CollectingStage(std::move(input), size, false, std::move(types)), row_(std::move(row)) {}

   private:
    Status Make(Allocator& allocator, KeptElements& elements, Element* out) override {
      const std::vector<Tensor> parts = Component(elements, 0);
      ASSIGN_OR_RETURN(const Dims dims, DimsOf(parts));
      std::vector<Tensor> values;
      int64_t count = 0;
      for (const Tensor& part : parts) {
        if (part.num_elements() == 0) continue;
        ASSIGN_OR_RETURN(Tensor flat, part.Reshaped(Shape{part.num_elements()}));
        values.push_back(std::move(flat));
        count += part.num_elements();
      }
      ASSIGN_OR_RETURN(Tensor joined,
                       count > 0 ? JoinRows(allocator, values, count)
                                 : Tensor::Allocate(allocator, parts[0].dtype(), Shape{0}));
      ASSIGN_OR_RETURN(Tensor places, PlacesOf(allocator, parts, count));
      ASSIGN_OR_RETURN(Tensor shape, Tensor::AllocateHost(DType::kInt64, Shape{row_.rank() + 1}));
      int64_t* const to = shape.mutable_data<int64_t>();
      to[0] = static_cast<int64_t>(parts.size());
      std::copy(dims.begin(), dims.end(), to + 1);
      ASSIGN_OR_RETURN(Tensor held, Tensor::AllocateHost(DType::kVariant, Shape{3}));
      Variant* const variants = held.mutable_data<Variant>();
      RETURN_IF_ERROR(HoldTensor(std::move(places), &variants[0]));
      RETURN_IF_ERROR(HoldTensor(std::move(joined), &variants[1]));
      RETURN_IF_ERROR(HoldTensor(std::move(shape), &variants[2]));
      out->assign(1, held);
      return OkStatus();
    }

    // A row's dimensions: as they are given, or those of the largest element.
    Result<Dims> DimsOf(const std::vector<Tensor>& parts) const {
      Dims dims;
      for (int d = 0; d < row_.rank(); ++d) dims.push_back(std::max<int64_t>(row_.dim(d), 0));
      for (const Tensor& part : parts) {
        if (part.rank() != row_.rank()) {
          return InvalidArgument("Input element had shape (", part.shape(),
                                 ") that is incompatible with the row shape (", row_, ").");
        }
        for (int d = 0; d < row_.rank(); ++d) {
          if (row_.dim(d) < 0) {
            dims[d] = std::max(dims[d], part.dim(d));
          } else if (part.dim(d) > row_.dim(d)) {
            return DataLoss("Input element had shape (", part.shape(),
                            ") that exceeds the row shape (", row_, ").");
          }
        }
      }
      return dims;
    }
    // Which element of the batch each value is of, and where in it.
    static Result<Tensor> PlacesOf(Allocator& allocator, const std::vector<Tensor>& parts,
                                   int64_t count) {
      const int rank = parts[0].rank();
      ASSIGN_OR_RETURN(Tensor places,
                       Tensor::Allocate(allocator, DType::kInt64, Shape{count, rank + 1}));
      int64_t* to = places.mutable_data<int64_t>();
      for (size_t k = 0; k < parts.size(); ++k) {
        for (int64_t i = 0; i < parts[k].num_elements(); ++i, to += rank + 1) {
          to[0] = static_cast<int64_t>(k);
          int64_t rest = i;
          for (int d = rank - 1; d >= 0; --d) {
            to[d + 1] = rest % parts[k].dim(d);
            rest /= parts[k].dim(d);
          }
        }
      }
      return places;
    }

    const PartialShape row_;
  };

  const PartialShape row_;
};

class List : public Dataset {
 public:
  List(KeptElementsPtr elements, ElementSpec spec)
      : Dataset(std::move(spec)), elements_(std::move(elements)) {}
  std::string Kind() const override { return "Window"; }
  int64_t Cardinality() const override { return static_cast<int64_t>(elements_->size()); }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<ListStage>(elements_));
  }

 private:
  class ListStage : public Stage {
   public:
    explicit ListStage(KeptElementsPtr elements) : elements_(std::move(elements)) {}
    Result<Poll> DoNext(const Poller&, Element* out) override {
      if (at_ >= static_cast<int64_t>(elements_->size())) return Poll::kEnd;
      const std::span<const Tensor> element = (*elements_)[static_cast<size_t>(at_++)];
      out->assign(element.begin(), element.end());
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller&, StateWriter& writer) override {
      writer.Add(at_);
      return Poll::kElement;
    }
    Status Restore(const Poller&, StateReader& reader) override {
      RETURN_IF_ERROR(reader.Read(&at_));
      return at_ >= 0 ? OkStatus()
                      : InvalidArgument("the state of the iterator is negative: ", at_);
    }

   private:
    const KeptElementsPtr elements_;
    int64_t at_ = 0;
  };

  const KeptElementsPtr elements_;
};

Status CheckSize(int64_t size) {
  return size > 0 ? OkStatus() : InvalidArgument("Batch size must be greater than zero.");
}

}  // namespace

Result<DatasetPtr> BatchDataset(DatasetPtr input, int64_t size, const BatchOptions& options,
                                ElementSpec spec) {
  RETURN_IF_ERROR(CheckSize(size));
  return DatasetPtr(std::make_shared<Batch>(std::move(input), size, options, std::move(spec)));
}

Result<DatasetPtr> PaddedBatchDataset(DatasetPtr input, int64_t size, const BatchOptions& options,
                                      std::vector<PartialShape> shapes, Element values,
                                      ElementSpec spec) {
  RETURN_IF_ERROR(CheckSize(size));
  const std::vector<DType>& types = input->spec().types;
  if (shapes.size() != types.size() || values.size() != types.size()) {
    return InvalidArgument("padded_shapes and padding_values must be as many as the input's ",
                           types.size(), " components, got ", shapes.size(), " and ",
                           values.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (values[i].rank() != 0) return InvalidArgument("All padding values must be scalars");
    if (values[i].dtype() != types[i]) {
      return InvalidArgument("Mismatched type between padding value ", i,
                             " and input dataset's component ", i, ": ", values[i].dtype(), " vs. ",
                             types[i]);
    }
  }
  return DatasetPtr(std::make_shared<PaddedBatch>(
      std::move(input), size, options, std::move(shapes), std::move(values), std::move(spec)));
}

Result<DatasetPtr> SparseBatchDataset(DatasetPtr input, int64_t size, PartialShape row,
                                      ElementSpec spec) {
  RETURN_IF_ERROR(CheckSize(size));
  const std::vector<DType>& types = input->spec().types;
  if (types.size() != 1) {
    return InvalidArgument(
        "DenseToSparseBatchDataset only supports inputs with a single component");
  }
  return DatasetPtr(
      std::make_shared<SparseBatch>(std::move(input), size, std::move(row), std::move(spec)));
}

DatasetPtr ListDataset(KeptElementsPtr elements, ElementSpec spec) {
  return std::make_shared<List>(std::move(elements), std::move(spec));
}

Result<Tensor> TensorOfList(KeptElementsPtr elements, ElementSpec spec) {
  std::vector<Tensor> held;
  for (size_t i = 0; i < elements->size(); ++i) {
    for (const Tensor& tensor : (*elements)[i]) {
      if (tensor.dtype() == DType::kVariant) held.push_back(tensor);
    }
  }
  return TensorOf(ListDataset(std::move(elements), std::move(spec)), held);
}

}  // namespace thalweg
