// SPDX-License-Identifier: Apache-2.0
// CsrMatrix: a sparse matrix, or a batch of them, in compressed rows, as the element of a variant
// tensor. Immutable; copies share the parts.
//   ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, DType::kFloat));
//   a->matrix(b);                    // rows, columns and values of one matrix
//   SetCsrOutput(ctx, 0, std::move(made));
// In a batch, `starts` are those of all matrices one behind the other, rows + 1 each and counted
// from the matrix's own first value.
// Ownership: variants share it; a CsrView points into it.
// Threads: any, as it is immutable.
// Errors: InvalidArgument for another variant or type.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "thalweg/compute/sparse/csr.h"
#include "thalweg/resources/variant_arithmetic.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

class CsrMatrix : public ArithmeticVariant {
 public:
  // Shape of rank 2 or 3; first[b] is where the values of matrix b begin, one more than matrices.
  CsrMatrix(Shape shape, std::vector<int64_t> first, Tensor starts, Tensor places, Tensor values)
      : shape_(std::move(shape)),
        first_(std::move(first)),
        starts_(std::move(starts)),
        places_(std::move(places)),
        values_(std::move(values)) {}

  std::string TypeName() const override { return "tensorflow::CSRSparseMatrix"; }
  std::string DebugString() const override {
    return StrCat("sparse matrix ", dtype(), shape_, " of ", values_.num_elements(), " values");
  }

  Result<Variant> Conjugate(Context& ctx) const override {
    ASSIGN_OR_RETURN(Tensor values, values_.Clone(ctx.allocator()));
    RETURN_IF_ERROR(
        compute::ConjugateValues(dtype(), values.num_elements(), values.mutable_raw_data()));
    return Variant(
        std::make_shared<CsrMatrix>(shape_, first_, starts_, places_, std::move(values)));
  }

  DType dtype() const { return values_.dtype(); }
  const Shape& shape() const { return shape_; }
  bool is_batch() const { return shape_.rank() == 3; }
  int64_t batch() const { return is_batch() ? shape_.dim(0) : 1; }
  int64_t rows() const { return shape_.dim(shape_.rank() - 2); }
  int64_t columns() const { return shape_.dim(shape_.rank() - 1); }
  int64_t count() const { return values_.num_elements(); }
  int64_t first(int64_t b) const { return first_[static_cast<size_t>(b)]; }
  int64_t count(int64_t b) const { return first(b + 1) - first(b); }
  const Tensor& values() const { return values_; }
  compute::CsrView matrix(int64_t b) const {
    return {.rows = rows(),
            .columns = columns(),
            .starts = starts_.data<int32_t>() + b * (rows() + 1),
            .places = places_.data<int32_t>() + first(b),
            .values = ValuesAt(first(b))};
  }
  // f(b, row, column, i) for all values in their order.
  template <class F>
  void ForEach(F&& f) const {
    for (int64_t b = 0; b < batch(); ++b) {
      const compute::CsrView view = matrix(b);
      for (int64_t row = 0; row < view.rows; ++row) {
        for (int32_t i = view.starts[row]; i < view.starts[row + 1]; ++i) {
          f(b, row, int64_t{view.places[i]}, first(b) + i);
        }
      }
    }
  }

 private:
  const char* ValuesAt(int64_t i) const {
    return static_cast<const char*>(values_.raw_data()) +
           static_cast<size_t>(i) * DTypeSize(values_.dtype());
  }

  Shape shape_;
  std::vector<int64_t> first_;
  Tensor starts_, places_, values_;
};

inline Result<const CsrMatrix*> CsrInput(const Context& ctx, int i, DType dtype = DType::kInvalid) {
  const Tensor& input = ctx.input(i);
  const CsrMatrix* matrix = input.dtype() == DType::kVariant && input.rank() == 0
                                ? input.scalar<Variant>().As<CsrMatrix>()
                                : nullptr;
  if (matrix == nullptr) {
    return InvalidArgument("input ", i, " must be a scalar variant that holds a sparse matrix");
  }
  if (dtype != DType::kInvalid && matrix->dtype() != dtype) {
    return InvalidArgument("Asked for a CSRSparseMatrix of type ", dtype,
                           " but saw dtype: ", matrix->dtype());
  }
  return matrix;
}

inline void SetCsrOutput(Context& ctx, int i, CsrMatrix matrix) {
  ctx.set_output(i, Tensor::Scalar(Variant(std::make_shared<CsrMatrix>(std::move(matrix)))));
}

// A shape that a sparse matrix may have: matrices or batches of them, sizes and starts in int32.
inline Status CheckCsrShape(const Shape& shape, int64_t count) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (shape.rank() != 2 && shape.rank() != 3) {
    return InvalidArgument("SparseTensor must have rank 2 or 3; but it has the shape ", shape);
  }
  const int64_t rows = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
  if (rows >= kMost || columns > kMost || count > kMost) {
    return InvalidArgument("a sparse matrix may have at most ", kMost,
                           " rows, columns and values, got ", shape, " with ", count, " values");
  }
  if (shape.rank() == 3 && shape.dim(0) > kMost / (rows + 1)) {
    return InvalidArgument("the batch has too many rows: ", shape);
  }
  return OkStatus();
}

// From places [count, rank], checked against the shape, in order of batch and row.
inline Result<CsrMatrix> CsrFromPlaces(Context& ctx, const Shape& shape, const int64_t* places,
                                       Tensor values) {
  const int64_t count = values.num_elements();
  RETURN_IF_ERROR(CheckCsrShape(shape, count));
  const int rank = shape.rank();
  const int64_t batch = rank == 3 ? shape.dim(0) : 1, rows = shape.dim(rank - 2);
  ASSIGN_OR_RETURN(Tensor starts,
                   Tensor::Allocate(ctx.allocator(), DType::kInt32, Shape{batch * (rows + 1)}));
  ASSIGN_OR_RETURN(Tensor columns, Tensor::Allocate(ctx.allocator(), DType::kInt32, Shape{count}));
  int32_t* start = starts.mutable_data<int32_t>();
  std::vector<int64_t> first = {0};
  int64_t at = 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t row = 0; row < rows; ++row) {
      *start++ = static_cast<int32_t>(at - first.back());
      for (; at < count; ++at) {
        const int64_t* place = places + at * rank;
        if (place[rank - 2] != row || (rank == 3 && place[0] != b)) break;
        columns.mutable_data<int32_t>()[at] = static_cast<int32_t>(place[rank - 1]);
      }
    }
    *start++ = static_cast<int32_t>(at - first.back());
    first.push_back(at);
  }
  if (at != count) {
    return InvalidArgument("indices[", at, "] is out of order: batches and rows must rise");
  }
  return CsrMatrix(shape, std::move(first), std::move(starts), std::move(columns),
                   std::move(values));
}

}  // namespace thalweg
