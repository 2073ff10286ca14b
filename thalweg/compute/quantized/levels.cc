// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/quantized/level_types.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kFew = 16;  // levels of a channel that become reals sooner than a call is made

// The nearest integer that the type holds, or its least one for NaN.
template <class T, class Real>
T Saturated(Real value) {
  const double v = value;
  if (!(v > static_cast<double>(std::numeric_limits<T>::lowest()))) {
    return std::numeric_limits<T>::lowest();
  }
  if (v >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(v);
}

template <class T>
float HalfRange() {
  return std::is_signed_v<T> ? (static_cast<float>(std::numeric_limits<T>::max()) -
                                static_cast<float>(std::numeric_limits<T>::lowest()) + 1.0f) /
                                   2.0f
                             : 0.0f;
}

// The level of x, above the lowest one in kMinFirst, before it is put within the type's.
template <class T, QuantizeMode kMode, bool kToEven>
[[gnu::always_inline]] inline float WideLevelOf(float x, RealRange range, float scale) {
  if constexpr (kMode == QuantizeMode::kMinCombined) {
    return std::round((std::clamp(x, range.low, range.high) - range.low) * scale - HalfRange<T>());
  } else if constexpr (kMode == QuantizeMode::kMinFirst) {
    return std::round(x * scale) - std::round(range.low * scale);
  } else {
    const float scaled = std::min(std::max(x, range.low), range.high) * scale;
    return kToEven ? std::nearbyint(scaled) : std::round(scaled);
  }
}

template <class T, QuantizeMode kMode, bool kToEven>
struct QuantizeEach {
  [[gnu::always_inline]] static void Run(const float* x, RealRange range, float scale, int64_t n,
                                         T* to) {
    constexpr T kLowest = std::numeric_limits<T>::lowest(),
                kHighest = std::numeric_limits<T>::max();
    constexpr double kFrom = kMode == QuantizeMode::kMinFirst ? kLowest : 0;
    if constexpr (sizeof(T) == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        constexpr float kLeast = kLowest, kMost = kHighest;
        float level =
            WideLevelOf<T, kMode, kToEven>(x[i], range, scale) + static_cast<float>(kFrom);
        level = level > kLeast ? level : kLeast;  // so is what is no number
        to[i] = static_cast<T>(static_cast<int32_t>(level < kMost ? level : kMost));
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const double level = WideLevelOf<T, kMode, kToEven>(x[i], range, scale);
        to[i] = Saturated<T>(level + kFrom);
      }
    }
  }
};

template <class T>
void QuantizeSome(const Work& work, const QuantizeGrid& grid, const float* x, int64_t n, T* to) {
  const auto run = [&]<QuantizeMode kMode, bool kToEven>() {
    RunWideLeaf<QuantizeEach<T, kMode, kToEven>>(work.isa(), x, grid.range, grid.scale, n, to);
  };
  switch (grid.rule.mode) {
    case QuantizeMode::kMinCombined:
      return run.template operator()<QuantizeMode::kMinCombined, false>();
    case QuantizeMode::kMinFirst:
      return run.template operator()<QuantizeMode::kMinFirst, false>();
    case QuantizeMode::kScaled:
      return grid.rule.half_to_even ? run.template operator()<QuantizeMode::kScaled, true>()
                                    : run.template operator()<QuantizeMode::kScaled, false>();
  }
}

// body(channel, begin, end) for blocks of the elements of one channel.
template <class Body>
Status ForChannels(Work& work, const GridShape& s, const Body& body) {
  const int64_t rows = s.outer * s.channels;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.inner));
  if (rows == 1) {
    return ForBlocks(work, s.inner, kGrain,
                     [&](int64_t begin, int64_t end) { body(0, begin, end); });
  }
  return ForBlocks(work, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) body(r % s.channels, r * s.inner, (r + 1) * s.inner);
  });
}

template <class T>
struct Decoder {
  Decoder(const QuantizeRule& rule, RealRange range) {
    const auto lowest = static_cast<double>(std::numeric_limits<T>::lowest());
    const auto highest = static_cast<double>(std::numeric_limits<T>::max());
    scale = (range.high - range.low) / (static_cast<float>(highest) - static_cast<float>(lowest));
    offset = HalfRange<T>();
    low = range.low;
    if (rule.mode == QuantizeMode::kMinCombined) return;
    if (rule.mode == QuantizeMode::kMinFirst) {
      is_double = true;
      wide_low = RealOfLevel(kQuantizedOf<T>, range, std::numeric_limits<T>::lowest());
      wide_scale = range.low == range.high
                       ? 0
                       : (static_cast<double>(range.high) - static_cast<double>(range.low)) /
                             (highest - lowest);
      lowest_level = lowest;
      return;
    }
    const auto least = static_cast<float>(lowest + (rule.narrow ? 1 : 0));
    scale = range.high / static_cast<float>(highest);
    if (least != 0) scale = std::max(range.low / least, scale);
    offset = low = 0;
  }
  [[gnu::always_inline]] float operator()(T level) const {
    if (is_double) {
      return static_cast<float>((static_cast<double>(level) - lowest_level) * wide_scale +
                                wide_low);
    }
    return (static_cast<float>(level) + offset) * scale + low;
  }

  float scale = 0, offset = 0, low = 0;
  bool is_double = false;
  double wide_low = 0, wide_scale = 0, lowest_level = 0;
};

