// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/color.h"

#include <algorithm>
#include <cmath>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 4096;

template <class A>
struct Pixel {
  A x, y, z;
};

template <class A>
Pixel<A> HsvOf(Pixel<A> rgb) {
  const auto [r, g, b] = rgb;
  const A most = std::max(r, std::max(g, b)), range = most - std::min(r, std::min(g, b));
  const A saturation = most > 0 ? range / most : 0;
  A hue = 0;
  if (range > 0) {
    const A unit = 1 / (6 * range);
    if (r == most) {
      hue = unit * (g - b);
    } else if (g == most) {
      hue = unit * (b - r) + A{2} / 6;
    } else {
      hue = unit * (r - g) + A{4} / 6;
    }
    if (hue < 0) hue += 1;
  }
  return {hue, saturation, most};
}

template <class A>
Pixel<A> RgbOf(Pixel<A> hsv) {
  const A sixth = hsv.x * 6, saturation = hsv.y, value = hsv.z;
  const auto channel = [&](A wave) {
    return (1 - saturation + saturation * std::clamp(wave, A{0}, A{1})) * value;
  };
  return {channel(std::abs(sixth - 3) - 1), channel(2 - std::abs(sixth - 2)),
          channel(2 - std::abs(sixth - 4))};
}

template <class T, class A, class F>
Status ForPixels(Work& work, int64_t pixels, const void* in, void* out, const F& f) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  return ForBlocks(work, pixels, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
      const Pixel<A> made = f(Pixel<A>{static_cast<A>(from[i]), static_cast<A>(from[i + 1]),
                                       static_cast<A>(from[i + 2])});
      to[i] = T(made.x);
      to[i + 1] = T(made.y);
      to[i + 2] = T(made.z);
    }
  });
}

template <class F>
Status ForType(Work& work, DType dtype, int64_t pixels, const void* in, void* out, const F& f) {
  switch (dtype) {
    case DType::kFloat:
      return ForPixels<float, float>(work, pixels, in, out, f);
    case DType::kDouble:
      return ForPixels<double, double>(work, pixels, in, out, f);
    case DType::kHalf:
      return ForPixels<Half, float>(work, pixels, in, out, f);
    case DType::kBfloat16:
      return ForPixels<Bfloat16, float>(work, pixels, in, out, f);
    default:
      return Unimplemented("colors of type ", dtype);
  }
}

}  // namespace

Status RgbToHsv(Work& work, DType dtype, int64_t pixels, const void* rgb, void* hsv) {
  return ForType(work, dtype, pixels, rgb, hsv, [](auto pixel) { return HsvOf(pixel); });
}

Status HsvToRgb(Work& work, DType dtype, int64_t pixels, const void* hsv, void* rgb) {
  return ForType(work, dtype, pixels, hsv, rgb, [](auto pixel) { return RgbOf(pixel); });
}

Status TurnHue(Work& work, int64_t pixels, float delta, const float* in, float* out) {
  return ForPixels<float, float>(work, pixels, in, out, [&](Pixel<float> rgb) {
    Pixel<float> hsv = HsvOf(rgb);
    hsv.x += delta;
    hsv.x -= std::floor(hsv.x);
    return RgbOf(hsv);
  });
}

Status ScaleSaturation(Work& work, int64_t pixels, float scale, const float* in, float* out) {
  return ForPixels<float, float>(work, pixels, in, out, [&](Pixel<float> rgb) {
    Pixel<float> hsv = HsvOf(rgb);
    hsv.y = std::clamp(hsv.y * scale, 0.0f, 1.0f);
    return RgbOf(hsv);
  });
}

Status TurnColors(Work& work, int64_t pixels, std::span<const float, 9> matrix, const float* in,
                  float* out) {
  return ForPixels<float, float>(work, pixels, in, out, [m = matrix](Pixel<float> c) {
    const auto row = [&](size_t i) { return m[i] * c.x + m[i + 1] * c.y + m[i + 2] * c.z; };
    return Pixel<float>{row(0), row(3), row(6)};
  });
}

std::array<float, 9> YiqMatrix(float hue, float saturation, float value) {
  using Matrix = std::array<float, 9>;
  const auto product = [](const Matrix& a, const Matrix& b) {
    Matrix made = {};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) {
        for (size_t k = 0; k < 3; ++k) made[3 * i + j] += a[3 * i + k] * b[3 * k + j];
      }
    }
    return made;
  };
  constexpr Matrix kToYiq = {0.299f,  0.587f, 0.114f,  0.596f, -0.274f,
                             -0.322f, 0.211f, -0.523f, 0.312f};
  constexpr Matrix kToRgb = {1, 0.95617069f, 0.62143257f, 1, -0.2726886f, -0.64681324f,
                             1, -1.103744f,  1.70062309f};
  const float scale = saturation * value;
  const float u = scale * std::cos(hue), w = scale * std::sin(hue);
  return product(kToRgb, product({value, 0, 0, 0, u, -w, 0, w, u}, kToYiq));
}

Status ScaleContrast(Work& work, int64_t images, int64_t pixels, int64_t channels, float factor,
                     const float* in, float* out) {
  return ForShards(work, images * channels, [&](int64_t shard) {
    const int64_t first = shard / channels * pixels * channels + shard % channels;
    double sum = 0;
    for (int64_t p = 0; p < pixels; ++p) sum += static_cast<double>(in[first + p * channels]);
    const auto mean = static_cast<float>(sum / static_cast<double>(std::max<int64_t>(1, pixels)));
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t at = first + p * channels;
      out[at] = (in[at] - mean) * factor + mean;
    }
    return true;
  });
}

Status Clip(Work& work, int64_t count, float least, float most, float* numbers) {
  return ForBlocks(work, count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      numbers[i] = std::max(std::min(numbers[i], most), least);
    }
  });
}

}  // namespace thalweg::compute
