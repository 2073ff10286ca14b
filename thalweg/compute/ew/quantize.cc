// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16 * 1024;

// Comparisons are written so that a NaN passes.
template <class T>
T Clamped(T x, T low, T high) {
  const T y = x > high ? high : x;
  return y < low ? low : y;
}

}  // namespace

FakeQuantGrid::FakeQuantGrid(float from, float to, int bits, bool narrow)
    : empty(from == 0.0f && to == 0.0f) {
  const float first = narrow ? 1.0f : 0.0f;
  const auto last = static_cast<float>((1 << bits) - 1);
  scale = (to - from) / (last - first);
  const float zero = first - from / scale;
  const float nudged = zero < first ? first : zero > last ? last : std::round(zero);
  low = (first - nudged) * scale;
  high = (last - nudged) * scale;
}

Status FakeQuant(Work& work, const FakeQuantGrid* grids, int64_t rows, int64_t channels,
                 const float* x, float* y) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, channels));
  const auto run = [&](const FakeQuantGrid& grid, int64_t begin, int64_t n, int64_t step) {
    // In this order of operations the bits are TensorFlow's.
    const float zero = std::floor(-grid.low * (1.0f / grid.scale) + 0.5f);
    for (int64_t i = begin; i < begin + n * step; i += step) {
      const float shifted = Clamped(x[i], grid.low, grid.high) - grid.low;
      y[i] = grid.empty ? 0.0f : std::floor(shifted / grid.scale - zero + 0.5f) * grid.scale;
    }
  };
  if (channels == 1) {
    return ForBlocks(work, rows, kGrain,
                     [&](int64_t begin, int64_t end) { run(grids[0], begin, end - begin, 1); });
  }
  return ForBlocks(work, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = 0; c < channels; ++c) {
      run(grids[c], begin * channels + c, end - begin, channels);
    }
  });
}

Status FakeQuantGrad(Work& work, const FakeQuantGrid* grids, int64_t rows, int64_t channels,
                     const float* dy, const float* x, float* dx, float* to_low, float* to_high) {
  // One partial sum per block of rows and channel, added in the order of the blocks.
  const int64_t block = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, channels));
  const int64_t blocks = (rows + block - 1) / block;
  const bool sums = to_low != nullptr;
  Scratch<double> partial(work, sums ? 2 * blocks * channels : 0);
  if (!partial) return OutOfScratch();
  RETURN_IF_ERROR(ForShards(work, blocks, [&](int64_t shard) {
    const int64_t end = std::min(rows, (shard + 1) * block);
    for (int64_t c = 0; c < channels; ++c) {
      const FakeQuantGrid& grid = grids[c];
      double below = 0, above = 0;
      for (int64_t row = shard * block; row < end; ++row) {
        const int64_t i = row * channels + c;
        const bool inside = grid.empty || (x[i] >= grid.low && x[i] <= grid.high);
        dx[i] = inside ? dy[i] : 0.0f;
        if (!grid.empty && x[i] < grid.low) below += static_cast<double>(dy[i]);
        if (!grid.empty && x[i] > grid.high) above += static_cast<double>(dy[i]);
      }
      if (!sums) continue;
      partial[2 * (shard * channels + c)] = below;
      partial[2 * (shard * channels + c) + 1] = above;
    }
    return true;
  }));
  for (int64_t c = 0; sums && c < channels; ++c) {
    double below = 0, above = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      below += partial[2 * (b * channels + c)];
      above += partial[2 * (b * channels + c) + 1];
    }
    to_low[c] = static_cast<float>(below);
    to_high[c] = static_cast<float>(above);
  }
  return OkStatus();
}

