// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/projective.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;  // elements of a shard

// The place inside `size` pixels that stands for `place`.
float Inside(Outside outside, float place, int64_t pixels) {
  const auto size = static_cast<float>(pixels);
  switch (outside) {
    case Outside::kFill:
      return place;
    case Outside::kReflect:
      place -= 2 * size * std::floor(place / (2 * size));
      if (place >= size) place = 2 * size - place - 1;
      break;
    case Outside::kWrap:
      // TensorFlow counts periods of size - 1 and moves by size.
      if (pixels > 1 && place < 0) {
        place += size * (std::trunc(-place / (size - 1)) + 1);
      } else if (pixels > 1 && place > size - 1) {
        place -= size * std::trunc(place / (size - 1));
      }
      break;
    case Outside::kNearest:
      break;
  }
  return std::max(0.0f, std::min(place, size - 1));
}

// Negative floats have no unsigned value: they wrap, as integers do.
template <class T, class V>
T Rounded(V value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kMost = static_cast<V>(9.2e18f);
    return static_cast<T>(static_cast<int64_t>(std::clamp(value, -kMost, kMost)));
  } else {
    return T(value);
  }
}

// One image; V is what is computed in.
template <class T, class V>
struct Image {
  const ProjectiveShape& s;
  const T* pixels;

  T Pixel(int64_t row, int64_t column, int64_t channel) const {
    if (row < 0 || row >= s.rows || column < 0 || column >= s.columns) return fill;
    return pixels[(row * s.columns + column) * s.channels + channel];
  }
  V At(int64_t row, int64_t column, int64_t channel) const {
    return static_cast<V>(ValueOf(Pixel(row, column, channel)));
  }
  T Nearest(float y, float x, int64_t channel) const {
    return Pixel(static_cast<int64_t>(std::round(y)), static_cast<int64_t>(std::round(x)), channel);
  }
  V Bilinear(float y, float x, int64_t channel) const {
    const float top = std::floor(y), left = std::floor(x);
    const auto row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
    const auto right_part = static_cast<V>(x - left), lower_part = static_cast<V>(y - top);
    const auto between = [&](int64_t r) {
      return (1 - right_part) * At(r, column, channel) + right_part * At(r, column + 1, channel);
    };
    return (1 - lower_part) * between(row) + lower_part * between(row + 1);
  }
  const T fill = Rounded<T>(s.fill);
};

template <class T>
void TransformRow(const ProjectiveShape& s, const float* a, const T* input, int64_t row, T* to) {
  using V = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Image<T, V> image{s, input};
  constexpr float kFar = 1e15f;
  const auto y = static_cast<float>(row);
  for (int64_t column = 0; column < s.out_columns; ++column) {
    const auto x = static_cast<float>(column);
    const float k = a[6] * x + a[7] * y + 1.0f;
    const float place_x = (a[0] * x + a[1] * y + a[2]) / k;
    const float place_y = (a[3] * x + a[4] * y + a[5]) / k;
    const bool known = std::abs(place_x) < kFar && std::abs(place_y) < kFar;
    const float in_x = Inside(s.outside, place_x, s.columns);
    const float in_y = Inside(s.outside, place_y, s.rows);
    for (int64_t c = 0; c < s.channels; ++c) {
      if (!known) {
        *to++ = image.fill;
      } else if (s.bilinear) {
        *to++ = Rounded<T>(image.Bilinear(in_y, in_x, c));
      } else {
        *to++ = image.Nearest(in_y, in_x, c);
      }
    }
  }
}

}  // namespace

Status ProjectiveTransform(Work& work, DType dtype, const ProjectiveShape& s,
                           const float* transforms, const void* input, void* output) {
  return WithType<RealTypes>(dtype, "projective transforms", [&]<class T>() {
    const int64_t line = s.out_columns * s.channels;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, line));
    return ForBlocks(work, s.batch * s.out_rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / s.out_rows;
        TransformRow(s, transforms + (s.transforms_each ? 8 * image : 0),
                     static_cast<const T*>(input) + image * s.rows * s.columns * s.channels,
                     i % s.out_rows, static_cast<T*>(output) + i * line);
      }
    });
  });
}

}  // namespace thalweg::compute
