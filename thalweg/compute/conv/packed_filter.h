// SPDX-License-Identifier: Apache-2.0
// PackedFilter: the packed form of a convolution's filter for one call: what the keeper has, or
// newly made, in the keeper's memory or in scratch. Private to compute/conv.
// Ownership: the packed filter is the keeper's, or scratch of this object.
// Threads: one for each call.
// Errors: ResourceExhausted where scratch or the keeper refuses; those of `pack`.
#pragma once

#include <optional>

#include "thalweg/compute/conv/conv2d.h"

namespace thalweg::compute {

class PackedFilter {
 public:
  explicit PackedFilter(Work& work) : work_(work) {}

  // Calls pack(plain filter with its scale, packed) unless the keeper has it.
  template <class Pack>
  Status Make(const ConvFilter& filter, std::string_view format, const Conv2DShape& shape,
              int64_t floats, const Pack& pack) {
    if (filter.keeper != nullptr) packed_ = filter.keeper->Find(format);
    if (packed_ != nullptr) return OkStatus();
    Scratch<float> scaled(work_, filter.scale != nullptr ? FilterSize(shape) : 0);
    float* to = nullptr;
    if (filter.keeper != nullptr) {
      to = filter.keeper->Allocate(floats);
    } else {
      to = own_.emplace(work_, floats).get();
    }
    if (!scaled || to == nullptr) return OutOfScratch();
    const float* plain = static_cast<const float*>(filter.values);
    if (filter.scale != nullptr) {
      ScaleFilter(shape, plain, filter.scale, scaled.get());
      plain = scaled.get();
    }
    RETURN_IF_ERROR(pack(plain, to));
    if (filter.keeper != nullptr) filter.keeper->Keep(format);
    packed_ = to;
    return OkStatus();
  }
  const float* get() const { return packed_; }

  static int64_t FilterSize(const Conv2DShape& shape) {
    return shape.Taps() * shape.in_channels * shape.out_channels;
  }
  static void ScaleFilter(const Conv2DShape& shape, const float* from, const float* scale,
                          float* to) {
    const int64_t n = shape.out_channels;
    for (int64_t row = 0; row < shape.Taps() * shape.in_channels; ++row) {
      for (int64_t c = 0; c < n; ++c) to[row * n + c] = from[row * n + c] * scale[c];
    }
  }

 private:
  Work& work_;
  std::optional<Scratch<float>> own_;
  const float* packed_ = nullptr;
};

}  // namespace thalweg::compute
