// SPDX-License-Identifier: Apache-2.0
// ShareRows: rows of dimension 0 as a tensor that shares the bytes, where that is worth it.
// Ownership: the view keeps the whole buffer of `x` alive.
// Threads: any; no state.
// Errors: InvalidArgument for a shape of another size; an empty tensor, where a copy is needed, is
// none.
#pragma once

#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Pieces smaller than this are copied: a view would keep the whole buffer alive for little.
inline constexpr size_t kSmallestView = 4096;

// Rows [begin, end) of x in the given shape; an empty tensor when they must be copied: objects,
// small pieces, and pieces whose first element is not aligned as the loops like it.
inline Result<Tensor> ShareRows(const Tensor& x, int64_t begin, int64_t end, const Shape& shape) {
  if (x.kind() != Tensor::Kind::kBuffer || !IsPlain(x.dtype()) || x.rank() == 0) return Tensor();
  const int64_t rows = x.dim(0);
  if (rows == 0) return Tensor();
  const size_t row_bytes = x.bytes() / static_cast<size_t>(rows);
  const bool aligned = static_cast<size_t>(begin) * row_bytes % kTensorAlignment == 0;
  if (!aligned || static_cast<size_t>(end - begin) * row_bytes < kSmallestView) return Tensor();
  return x.Rows(begin, end).Reshaped(shape);
}

}  // namespace thalweg
