// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/requantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/quantized/level_types.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;
constexpr double kLevels32 = 4294967296.0;

template <class T>
T Within(double level) {
  constexpr double kLow = std::numeric_limits<T>::lowest(), kHigh = std::numeric_limits<T>::max();
  if (!(level > kLow)) return std::numeric_limits<T>::lowest();
  return level >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(level);
}

}  // namespace

RealRange UsedRange(int64_t n, const int32_t* levels, RealRange range) {
  int32_t least = std::numeric_limits<int32_t>::max();
  int32_t most = std::numeric_limits<int32_t>::lowest();
  for (int64_t i = 0; i < n; ++i) {
    least = std::min(least, levels[i]);
    most = std::max(most, levels[i]);
  }
  const double step =
      (static_cast<double>(range.high) - static_cast<double>(range.low)) / (kLevels32 - 1);
  const auto real = [&](int32_t level) {
    return static_cast<float>(range.low + (static_cast<double>(level) + kLevels32 / 2) * step);
  };
  return {std::min(real(least), 0.0f), real(most)};
}

Status Requantize(Work& work, int64_t n, RealRange from, const int32_t* levels, DType dtype,
                  RealRange to, void* out) {
  const double from_step =
      (static_cast<double>(from.high) - static_cast<double>(from.low)) / kLevels32;
  const double width = static_cast<double>(to.high) - static_cast<double>(to.low);
  const LevelRange type = LevelsOf(dtype);
  const double scale = width == 0 ? 0 : static_cast<double>(type.steps()) / width;
  const double low = std::round(static_cast<double>(to.low) * scale);
  Status status = Unimplemented("levels of type ", dtype);
  ForLevelType(dtype, [&]<class T>() {
    T* const to_levels = static_cast<T*>(out);
    status = ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double real = from.low + (levels[i] + kLevels32 / 2) * from_step;
        to_levels[i] =
            Within<T>(std::floor(real * scale + 0.5) - low + static_cast<double>(type.lowest));
      }
    });
  });
  return status;
}

namespace {

// Levels of one image's channels, in double, in the first-level cache, operation by operation.
constexpr int64_t kChunk = 1024;

// body(begin, channel, count) for pieces of [0, n) within which the channel only rises.
template <class Body>
Status ForRows(Work& work, int64_t n, int64_t channels, const Body& body) {
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t channel = i % channels;
      const int64_t count = std::min({channels - channel, end - i, kChunk});
      body(i, channel, count);
      i += count;
    }
  });
}

struct WidenEach {
  [[gnu::always_inline]] static void Run(const int32_t* levels, int64_t n, double* to) {
    for (int64_t j = 0; j < n; ++j) to[j] = levels[j];
  }
};
struct AddRounded {
  [[gnu::always_inline]] static void Run(const double* shifts, int64_t n, double* to) {
    for (int64_t j = 0; j < n; ++j) to[j] += std::nearbyint(shifts[j]);
  }
};
struct AddRoundedSummand {
  [[gnu::always_inline]] static void Run(const float* summand, const double* scales, int64_t n,
                                         double* to) {
    for (int64_t j = 0; j < n; ++j) to[j] += std::nearbyint(summand[j] * scales[j]);
  }
};
// No number becomes `least`.
struct RoundWithin {
  [[gnu::always_inline]] static void Run(double least, double most, int64_t n, double* levels) {
    for (int64_t j = 0; j < n; ++j) {
      const double level = levels[j] > least ? levels[j] : least;
      levels[j] = std::nearbyint(level < most ? level : most);
    }
  }
};
template <class T>
struct NarrowEach {
  [[gnu::always_inline]] static void Run(const double* levels, int64_t n, T* to) {
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<T>(static_cast<int32_t>(levels[j]));
  }
};
template <class T>
void NarrowWithin(const Work& work, bool relu, int64_t n, double* levels, T* to) {
  constexpr double kLowest = std::numeric_limits<T>::lowest(),
                   kMost = std::numeric_limits<T>::max();
  RunLeaf<RoundWithin>(work.isa(), relu ? std::max(kLowest, 0.0) : kLowest, kMost, n, levels);
  RunLeaf<NarrowEach<T>>(work.isa(), static_cast<const double*>(levels), n, to);
}

}  // namespace

Status AddBias(Work& work, int64_t n, const BiasRule& rule, int32_t* levels) {
  return ForRows(work, n, rule.channels, [&](int64_t i, int64_t c, int64_t count) {
    double chunk[kChunk];
    RunLeaf<WidenEach>(work.isa(), levels + i, count, &chunk[0]);
    if (rule.bias != nullptr) RunLeaf<AddRounded>(work.isa(), rule.bias + c, count, &chunk[0]);
    if (rule.summand != nullptr) {
      RunLeaf<AddRoundedSummand>(work.isa(), rule.summand + i, rule.summand_scales + c, count,
                                 &chunk[0]);
    }
    NarrowWithin(work, rule.relu, count, &chunk[0], levels + i);
  });
}

Status AddBiasLevels(Work& work, DType dtype, int64_t n, int64_t channels, RealRange range,
                     RealRange bias_range, RealRange to, const void* levels, const void* bias,
                     int32_t* out) {
  Status status = Unimplemented("a bias of type ", dtype);
  ForLevelType(dtype, [&]<class T>() {
    if constexpr (sizeof(T) == 1) {
      const auto* in = static_cast<const T*>(levels);
      const auto* shift = static_cast<const T*>(bias);
      status = ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double sum = RealOfLevel(dtype, range, in[i]) +
                             RealOfLevel(dtype, bias_range, shift[i % channels]);
          out[i] = Within<int32_t>(static_cast<double>(LevelOfReal(DType::kQint32, to, sum)));
        }
      });
    }
  });
  return status;
}

namespace {

template <class T>
void AverageRow(const LevelPool& p, int64_t row, const T* in, T* out) {
  const int64_t image = row / p.out_rows, y = row % p.out_rows;
  const int64_t top = y * p.row_stride - p.row_pad;
  for (int64_t x = 0; x < p.out_columns; ++x) {
    const int64_t left = x * p.column_stride - p.column_pad;
    const int64_t r0 = std::max<int64_t>(0, top), r1 = std::min(p.in_rows, top + p.rows);
    const int64_t c0 = std::max<int64_t>(0, left), c1 = std::min(p.in_columns, left + p.columns);
    for (int64_t c = 0; c < p.channels; ++c) {
      int64_t sum = 0;
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t s = c0; s < c1; ++s) {
          sum += in[((image * p.in_rows + r) * p.in_columns + s) * p.channels + c];
        }
      }
      const int64_t count = std::max<int64_t>(1, (r1 - r0) * (c1 - c0));
      out[(row * p.out_columns + x) * p.channels + c] = static_cast<T>(sum / count);
    }
  }
}

}  // namespace

Status AveragePoolLevels(Work& work, DType dtype, const LevelPool& pool, const void* levels,
                         void* out) {
  Status status = Unimplemented("averages of levels of type ", dtype);
  ForLevelType(dtype, [&]<class T>() {
    if constexpr (sizeof(T) == 1) {
      status = ForShards(work, pool.batch * pool.out_rows, [&](int64_t row) {
        AverageRow(pool, row, static_cast<const T*>(levels), static_cast<T*>(out));
        return true;
      });
    }
  });
  return status;
}

}  // namespace thalweg::compute
