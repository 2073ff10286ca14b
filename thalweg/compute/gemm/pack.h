// SPDX-License-Identifier: Apache-2.0
// The tile copiers of Product for matrices that lie in memory. Private to compute/gemm and
// compute/conv.
// Ownership: a Matrix points at the caller's elements; tiles are the product's.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "thalweg/compute/gemm/gemm_kernels.h"

namespace thalweg::compute {

template <class T>
struct Matrix {
  const T* data;
  int64_t stride;
  const GemmKernels<T>* kernels = nullptr;  // needed to pack it as b
};

template <class T>
void FillRows(const void* context, int64_t row, int64_t rows, int64_t k0, int64_t depth, T* tile) {
  const auto& a = *static_cast<const Matrix<T>*>(context);
  const T* from = a.data + row * a.stride + k0;
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(tile + r * kGemmTileStride, from + r * a.stride,
                static_cast<size_t>(depth) * sizeof(T));
  }
}

template <class T>
void FillColumns(const void* context, int64_t row, int64_t rows, int64_t k0, int64_t depth,
                 T* tile) {
  const auto& a = *static_cast<const Matrix<T>*>(context);
  const T* from = a.data + k0 * a.stride + row;
  // Few rows: a whole line is copied at once, what is too much is overwritten by the next step.
  constexpr int64_t kLine = 64 / sizeof(T);
  const bool lines = rows <= kLine && row + kLine <= a.stride;
  int64_t k = 0;
  for (; lines && k * rows + kLine <= depth * rows; ++k)
    std::memcpy(tile + k * rows, from + k * a.stride, 64);
  for (; k < depth; ++k) {
    std::memcpy(tile + k * rows, from + k * a.stride, static_cast<size_t>(rows) * sizeof(T));
  }
}

template <class T>
void PackRows(const void* context, int64_t k0, int64_t depth, int64_t col, int64_t cols,
              int64_t width, T* panel) {
  const auto& b = *static_cast<const Matrix<T>*>(context);
  const T* from = b.data + k0 * b.stride + col;
  if (cols == width) {
    b.kernels->pack_rows(depth, from, b.stride, panel);
    return;
  }
  for (int64_t k = 0; k < depth; ++k, panel += width, from += b.stride) {
    std::memcpy(panel, from, static_cast<size_t>(cols) * sizeof(T));
    std::fill(panel + cols, panel + width, T(0));
  }
}

template <class T>
void PackTransposed(const void* context, int64_t k0, int64_t depth, int64_t col, int64_t cols,
                    int64_t width, T* panel) {
  const auto& b = *static_cast<const Matrix<T>*>(context);
  const T* from = b.data + col * b.stride + k0;
  if (cols == width) {
    b.kernels->pack_columns(depth, from, b.stride, panel);
    return;
  }
  constexpr int64_t kStep = 8;  // a cache line of several source rows at a time
  for (int64_t k = 0; k < depth; k += kStep) {
    const int64_t steps = std::min(kStep, depth - k);
    for (int64_t j = 0; j < cols; ++j) {
      const T* source = from + j * b.stride + k;
      T* target = panel + k * width + j;
      for (int64_t s = 0; s < steps; ++s) target[s * width] = source[s];
    }
  }
  for (int64_t k = 0; k < depth; ++k)
    std::fill(panel + k * width + cols, panel + (k + 1) * width, T(0));
}

}  // namespace thalweg::compute
