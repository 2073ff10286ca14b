// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/level_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;

}  // namespace

Status NormalizeInstances(Work& work, const InstanceShape& s, RealRange range, float epsilon,
                          const uint8_t* levels, float* reals) {
  const double step = (static_cast<double>(range.high) - static_cast<double>(range.low)) / 255;
  return ForShards(work, s.batch * s.channels, [&](int64_t shard) {
    const int64_t first = (shard / s.channels) * s.pixels * s.channels + shard % s.channels;
    uint64_t sum = 0, squares = 0;
    for (int64_t p = 0; p < s.pixels; ++p) {
      const uint64_t level = levels[first + p * s.channels];
      sum += level;
      squares += level * level;
    }
    const auto n = static_cast<double>(std::max<int64_t>(1, s.pixels));
    const double mean = static_cast<double>(sum) / n;
    const double variance = std::max(0.0, static_cast<double>(squares) / n - mean * mean);
    const double factor = step / std::sqrt(variance * step * step + static_cast<double>(epsilon));
    for (int64_t p = 0; p < s.pixels; ++p) {
      const int64_t at = first + p * s.channels;
      reals[at] = static_cast<float>((levels[at] - mean) * factor);
    }
    return true;
  });
}

RealRange RangeOf(int64_t n, const float* reals, float separation) {
  RealRange range{0, 0};
  if (n > 0) {
    const auto [least, most] = std::minmax_element(reals, reals + n);
    range = {*least, *most};
  }
  if (!(range.high - range.low >= separation)) range.high = range.low + separation;
  return range;
}

Status LevelsIn(Work& work, int64_t n, RealRange range, const float* reals, uint8_t* levels) {
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      levels[i] = static_cast<uint8_t>(
          std::clamp<int64_t>(LevelOfReal(DType::kQuint8, range, reals[i]), 0, 255));
    }
  });
}

Status BatchNormLevels(Work& work, int64_t n, const LevelBatchNorm& norm, int32_t* out) {
  const auto real = [&](int operand, int64_t i) {
    return RealOfLevel(DType::kQuint8, norm.ranges[operand], norm.levels[operand][i]);
  };
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % norm.channels;
      const double root = std::sqrt(real(2, c) + static_cast<double>(norm.epsilon));
      const double gamma = norm.scale ? real(4, c) : 1.0;
      const double y = (real(0, i) - real(1, c)) / root * gamma + real(3, c);
      const int64_t level = LevelOfReal(DType::kQint32, kBatchNormRange, y);
      out[i] = static_cast<int32_t>(std::clamp<int64_t>(
          level, std::numeric_limits<int32_t>::lowest(), std::numeric_limits<int32_t>::max()));
    }
  });
}

}  // namespace thalweg::compute
