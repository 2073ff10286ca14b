// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/image_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

constexpr float kDark = 1e-6F;  // an image whose largest value is below is left black

template <class T>
bool IsFinite(const T* pixel, size_t channels) {
  return std::all_of(pixel, pixel + channels,
                     [](T x) { return std::isfinite(static_cast<float>(ValueOf(x))); });
}

template <class T>
void Scale(const T* image, std::span<const uint8_t> bad_color, std::span<uint8_t> bytes) {
  const size_t channels = bad_color.size();
  float low = 0, high = 0;
  for (size_t i = 0; i < bytes.size(); i += channels) {
    if (!IsFinite(image + i, channels)) continue;
    for (size_t c = 0; c < channels; ++c) {
      low = std::min(low, static_cast<float>(ValueOf(image[i + c])));
      high = std::max(high, static_cast<float>(ValueOf(image[i + c])));
    }
  }
  const float largest = std::max(high, -low);
  const float range = low < 0 ? 127.0F : 255.0F;
  const float scale = largest < kDark ? 0 : range / largest;
  const float offset = low < 0 ? 128.0F : 0.0F;
  for (size_t i = 0; i < bytes.size(); i += channels) {
    const bool finite = IsFinite(image + i, channels);
    for (size_t c = 0; c < channels; ++c) {
      const float value = finite ? static_cast<float>(ValueOf(image[i + c])) * scale + offset : 0;
      bytes[i + c] = finite ? static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)) : bad_color[c];
    }
  }
}

}  // namespace

Status ImageBytes(DType dtype, const void* image, std::span<const uint8_t> bad_color,
                  std::span<uint8_t> bytes) {
  if (bytes.empty()) return OkStatus();
  if (dtype == DType::kUint8) {
    std::memcpy(bytes.data(), image, bytes.size());
    return OkStatus();
  }
  return WithType<FloatTypes>(dtype, "an image", [&]<class T>() {
    Scale(static_cast<const T*>(image), bad_color, bytes);
    return OkStatus();
  });
}

}  // namespace thalweg::compute