template <class T>
struct DecodeEach {
  [[gnu::always_inline]] static void Run(Decoder<T> d, const T* levels, int64_t n, float* to) {
    if (d.is_double) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = d(levels[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = d(levels[i]);
    }
  }
};

Status NoType(DType dtype) { return Unimplemented("levels of type ", dtype); }

// Rounds half away from zero; far outside of every type's levels it stays at the same place.
int64_t Rounded(double x) {
  constexpr double kFar = 1LL << 48;
  if (std::isnan(x)) return 0;
  return static_cast<int64_t>(std::round(std::clamp(x, -kFar, kFar)));
}

}  // namespace

LevelRange LevelsOf(DType dtype) {
  LevelRange levels;
  ForLevelType(dtype, [&]<class T>() {
    levels = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  });
  return levels;
}

QuantizeGrid MakeQuantizeGrid(const QuantizeRule& rule, DType dtype, RealRange range, float least) {
  QuantizeGrid grid{rule, {}, 0};
  const LevelRange levels = LevelsOf(dtype);
  auto& [low, high] = grid.range;
  low = std::min(0.0f, range.low);
  const float size = std::max(1.0f, std::max(std::abs(range.low), std::abs(range.high)));
  high = std::max(0.0f, std::max(range.high, low + size * least));
  const auto highest = static_cast<float>(levels.highest);
  if (rule.mode != QuantizeMode::kScaled) {
    grid.scale = (highest - static_cast<float>(levels.lowest)) / (high - low);
    return grid;
  }
  const auto lowest = static_cast<float>(levels.lowest + (rule.narrow ? 1 : 0));
  constexpr float kMost = std::numeric_limits<float>::max();
  const float of_low = lowest * low > 0 ? lowest / low : kMost;
  const float of_high = highest * high > 0 ? highest / high : kMost;
  grid.scale = std::min(of_low, of_high);
  low = lowest / grid.scale;
  high = highest / grid.scale;
  return grid;
}

Status Quantize(Work& work, DType dtype, const GridShape& shape, const QuantizeGrid* grids,
                const float* x, void* levels) {
  Status status = NoType(dtype);
  ForLevelType(dtype, [&]<class T>() {
    T* const out = static_cast<T*>(levels);
    status = ForChannels(work, shape, [&](int64_t channel, int64_t begin, int64_t end) {
      QuantizeSome(work, grids[channel], x + begin, end - begin, out + begin);
    });
  });
  return status;
}

Status Dequantize(Work& work, DType dtype, const QuantizeRule& rule, const GridShape& shape,
                  const RealRange* ranges, const void* levels, float* out) {
  Status status = NoType(dtype);
  ForLevelType(dtype, [&]<class T>() {
    const T* const in = static_cast<const T*>(levels);
    status = ForChannels(work, shape, [&](int64_t channel, int64_t begin, int64_t end) {
      const Decoder<T> decode(rule, ranges[channel]);
      if (end - begin <= kFew) {
        for (int64_t i = begin; i < end; ++i) out[i] = decode(in[i]);
      } else {
        RunWideLeaf<DecodeEach<T>>(work.isa(), decode, in + begin, end - begin, out + begin);
      }
    });
  });
  return status;
}

double RealOfLevel(DType dtype, RealRange range, int64_t level) {
  if (range.low == range.high) return range.low;
  const LevelRange levels = LevelsOf(dtype);
  const auto steps = static_cast<double>(levels.steps());
  const double wide =
      (static_cast<double>(range.high) - static_cast<double>(range.low)) * ((steps + 1) / steps);
  const double step = wide / (steps + 1);
  // In float, which decides on which side of a tie the low end falls.
  const double low = static_cast<double>(std::round(range.low / static_cast<float>(step))) * step;
  return low + static_cast<double>(level - levels.lowest) * step;
}

int64_t LevelOfReal(DType dtype, RealRange range, double x) {
  const LevelRange levels = LevelsOf(dtype);
  if (range.low == range.high) return levels.lowest;
  const double scale = static_cast<double>(levels.steps()) /
                       (static_cast<double>(range.high) - static_cast<double>(range.low));
  return Rounded(x * scale) - Rounded(static_cast<double>(range.low) * scale) + levels.lowest;
}

Status WidenLevels(Work& work, DType dtype, int64_t n, int64_t offset, const void* levels,
                   int32_t* out) {
  Status status = NoType(dtype);
  const auto by = static_cast<uint32_t>(offset);
  ForLevelType(dtype, [&]<class T>() {
    const T* const in = static_cast<const T*>(levels);
    status = ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<int32_t>(static_cast<uint32_t>(in[i]) - by);
      }
    });
  });
  return status;
}

Status WidenLevelsTo(Work& work, DType dtype, int64_t n, RealRange from, RealRange to,
                     const void* levels, int32_t* out) {
  const auto code = [&](int64_t level) {
    return Saturated<int32_t>(
        static_cast<double>(LevelOfReal(DType::kQint32, to, RealOfLevel(dtype, from, level))));
  };
  const int64_t zero = code(0), step = code(1) - zero;
  Status status = NoType(dtype);
  ForLevelType(dtype, [&]<class T>() {
    if (sizeof(T) > 1) return;
    const T* const in = static_cast<const T*>(levels);
    status = ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = Saturated<int32_t>(static_cast<double>(zero + step * int64_t{in[i]}));
      }
    });
  });
  return status;
}

Status MoveLevels(Work& work, DType dtype, int64_t n, RealRange from, RealRange to,
                  const void* levels, void* out) {
  Status status = NoType(dtype);
  ForLevelType(dtype, [&]<class T>() {
    const T* const in = static_cast<const T*>(levels);
    T* const moved = static_cast<T*>(out);
    status = ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t level = LevelOfReal(dtype, to, RealOfLevel(dtype, from, in[i]));
        moved[i] = Saturated<T>(static_cast<double>(level));
      }
    });
  });
  return status;
}

}  // namespace thalweg::compute
