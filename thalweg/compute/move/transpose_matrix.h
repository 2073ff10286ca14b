// SPDX-License-Identifier: Apache-2.0
// TransposeMatrices: out[b, j, i] = in[b, i, j] for a batch of dense matrices, in cache-sized
// blocks.
// Ownership: operands are the caller's, and do not overlap.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

// One matrix, rows [row_begin, row_end) of the input.
template <class T>
void TransposeRows(int64_t rows, int64_t columns, int64_t row_begin, int64_t row_end, const T* in,
                   T* out) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = row_begin; i0 < row_end; i0 += kBlock) {
    const int64_t i1 = std::min(i0 + kBlock, row_end);
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      const int64_t j1 = std::min(j0 + kBlock, columns);
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) out[j * rows + i] = in[i * columns + j];
      }
    }
  }
}

template <class T>
Status TransposeMatrices(Work& work, int64_t batch, int64_t rows, int64_t columns, const T* in,
                         T* out) {
  if (rows == 0 || columns == 0) return OkStatus();
  const int64_t block =
      std::clamp<int64_t>(65536 / columns / 16 * 16, 16, std::max<int64_t>(16, rows));
  const int64_t blocks = (rows + block - 1) / block;
  const int64_t grain = std::max<int64_t>(1, 65536 / (block * columns));
  return ForBlocks(work, batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t offset = b / blocks * rows * columns;
      const int64_t row = b % blocks * block;
      TransposeRows(rows, columns, row, std::min(row + block, rows), in + offset, out + offset);
    }
  });
}

}  // namespace thalweg::compute
