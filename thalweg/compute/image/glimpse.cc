// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/glimpse.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/base/philox.h"
#include "thalweg/compute/random/philox_fill.h"

namespace thalweg::compute {
namespace {

constexpr uint64_t kSeed = 0x676c696d70736573;  // any number

// The first row (or column) of a window; far outside where the offset is no number or too large.
int64_t FirstPixel(const GlimpseShape& s, float offset, int64_t size, int64_t window) {
  const auto whole = static_cast<float>(size), half_window = static_cast<float>(window) / 2;
  float first = s.normalized ? offset * whole : offset;
  if (!s.second) {
    if (s.centered) first = first / 2 + whole / 2;
    first -= half_window;
  } else if (s.centered) {
    first = s.normalized ? first / 2 + whole / 2 - half_window : first + whole / 2;
  }
  constexpr float kFar = 1e12f;
  if (!(std::abs(first) < kFar)) return std::numeric_limits<int64_t>::max() / 4;
  return static_cast<int64_t>(first);
}

// Numbers in [0, 1) become numbers between the least and the largest of the image.
void StretchUniform(const float* image, int64_t size, float* noise, int64_t n) {
  const auto [least, largest] = std::minmax_element(image, image + size);
  for (int64_t i = 0; i < n; ++i) noise[i] = *least + noise[i] * (*largest - *least);
}

// Normal numbers get mean and deviation of their channel.
void StretchNormal(const float* image, int64_t pixels, int64_t channels, float* noise, int64_t n) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    float least = image[c], largest = image[c];
    for (int64_t i = 0; i < pixels; ++i) {
      const float value = image[i * channels + c];
      sum += value;
      least = std::min(least, value);
      largest = std::max(largest, value);
    }
    const double mean = sum / static_cast<double>(pixels);
    for (int64_t i = 0; i < pixels; ++i) {
      squares += (image[i * channels + c] - mean) * (image[i * channels + c] - mean);
    }
    const double deviation = std::sqrt(squares / static_cast<double>(pixels));
    for (int64_t i = c; i < n; i += channels) {
      const auto value = static_cast<float>(mean + deviation * noise[i]);
      noise[i] = std::max(least, std::min(largest, value));
    }
  }
}

Status FillNoise(Work& work, const GlimpseShape& s, GlimpseNoise noise, int64_t index,
                 const float* image, float* window, int64_t n) {
  const int64_t pixels = s.rows * s.columns;
  if (noise == GlimpseNoise::kZero || pixels * s.channels == 0) {
    std::fill_n(window, n, 0.0f);
    return OkStatus();
  }
  const Philox stream(kSeed, static_cast<uint64_t>(index));
  if (noise == GlimpseNoise::kUniform) {
    RETURN_IF_ERROR(FillUniform(work, DType::kFloat, stream, window, n));
    StretchUniform(image, pixels * s.channels, window, n);
  } else {
    RETURN_IF_ERROR(FillNormal(work, DType::kFloat, stream, window, n));
    StretchNormal(image, pixels, s.channels, window, n);
  }
  return OkStatus();
}

void CopyWindow(const GlimpseShape& s, const float* offset, const float* image, float* window) {
  const int64_t top = FirstPixel(s, offset[0], s.rows, s.out_rows);
  const int64_t left = FirstPixel(s, offset[1], s.columns, s.out_columns);
  const int64_t begin = std::max<int64_t>(0, -left);
  const int64_t end = std::min(s.out_columns, s.columns - left);
  if (begin >= end) return;
  for (int64_t row = 0; row < s.out_rows; ++row) {
    if (top + row < 0 || top + row >= s.rows) continue;
    std::copy_n(image + ((top + row) * s.columns + left + begin) * s.channels,
                (end - begin) * s.channels, window + (row * s.out_columns + begin) * s.channels);
  }
}

}  // namespace

Status Glimpses(Work& work, const GlimpseShape& s, const float* offsets, GlimpseNoise noise,
                const float* images, float* windows) {
  const int64_t in = s.rows * s.columns * s.channels;
  const int64_t out = s.out_rows * s.out_columns * s.channels;
  for (int64_t i = 0; i < s.batch; ++i) {
    RETURN_IF_ERROR(FillNoise(work, s, noise, i, images + i * in, windows + i * out, out));
  }
  return ForShards(work, s.batch, [&](int64_t i) {
    CopyWindow(s, offsets + 2 * i, images + i * in, windows + i * out);
    return true;
  });
}

}  // namespace thalweg::compute
