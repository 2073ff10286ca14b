// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor as elements of a list or an array, and back: what the kernels of both share.
// Ownership: a piece shares its tensor's buffer where that is worth it, else is a copy.
// Threads: those of the kernel's call.
// Errors: InvalidArgument for lengths and shapes that do not fit, Cancelled, ResourceExhausted.
#pragma once

#include <vector>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/kernel/shared_rows.h"

namespace thalweg {

// The shape without its first dimension.
inline Shape RowShape(const Shape& shape) {
  Dims dims = shape.dims();
  dims.erase(0);
  return Shape(std::move(dims));
}

// `n` rows of the given shape; InvalidArgument where that is more than a tensor may be.
inline Result<Shape> RowsOf(int64_t n, const Shape& row) {
  Dims dims{n};
  for (const int64_t dim : row.dims()) dims.push_back(dim);
  return Shape::Make(dims);
}

// Rows [begin, end) of x in the given shape: they share its bytes where that is worth it. Cancelled
// once the step is, as there may be millions.
inline Result<Tensor> TakeRows(Context& ctx, const Tensor& x, int64_t begin, int64_t end,
                               const Shape& shape) {
  if (ctx.work().cancelled()) return CancelledStep();
  ASSIGN_OR_RETURN(Tensor shared, ShareRows(x, begin, end, shape));
  if (!shared.empty()) return shared;
  ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(ctx.allocator(), x.dtype(), shape));
  const int64_t rows = x.dim(0);
  const int64_t row = rows == 0 ? 0 : x.num_elements() / rows;
  RETURN_IF_ERROR(ClaimCopiesOf(ctx.allocator(), copy, x, begin * row, (end - begin) * row));
  RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), x.dtype(), Dims{(end - begin) * row},
                                       {x.raw_data(), {1}, begin * row},
                                       {copy.mutable_raw_data(), {1}}));
  return copy;
}

// The elements of `value` into `out`, from its element `offset` on.
inline Status CopyInto(Context& ctx, const Tensor& value, Tensor& out, int64_t offset) {
  RETURN_IF_ERROR(ClaimCopies(ctx, out, value));
  return compute::CopyStrided(ctx.work(), value.dtype(), Dims{value.num_elements()},
                              {value.raw_data(), {1}}, {out.mutable_raw_data(), {1}, offset});
}

// Whether `lengths` cuts the rows of `value` into pieces.
inline Status CheckLengths(const Tensor& value, const Tensor& lengths) {
  if (lengths.rank() != 1) {
    return InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape());
  }
  if (value.rank() < 1) {
    return InvalidArgument("Expected value to be at least a vector, but received shape: ",
                           value.shape());
  }
  int64_t left = value.dim(0);
  for (const int64_t length : lengths.flat<int64_t>()) {
    if (length < 0) return InvalidArgument("Invalid value in lengths: ", length);
    if (length > left) {
      left = -1;
      break;
    }
    left -= length;
  }
  if (left == 0) return OkStatus();
  return InvalidArgument(
      "Expected sum of lengths to be equal to values.shape[0], but lengths do not add up to it; "
      "value's shape is: ",
      value.shape());
}

// The shapes of pieces that are put one after the other along dimension 0.
class PieceShapes {
 public:
  explicit PieceShapes(PartialShape rest) : rest_(std::move(rest)) {}

  Status Add(int64_t index, const Shape& shape) {
    if (shape.rank() == 0) {
      return InvalidArgument("Concat saw a scalar shape at index ", index,
                             " but requires at least vectors.  Did you mean to call pack?");
    }
    const Shape rest = RowShape(shape);
    if (!rest_.Admits(rest)) {
      return InvalidArgument("TensorArray was passed element_shape_except0 ", rest_, " but index ",
                             index, " has (excepting dimension 0) shape: ", rest);
    }
    if (lengths_.empty()) first_ = rest;
    if (rest != first_) {
      return InvalidArgument(
          "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
          first_, " but index ", index, " has (excepting dimension 0) shape: ", rest);
    }
    lengths_.push_back(shape.dim(0));
    if (__builtin_add_overflow(total_, shape.dim(0), &total_)) {
      return InvalidArgument("the elements have more rows than a tensor may have");
    }
    return OkStatus();
  }
  // Only with pieces, or when `rest` was fully defined.
  Result<Shape> Whole() const {
    return RowsOf(total_, lengths_.empty() ? rest_.ToShape() : first_);
  }
  const std::vector<int64_t>& lengths() const { return lengths_; }

 private:
  const PartialShape rest_;
  Shape first_;
  std::vector<int64_t> lengths_;
  int64_t total_ = 0;
};

}  // namespace thalweg
