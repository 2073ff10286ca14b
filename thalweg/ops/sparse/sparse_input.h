// SPDX-License-Identifier: Apache-2.0
// What kernels of sparse tensors share. A sparse tensor is three inputs: indices [n, rank] (int64),
// values [n], shape [rank].
//   ASSIGN_OR_RETURN(const SparseInput a, SparseInput::Checked(ctx, 0, 1, 2));
//   ASSIGN_OR_RETURN(Tensor rows, PickRows(ctx, a.values(), order));
// Ownership: shares the inputs' buffers; PickRows makes a new tensor.
// Threads: const members from any.
// Errors: InvalidArgument for shapes that do not belong together and indices out of bounds.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/sort.h"
#include "thalweg/kernel/context.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/sparse_ranks.h"

namespace thalweg {

class SparseInput {
 public:
  // Shapes are checked, indices are not.
  static Result<SparseInput> Of(const Tensor& indices, const Tensor& values, const Tensor& shape) {
    if (indices.rank() != 2) {
      return InvalidArgument("Input indices should be a matrix but received shape ",
                             indices.shape());
    }
    if (values.rank() != 1) {
      return InvalidArgument("Input values should be a vector but received shape ", values.shape());
    }
    if (shape.rank() != 1) {
      return InvalidArgument("Input shape should be a vector but received shape ", shape.shape());
    }
    if (values.dim(0) != indices.dim(0)) {
      return InvalidArgument("indices and values rows (indexing dimension) must match. (indices = ",
                             indices.dim(0), ", values = ", values.dim(0), ")");
    }
    if (shape.dim(0) != indices.dim(1)) {
      return InvalidArgument("Order length must be SparseTensor rank: indices have ",
                             indices.dim(1), " columns, the shape ", shape.dim(0), " dimensions");
    }
    ASSIGN_OR_RETURN(const Shape dense, ShapeOf(shape, "shape"));
    return SparseInput(indices, values, dense);
  }
  // Also every index is in bounds.
  static Result<SparseInput> Checked(const Context& ctx, int indices, int values, int shape) {
    ASSIGN_OR_RETURN(SparseInput made, Of(ctx.input(indices), ctx.input(values), ctx.input(shape)));
    RETURN_IF_ERROR(made.CheckBounds());
    return made;
  }
  // The same where TensorFlow's words for wrong ranks are those of CheckSparseRanks.
  static Result<SparseInput> Ranked(const Context& ctx, int indices, int values, int shape) {
    RETURN_IF_ERROR(CheckSparseRanks(ctx.input(indices).rank(), ctx.input(values).rank(),
                                     ctx.input(shape).rank()));
    return Checked(ctx, indices, values, shape);
  }

  const Tensor& values() const { return values_; }
  const Tensor& indices() const { return indices_; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return count_; }
  int rank() const { return shape_.rank(); }
  const int64_t* row(int64_t i) const { return indices_.data<int64_t>() + i * shape_.rank(); }

  Status CheckBounds() const {
    for (int64_t i = 0; i < count_; ++i) {
      for (int d = 0; d < rank(); ++d) {
        if (row(i)[d] >= 0 && row(i)[d] < shape_.dim(d)) continue;
        return InvalidArgument("indices[", i, "] = ", RowText(i),
                               " is out of bounds: need 0 <= index < ", shape_);
      }
    }
    return OkStatus();
  }
  std::string RowText(int64_t i) const {
    std::string text = "[";
    for (int d = 0; d < rank(); ++d) text += StrCat(d == 0 ? "" : ",", row(i)[d]);
    return text + "]";
  }
  // The rows in the order of their places; equal ones as they came.
  Result<std::vector<int64_t>> Order(const compute::Work& work) const {
    std::vector<int64_t> order(static_cast<size_t>(count_));
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto less = [this](int64_t a, int64_t b) {
      return std::lexicographical_compare(row(a), row(a) + rank(), row(b), row(b) + rank());
    };
    if (!std::is_sorted(order.begin(), order.end(), less)) {
      RETURN_IF_ERROR(compute::StableSort(work, order.begin(), order.end(), less));
    }
    return order;
  }

 private:
  SparseInput(const Tensor& indices, const Tensor& values, Shape shape)
      : indices_(indices), values_(values), shape_(std::move(shape)), count_(indices.dim(0)) {}

  Tensor indices_, values_;
  Shape shape_;
  int64_t count_;
};

// The rows (elements of a vector) that are named, in a new tensor; -1 gives zeros.
inline Result<Tensor> PickRows(Context& ctx, const Tensor& from, const std::vector<int64_t>& rows) {
  Dims dims = from.shape().dims();
  int64_t inner = 1;
  for (int d = 1; d < dims.size(); ++d) inner *= dims[d];
  const int64_t available = dims[0];
  dims[0] = static_cast<int64_t>(rows.size());
  ASSIGN_OR_RETURN(Tensor picked, Tensor::Allocate(ctx.allocator(), from.dtype(), Shape(dims)));
  RETURN_IF_ERROR(compute::GatherRows(ctx.work(), from.dtype(),
                                      {.rows = available, .inner = inner, .count = dims[0]},
                                      from.raw_data(), rows.data(), picked.mutable_raw_data()));
  return picked;
}

// Outputs `first` to first + 2.
inline void SetSparse(Context& ctx, int first, Tensor indices, Tensor values, const Shape& shape) {
  ctx.set_output(first, std::move(indices));
  ctx.set_output(first + 1, std::move(values));
  const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  ctx.set_output(first + 2, Tensor::Of<int64_t>(dims, Shape{int64_t{shape.rank()}}));
}

// A matrix of indices out of its elements.
inline Tensor IndexMatrix(const std::vector<int64_t>& elements, int rank, int64_t count) {
  return Tensor::Of<int64_t>(elements, Shape{count, int64_t{rank}});
}

}  // namespace thalweg
