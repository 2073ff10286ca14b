// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/boxes.h"

#include <algorithm>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

// The pixel at a share of `size`, at most one pixel outside; NaN is outside.
int64_t PixelAt(float share, int64_t size) {
  const float place = share * static_cast<float>(size - 1);
  if (!(place > -1)) return -1;
  return place >= static_cast<float>(size) ? size : static_cast<int64_t>(place);
}

template <class T>
void Draw(const DrawShape& s, const float* box, const float* color, T* image) {
  const int64_t top = PixelAt(box[0], s.rows), left = PixelAt(box[1], s.columns);
  const int64_t bottom = PixelAt(box[2], s.rows), right = PixelAt(box[3], s.columns);
  if (top > bottom || left > right) return;
  if (top >= s.rows || bottom < 0 || left >= s.columns || right < 0) return;
  const auto paint = [&](int64_t row, int64_t column) {
    for (int64_t c = 0; c < s.channels; ++c) {
      image[(row * s.columns + column) * s.channels + c] = T(color[c]);
    }
  };
  const int64_t last_row = std::min(bottom, s.rows - 1);
  const int64_t last_column = std::min(right, s.columns - 1);
  for (const int64_t row : {top, bottom}) {
    if (row < 0 || row >= s.rows) continue;
    for (int64_t column = std::max<int64_t>(left, 0); column <= last_column; ++column) {
      paint(row, column);
    }
  }
  for (const int64_t column : {left, right}) {
    if (column < 0 || column >= s.columns) continue;
    for (int64_t row = std::max<int64_t>(top, 0); row <= last_row; ++row) paint(row, column);
  }
}

}  // namespace

Status DrawBoxes(Work& work, DType dtype, const DrawShape& s, const float* boxes,
                 const float* colors, void* pixels) {
  return WithType<FloatTypes>(dtype, "drawing boxes", [&]<class T>() {
    return ForShards(work, s.batch, [&](int64_t image) {
      T* const to = static_cast<T*>(pixels) + image * s.rows * s.columns * s.channels;
      for (int64_t b = 0; b < s.boxes; ++b) {
        Draw(s, boxes + (image * s.boxes + b) * 4, colors + b % s.colors * s.color_channels, to);
      }
      return true;
    });
  });
}

}  // namespace thalweg::compute
