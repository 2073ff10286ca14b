// SPDX-License-Identifier: Apache-2.0
// ImageRows: rows of the matrix that a convolution multiplies, copied from the image where they are
// needed. Private to compute/conv.
// Ownership: points at the image, which outlives it.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "thalweg/compute/conv/conv2d.h"

namespace thalweg::compute {

// Zeros where from is null.
template <class T>
void CopyOrZero(const T* from, int64_t count, T* to) {
  if (count <= 0) return;
  if (from != nullptr) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    std::memset(static_cast<void*>(to), 0, static_cast<size_t>(count) * sizeof(T));
  }
}

// Row p: what output pixel p (counted over the batch) sees; column k: tap k / channels, channel k %
// channels.
template <class T>
struct ImageRows {
  const T* image;  // [batch, rows, columns, channels]
  Window rows, columns;
  int64_t channels;

  void Copy(int64_t pixel, int64_t count, int64_t k0, int64_t depth, T* to,
            int64_t to_stride) const {
    const int64_t per_image = rows.output * columns.output;
    for (int64_t i = 0; i < count; ++i, to += to_stride) {
      const int64_t index = pixel + i;
      const int64_t place = index % per_image;
      CopyRow(image + index / per_image * rows.input * columns.input * channels,
              place / columns.output, place % columns.output, k0, depth, to);
    }
  }

 private:
  void CopyRow(const T* plane, int64_t out_row, int64_t out_column, int64_t k0, int64_t depth,
               T* to) const {
    // Taps of one filter row lie side by side in the image unless they are dilated.
    const int64_t run = columns.dilation == 1 ? columns.size * channels : channels;
    const int64_t row_length = columns.input * channels;
    const int64_t end = k0 + depth;
    while (k0 < end) {
      const int64_t tap = k0 / run * run / channels;
      const int64_t offset = k0 % run;
      const int64_t n = std::min(run - offset, end - k0);
      const int64_t in_row =
          out_row * rows.stride - rows.pad_before + tap / columns.size * rows.dilation;
      const int64_t in_column =
          out_column * columns.stride - columns.pad_before + tap % columns.size * columns.dilation;
      if (in_row < 0 || in_row >= rows.input) {
        CopyOrZero<T>(nullptr, n, to);
      } else {
        const int64_t begin = in_column * channels + offset;
        const int64_t valid_begin = std::clamp<int64_t>(-begin, 0, n);
        const int64_t valid_end = std::clamp<int64_t>(row_length - begin, valid_begin, n);
        CopyOrZero<T>(nullptr, valid_begin, to);
        CopyOrZero(plane + in_row * row_length + begin + valid_begin, valid_end - valid_begin,
                   to + valid_begin);
        CopyOrZero<T>(nullptr, n - valid_end, to + valid_end);
      }
      to += n;
      k0 += n;
    }
  }
};

}  // namespace thalweg::compute
