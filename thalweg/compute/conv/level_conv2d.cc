// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/level_conv2d.h"

#include <algorithm>
#include <cstring>

namespace thalweg::compute {
namespace {

// Row i is what the window of output pixel i sees.
class WindowRows final : public LevelRows {
 public:
  // border: a pixel outside of the image.
  WindowRows(const Conv2DShape& shape, const LevelMatrix& x, const uint8_t* border)
      : shape_(shape),
        levels_(static_cast<const uint8_t*>(x.levels)),
        outside_(static_cast<uint8_t>(x.zero)),
        border_(border) {}

  // A piece is what a window has of one pixel.
  int64_t pieces() const override { return shape_.Taps(); }

  void Locate(int64_t first, int64_t count, const uint8_t** to) const override {
    const Window &rows = shape_.rows, &columns = shape_.columns;
    const int64_t row_bytes = columns.input * shape_.in_channels;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t image = (first + i) / shape_.OutPixels();
      const int64_t pixel = (first + i) % shape_.OutPixels();
      const int64_t x = Start(columns, pixel % columns.output);
      int64_t y = Start(rows, pixel / columns.output);
      const uint8_t** place = to + i;
      for (int64_t t = 0; t < rows.size; ++t, y += rows.dilation) {
        const bool inside = y >= 0 && y < rows.input;
        const uint8_t* const row =
            inside ? levels_ + (image * rows.input + y) * row_bytes : nullptr;
        int64_t at = x;
        for (int64_t u = 0; u < columns.size; ++u, at += columns.dilation, place += count) {
          *place =
              inside && at >= 0 && at < columns.input ? row + at * shape_.in_channels : border_;
        }
      }
    }
  }

  void Copy(int64_t first, int64_t count, void* rows) const override {
    auto* to = static_cast<uint8_t*>(rows);
    const int64_t row_bytes = shape_.columns.size * shape_.in_channels;
    for (int64_t i = first; i < first + count; ++i) {
      const int64_t image = i / shape_.OutPixels(), pixel = i % shape_.OutPixels();
      const int64_t y = Start(shape_.rows, pixel / shape_.columns.output);
      const int64_t x = Start(shape_.columns, pixel % shape_.columns.output);
      for (int64_t t = 0; t < shape_.rows.size; ++t, to += row_bytes) {
        const int64_t row = y + t * shape_.rows.dilation;
        if (row < 0 || row >= shape_.rows.input) {
          std::memset(to, outside_, static_cast<size_t>(row_bytes));
        } else {
          CopyRow(levels_ +
                      (image * shape_.rows.input + row) * shape_.columns.input * shape_.in_channels,
                  x, to);
        }
      }
    }
  }

 private:
  static int64_t Start(const Window& window, int64_t output) {
    return output * window.stride - window.pad_before;
  }

  // The pixels x, x + dilation, ... of one row of an image.
  void CopyRow(const uint8_t* row, int64_t x, uint8_t* to) const {
    const Window& window = shape_.columns;
    const int64_t channels = shape_.in_channels;
    // Neighbors are copied at once.
    const int64_t together = window.dilation == 1 ? window.size : 1;
    for (int64_t t = 0; t < window.size; t += together, to += together * channels) {
      const int64_t begin = x + t * window.dilation, end = begin + together;
      const int64_t from = std::clamp(begin, int64_t{0}, window.input);
      const int64_t until = std::clamp(end, from, window.input);
      const auto bytes = [&](int64_t pixels) { return static_cast<size_t>(pixels * channels); };
      if (from == until) {
        std::memset(to, outside_, bytes(together));
        continue;
      }
      std::memset(to, outside_, bytes(from - begin));
      std::memcpy(to + (from - begin) * channels, row + from * channels, bytes(until - from));
      std::memset(to + (until - begin) * channels, outside_, bytes(end - until));
    }
  }

  const Conv2DShape& shape_;
  const uint8_t* const levels_;
  const uint8_t outside_;
  const uint8_t* const border_;
};

bool SeesEachPixelAlone(const Window& window) {
  return window.size == 1 && window.stride == 1 && window.output == window.input &&
         window.pad_before == 0;
}

}  // namespace

bool HasLevelConv2D(const Conv2DShape& shape, const LevelMatrix& x) {
  const int64_t lowest = x.dtype == DType::kQint8 ? -128 : 0;
  return shape.groups == 1 && !shape.channels_first && x.zero >= lowest && x.zero < lowest + 256;
}

ProductSize FilterSize(const Conv2DShape& shape) {
  return {.m = shape.batch * shape.OutPixels(),
          .n = shape.out_channels,
          .k = shape.Taps() * shape.in_channels};
}

namespace {

template <class Sums>
Status Convolve(Work& work, const Conv2DShape& shape, const LevelMatrix& x,
                const LevelMatrix& filter, Sums& sums) {
  LevelMatrix a = x;
  Scratch<uint8_t> border(work, shape.in_channels);
  if (!border) return OutOfScratch();
  std::fill_n(border.get(), shape.in_channels, static_cast<uint8_t>(x.zero));
  const WindowRows rows(shape, x, border.get());
  if (!SeesEachPixelAlone(shape.rows) || !SeesEachPixelAlone(shape.columns)) a.rows = &rows;
  return LevelProduct(work, FilterSize(shape), a, filter, sums);
}

}  // namespace

Status LevelConv2D(Work& work, const Conv2DShape& shape, const LevelMatrix& x,
                   const LevelMatrix& filter, int32_t* sums) {
  return Convolve(work, shape, x, filter, sums);
}

Status LevelConv2D(Work& work, const Conv2DShape& shape, const LevelMatrix& x,
                   const LevelMatrix& filter, const LevelSums& sums) {
  return Convolve(work, shape, x, filter, sums);
}

}  // namespace thalweg::compute