namespace {

template <class T>
struct Scaling {
  T low;
  T high;
  T scale;
  T inverse;
};

// The largest scale that keeps both ends of the range inside of the integers; the other end moves.
template <class T>
Scaling<T> ScalingFor(const QuantizeSpec& spec, T low, T high) {
  const int64_t half = int64_t{1} << (spec.bits - (spec.is_signed ? 1 : 0));
  const T first = spec.is_signed ? static_cast<T>(spec.narrow ? -half + 1 : -half) : T{0};
  const T last = static_cast<T>(half - 1);
  constexpr T kNone = std::numeric_limits<T>::max();
  const T by_low = first * low > 0 ? first / low : kNone;
  const T by_high = last * high > 0 ? last / high : kNone;
  if (by_low < by_high) {
    const T inverse = low / first;
    return {low, last * inverse, by_low, inverse};
  }
  const T inverse = high / last;
  return {first * inverse, high, by_high, inverse};
}

// Calls f(begin, n) for the runs of channel c.
template <class F>
void ForRuns(const GridShape& shape, int64_t c, const F& f) {
  for (int64_t o = 0; o < shape.outer; ++o) {
    f((o * shape.channels + c) * shape.inner, shape.inner);
  }
}

template <class T>
Scaling<T> RangeOf(const QuantizeSpec& spec, const GridShape& shape, int64_t c, const T* x) {
  T low = std::numeric_limits<T>::infinity();
  T high = -low;
  ForRuns(shape, c, [&](int64_t begin, int64_t n) {
    for (int64_t i = begin; i < begin + n; ++i) {
      low = x[i] < low ? x[i] : low;
      high = x[i] > high ? x[i] : high;
    }
  });
  return ScalingFor(spec, low, high);
}

template <class T>
void Quantize(const QuantizeSpec& spec, const Scaling<T>& s, int64_t n, const T* x, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    const T scaled = (spec.clamp ? Clamped(x[i], s.low, s.high) : x[i]) * s.scale;
    const T whole = spec.round_up ? std::floor(scaled + T{0.5}) : std::nearbyint(scaled);
    y[i] = whole * s.inverse;
  }
}

template <class T>
Status QuantizeChannels(Work& work, const QuantizeSpec& spec, const GridShape& shape, const T* x,
                        const T* low, const T* high, T* y) {
  const auto scaling = [&](int64_t c) {
    return spec.clamp ? ScalingFor(spec, low[c], high[c]) : RangeOf(spec, shape, c, x);
  };
  if (shape.channels == 1) {
    const int64_t n = shape.outer * shape.inner;
    if (n == 0) return OkStatus();
    const Scaling<T> s = scaling(0);
    return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      Quantize(spec, s, end - begin, x + begin, y + begin);
    });
  }
  return ForShards(work, shape.channels, [&](int64_t c) {
    const Scaling<T> s = scaling(c);
    ForRuns(shape, c,
            [&](int64_t begin, int64_t n) { Quantize(spec, s, n, x + begin, y + begin); });
    return true;
  });
}

template <class T>
Status PassChannels(Work& work, const GridShape& shape, const T* dy, const T* x, const T* low,
                    const T* high, T* dx) {
  const int64_t n = shape.outer * shape.channels * shape.inner;
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i / shape.inner % shape.channels;
      dx[i] = x[i] >= low[c] && x[i] <= high[c] ? dy[i] : T{0};
    }
  });
}

using QuantizedTypes = Types<float, double>;

}  // namespace

Status QuantizeAndDequantize(Work& work, DType dtype, const QuantizeSpec& spec,
                             const GridShape& shape, const void* x, const void* low,
                             const void* high, void* y) {
  return WithType<QuantizedTypes>(dtype, "quantization", [&]<class T>() {
    return QuantizeChannels(work, spec, shape, static_cast<const T*>(x), static_cast<const T*>(low),
                            static_cast<const T*>(high), static_cast<T*>(y));
  });
}

Status PassInside(Work& work, DType dtype, const GridShape& shape, const void* dy, const void* x,
                  const void* low, const void* high, void* dx) {
  return WithType<QuantizedTypes>(dtype, "quantization", [&]<class T>() {
    return PassChannels(work, shape, static_cast<const T*>(dy), static_cast<const T*>(x),
                        static_cast<const T*>(low), static_cast<const T*>(high),
                        static_cast<T*>(dx));
  });
}

}  // namespace thalweg::compute
