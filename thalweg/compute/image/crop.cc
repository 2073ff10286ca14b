// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/crop.h"

#include <algorithm>
#include <cmath>

namespace thalweg::compute {
namespace {

// One dimension of a crop: pixel i of `count` lies at `first` + i * `step` among `size`.
struct Line {
  Line(float from, float to, int64_t pixels, int64_t crop) : size(pixels), count(crop) {
    const auto last = static_cast<float>(pixels - 1);
    step = crop > 1 ? (to - from) * last / static_cast<float>(crop - 1) : 0;
    first = crop > 1 ? from * last : 0.5f * (from + to) * last;
  }
  // False outside, and for no number.
  bool At(int64_t i, float* place) const {
    *place = first + static_cast<float>(i) * step;
    return *place >= 0 && *place <= static_cast<float>(size - 1);
  }
  int64_t size, count;
  float step = 0, first = 0;
};

struct Taps {
  int64_t low, high;
  float weight;  // of high
};
Taps TapsAt(float place) {
  const float low = std::floor(place);
  return {static_cast<int64_t>(low), static_cast<int64_t>(std::ceil(place)), place - low};
}

// body(offset of a pixel in the crops, row place, column place) for all pixels of a crop;
// otherwise(offset) for those outside of the image.
template <class Body, class Otherwise>
void ForPixels(const CropShape& s, int64_t box, const float* boxes, const Body& body,
               const Otherwise& otherwise) {
  const float* b = boxes + 4 * box;
  const Line rows(b[0], b[2], s.rows, s.crop_rows);
  const Line columns(b[1], b[3], s.columns, s.crop_columns);
  for (int64_t y = 0; y < s.crop_rows; ++y) {
    float row = 0;
    const bool has_row = rows.At(y, &row);
    for (int64_t x = 0; x < s.crop_columns; ++x) {
      float column = 0;
      const int64_t at = ((box * s.crop_rows + y) * s.crop_columns + x) * s.channels;
      if (has_row && columns.At(x, &column)) {
        body(at, y, x, row, column);
      } else {
        otherwise(at);
      }
    }
  }
}

template <class T>
void CropBox(const CropShape& s, int64_t box, const T* image, const float* boxes,
             const int32_t* box_image, float* crops) {
  const T* from = image + box_image[box] * s.rows * s.columns * s.channels;
  const auto pixel = [&](int64_t row, int64_t column) {
    return from + (row * s.columns + column) * s.channels;
  };
  ForPixels(
      s, box, boxes,
      [&](int64_t at, int64_t, int64_t, float row, float column) {
        if (s.nearest) {
          const T* p = pixel(std::lround(row), std::lround(column));
          for (int64_t c = 0; c < s.channels; ++c) crops[at + c] = static_cast<float>(p[c]);
          return;
        }
        const Taps r = TapsAt(row), q = TapsAt(column);
        const T *p00 = pixel(r.low, q.low), *p01 = pixel(r.low, q.high);
        const T *p10 = pixel(r.high, q.low), *p11 = pixel(r.high, q.high);
        for (int64_t c = 0; c < s.channels; ++c) {
          const auto a = static_cast<float>(p00[c]), b = static_cast<float>(p10[c]);
          const float top = a + (static_cast<float>(p01[c]) - a) * q.weight;
          const float bottom = b + (static_cast<float>(p11[c]) - b) * q.weight;
          crops[at + c] = top + (bottom - top) * r.weight;
        }
      },
      [&](int64_t at) { std::fill_n(crops + at, s.channels, s.outside); });
}

template <class T>
void BoxGrad(const CropShape& s, int64_t box, const float* grads, const T* image,
             const float* boxes, const int32_t* box_image, float* box_grads) {
  const T* from = image + box_image[box] * s.rows * s.columns * s.channels;
  const auto value = [&](int64_t row, int64_t column, int64_t c) {
    return static_cast<double>(
        static_cast<float>(from[(row * s.columns + column) * s.channels + c]));
  };
  const auto height = static_cast<double>(s.rows - 1), width = static_cast<double>(s.columns - 1);
  double sums[4] = {};
  // How far a pixel's place moves with the first and the second end of the box.
  const auto spread = [](double* low, double* high, double by, int64_t i, int64_t count) {
    const double part = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
    *low += by * (1 - part);
    *high += by * part;
  };
  ForPixels(
      s, box, boxes,
      [&](int64_t at, int64_t y, int64_t x, float row, float column) {
        const Taps r = TapsAt(row), q = TapsAt(column);
        double by_row = 0, by_column = 0;
        for (int64_t c = 0; c < s.channels; ++c) {
          const double a = value(r.low, q.low, c), b = value(r.low, q.high, c);
          const double d = value(r.high, q.low, c), e = value(r.high, q.high, c);
          const double v = static_cast<double>(r.weight), u = static_cast<double>(q.weight);
          const auto grad = static_cast<double>(grads[at + c]);
          by_row += grad * ((1 - u) * (d - a) + u * (e - b));
          by_column += grad * ((1 - v) * (b - a) + v * (e - d));
        }
        spread(&sums[0], &sums[2], by_row * height, y, s.crop_rows);
        spread(&sums[1], &sums[3], by_column * width, x, s.crop_columns);
      },
      [](int64_t) {});
  for (int i = 0; i < 4; ++i) box_grads[4 * box + i] = static_cast<float>(sums[i]);
}

// One channel of all images: boxes in order, so that sums do not depend on threads.
template <class T>
bool ImageGradOfChannel(Work& work, const CropShape& s, int64_t channel, const float* grads,
                        const float* boxes, const int32_t* box_image, T* out) {
  const int64_t pixels = s.images * s.rows * s.columns;
  Scratch<double> sums(work, pixels);
  if (!sums) return false;
  std::fill_n(sums.get(), pixels, 0.0);
  for (int64_t box = 0; box < s.boxes; ++box) {
    double* to = sums.get() + box_image[box] * s.rows * s.columns;
    ForPixels(
        s, box, boxes,
        [&](int64_t at, int64_t, int64_t, float row, float column) {
          const auto grad = static_cast<double>(grads[at + channel]);
          if (s.nearest) {
            to[std::lround(row) * s.columns + std::lround(column)] += grad;
            return;
          }
          const Taps r = TapsAt(row), q = TapsAt(column);
          const double v = static_cast<double>(r.weight), u = static_cast<double>(q.weight);
          to[r.low * s.columns + q.low] += grad * (1 - v) * (1 - u);
          to[r.low * s.columns + q.high] += grad * (1 - v) * u;
          to[r.high * s.columns + q.low] += grad * v * (1 - u);
          to[r.high * s.columns + q.high] += grad * v * u;
        },
        [](int64_t) {});
  }
  for (int64_t p = 0; p < pixels; ++p) {
    if constexpr (sizeof(T) < 4) {
      out[p * s.channels + channel] = T(static_cast<float>(sums[p]));
    } else {
      out[p * s.channels + channel] = static_cast<T>(sums[p]);
    }
  }
  return true;
}

template <class F>
Status ForImageType(DType dtype, F&& f) {
  Status status = Unimplemented("crops of images of type ", dtype);
  ForEachType<RealTypes>([&]<class T>() {
    if (kDTypeOf<T> == dtype) status = f.template operator()<T>();
  });
  return status;
}

}  // namespace

Status CropAndResize(Work& work, DType dtype, const CropShape& shape, const void* image,
                     const float* boxes, const int32_t* box_image, float* crops) {
  return ForImageType(dtype, [&]<class T>() {
    return ForShards(work, shape.boxes, [&](int64_t box) {
      CropBox(shape, box, static_cast<const T*>(image), boxes, box_image, crops);
      return true;
    });
  });
}

Status CropGradOfImage(Work& work, DType dtype, const CropShape& shape, const float* grads,
                       const float* boxes, const int32_t* box_image, void* image_grad) {
  Status status = Unimplemented("gradients of images of type ", dtype);
  ForEachType<Types<float, double, Half>>([&]<class T>() {
    if (kDTypeOf<T> != dtype) return;
    status = ForShards(work, shape.channels, [&](int64_t channel) {
      return ImageGradOfChannel(work, shape, channel, grads, boxes, box_image,
                                static_cast<T*>(image_grad));
    });
  });
  return status;
}

Status CropGradOfBoxes(Work& work, DType dtype, const CropShape& shape, const float* grads,
                       const void* image, const float* boxes, const int32_t* box_image,
                       float* box_grads) {
  return ForImageType(dtype, [&]<class T>() {
    return ForShards(work, shape.boxes, [&](int64_t box) {
      BoxGrad(shape, box, grads, static_cast<const T*>(image), boxes, box_image, box_grads);
      return true;
    });
  });
}

}  // namespace thalweg::compute
