// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/lrn.h"

#include <algorithm>
#include <cmath>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 8192;  // elements of a shard

// Calls f(first, last) for each channel: its neighbors, clipped.
template <class F>
void ForNeighbors(int64_t channels, int64_t radius, const F& f) {
  const int64_t r = std::min(radius, channels);
  for (int64_t c = 0; c < channels; ++c) {
    f(c, std::max<int64_t>(0, c - r), std::min(channels, c + r + 1));
  }
}

template <class T>
void Norms(int64_t channels, const LrnOptions& o, const T* x, float* norm) {
  ForNeighbors(channels, o.radius, [&](int64_t c, int64_t first, int64_t last) {
    float sum = 0;
    for (int64_t k = first; k < last; ++k) {
      const auto value = static_cast<float>(x[k]);
      sum += value * value;
    }
    norm[c] = o.bias + o.alpha * sum;
  });
}

float Power(float norm, float beta) {
  if (beta == 0.5f) return 1 / std::sqrt(norm);
  if (beta == 1) return 1 / norm;
  return std::pow(norm, -beta);
}

// body(row, scratch of `width` floats) for every row.
template <class Body>
Status ForRows(Work& work, int64_t rows, int64_t channels, int64_t width, const Body& body) {
  if (channels == 0) return OkStatus();
  const int64_t grain = std::max<int64_t>(1, kGrain / channels);
  return ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    Scratch<float> scratch(work, width);
    if (!scratch) return false;
    for (int64_t r = shard * grain; r < std::min(rows, (shard + 1) * grain); ++r) {
      body(r, scratch.get());
    }
    return true;
  });
}

template <class T>
Status LrnAs(Work& work, int64_t rows, int64_t channels, const LrnOptions& o, const T* x, T* y) {
  return ForRows(work, rows, channels, channels, [&](int64_t row, float* norm) {
    const T* from = x + row * channels;
    Norms(channels, o, from, norm);
    for (int64_t c = 0; c < channels; ++c) {
      y[row * channels + c] = T(static_cast<float>(from[c]) * Power(norm[c], o.beta));
    }
  });
}

template <class T>
Status LrnGradAs(Work& work, int64_t rows, int64_t channels, const LrnOptions& o, const T* dy,
                 const T* x, const T* y, T* dx) {
  return ForRows(work, rows, channels, 2 * channels, [&](int64_t row, float* norm) {
    float* ratio = norm + channels;  // dy * y / norm
    const int64_t base = row * channels;
    Norms(channels, o, x + base, norm);
    for (int64_t c = 0; c < channels; ++c) {
      ratio[c] = static_cast<float>(dy[base + c]) * static_cast<float>(y[base + c]) / norm[c];
    }
    ForNeighbors(channels, o.radius, [&](int64_t c, int64_t first, int64_t last) {
      float sum = 0;
      for (int64_t k = first; k < last; ++k) sum += ratio[k];
      const float own = static_cast<float>(dy[base + c]) * Power(norm[c], o.beta);
      dx[base + c] = T(own - 2 * o.alpha * o.beta * static_cast<float>(x[base + c]) * sum);
    });
  });
}

Status Missing(DType dtype) {
  return Unimplemented("local response normalization of elements of type ", dtype);
}

}  // namespace

Status Lrn(Work& work, DType dtype, int64_t rows, int64_t channels, const LrnOptions& options,
           const void* x, void* y) {
  const auto as = [&]<class T>(T) {
    return LrnAs(work, rows, channels, options, static_cast<const T*>(x), static_cast<T*>(y));
  };
  if (dtype == DType::kFloat) return as(float{});
  if (dtype == DType::kHalf) return as(Half{});
  return Missing(dtype);
}

Status LrnGrad(Work& work, DType dtype, int64_t rows, int64_t channels, const LrnOptions& options,
               const void* dy, const void* x, const void* y, void* dx) {
  const auto as = [&]<class T>(T) {
    return LrnGradAs(work, rows, channels, options, static_cast<const T*>(dy),
                     static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(dx));
  };
  if (dtype == DType::kFloat) return as(float{});
  if (dtype == DType::kHalf) return as(Half{});
  return Missing(dtype);
}

}  // namespace thalweg::compute
