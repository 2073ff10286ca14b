// SPDX-License-Identifier: Apache-2.0
// What two boxes of one tensor have in common, element by element. Boxes are resolved
// (TensorSlice::Resolve), `common` is what Intersect says of them.
// Ownership: none; `to` is the caller's, and nobody else holds its buffer.
// Threads: any, on distinct targets.
// Errors: none; the boxes were checked by Resolve and Intersect.
#pragma once

#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// run(at, into, n) for every n elements of the part `common` (whole coordinates) that lie side by
// side: from element `at` of a tensor of box `source`, from element `into` of one of box `target`.
template <class Run>
void ForRuns(const TensorSlice& source, const TensorSlice& target, const TensorSlice& common,
             const Run& run) {
  const auto rank = common.extents.size();
  const int64_t length = rank == 0 ? 1 : common.extents[rank - 1].length;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < rank; ++i) rows *= common.extents[i].length;
  const auto offset_in = [&](const TensorSlice& box, int64_t row) {
    int64_t offset = 0, stride = 1;
    for (size_t i = rank; i-- > 0;) {
      int64_t position = common.extents[i].start - box.extents[i].start;
      if (i + 1 < rank) {
        position += row % common.extents[i].length;
        row /= common.extents[i].length;
      }
      offset += position * stride;
      stride *= box.extents[i].length;
    }
    return static_cast<size_t>(offset);
  };
  for (int64_t row = 0; row < rows; ++row) {
    run(offset_in(source, row), offset_in(target, row), static_cast<size_t>(length));
  }
}

// Copies the part `common` of `from`, the tensor of box `source`, into `to`, that of `target`.
void CopyBox(const Tensor& from, const TensorSlice& source, Tensor& to, const TensorSlice& target,
             const TensorSlice& common);

}  // namespace thalweg
