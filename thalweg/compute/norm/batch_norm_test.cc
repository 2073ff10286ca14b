// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/batch_norm.h"

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

// Several shards, pieces that are not full, both layouts.
constexpr ChannelShape kShapes[] = {{5003, 37, 1}, {3, 5, 30011}, {1, 3, 1}, {70, 64, 49}};

struct Sums {
  std::vector<double> mean, variance, sum, dot;
  bool operator==(const Sums&) const = default;
};

Sums Compute(const ChannelShape& s, const std::vector<float>& x, const std::vector<float>& dy,
             int threads) {
  TestWork work(BestIsaLevel(), threads);
  const auto n = static_cast<size_t>(s.channels);
  Sums r{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n),
         std::vector<double>(n)};
  const DType t = DType::kFloat;
  EXPECT_TRUE(ChannelMoments(work, t, s, x.data(), r.mean.data(), r.variance.data()).ok());
  const std::vector<float> mean(r.mean.begin(), r.mean.end());
  EXPECT_TRUE(
      ChannelGradSums(work, t, s, dy.data(), x.data(), mean.data(), r.sum.data(), r.dot.data())
          .ok());
  return r;
}

TEST(BatchNormTest, SumsAgreeWithDoubleAndDoNotDependOnThreads) {
  for (const ChannelShape& s : kShapes) {
    const int64_t size = s.outer * s.channels * s.inner;
    // Far from zero, so that a sum of squares alone would lose the variance.
    const auto x = RandomValues(size, 99, 101), dy = RandomValues(size, -1, 1, 2);
    const Sums found = Compute(s, x, dy, 1);
    EXPECT_TRUE(found == Compute(s, x, dy, 3));
    const auto count = static_cast<double>(s.per_channel());
    for (int64_t c = 0; c < s.channels; ++c) {
      double mean = 0, variance = 0, sum = 0, dot = 0;
      const auto each = [&](auto f) {
        for (int64_t o = 0; o < s.outer; ++o) {
          for (int64_t i = 0; i < s.inner; ++i) f((o * s.channels + c) * s.inner + i);
        }
      };
      each([&](int64_t i) { mean += x[i] / count; });
      each([&](int64_t i) { variance += (x[i] - mean) * (x[i] - mean) / count; });
      each([&](int64_t i) { sum += dy[i]; });
      each([&](int64_t i) { dot += dy[i] * (x[i] - static_cast<float>(found.mean[c])); });
      EXPECT_NEAR(found.mean[c], mean, 1e-5);
      EXPECT_NEAR(found.variance[c], variance, 1e-5);
      EXPECT_NEAR(found.sum[c], sum, 1e-6 * count);
      EXPECT_NEAR(found.dot[c], dot, 1e-6 * count);
    }
  }
}

}  // namespace
}  // namespace thalweg::compute
