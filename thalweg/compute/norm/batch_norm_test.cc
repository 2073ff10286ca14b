// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
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

// In one pass or in several: the same bits.
TEST(BatchNormTest, ReluAndSideInputGiveTheBitsOfPassesOfTheirOwn) {
  const DType t = DType::kFloat;
  for (const ChannelShape& s : kShapes) {
    const auto n = static_cast<size_t>(s.outer * s.channels * s.inner);
    const auto x = RandomValues(s.outer * s.channels * s.inner, -1, 1);
    const auto side = RandomValues(s.outer * s.channels * s.inner, -1, 1, 2);
    const auto dy = RandomValues(s.outer * s.channels * s.inner, -1, 1, 3);
    const auto a = RandomValues(s.channels, -2, 2, 4), b = RandomValues(s.channels, -1, 1, 5);
    const auto mean = RandomValues(s.channels, -1, 1, 6);
    TestWork work(BestIsaLevel(), 2);
    std::vector<float> plain(n), sum(n), relu(n), all(n), passed(n), dx(n), fused_dx(n);
    ASSERT_TRUE(ScaleChannels(work, t, s, x.data(), a.data(), b.data(), plain.data()).ok());
    ASSERT_TRUE(
        ScaleChannels(work, t, s, x.data(), a.data(), b.data(), relu.data(), {nullptr, true}).ok());
    ASSERT_TRUE(
        ScaleChannels(work, t, s, x.data(), a.data(), b.data(), sum.data(), {side.data()}).ok());
    ASSERT_TRUE(
        ScaleChannels(work, t, s, x.data(), a.data(), b.data(), all.data(), {side.data(), true})
            .ok());
    for (size_t i = 0; i < n; ++i) {
      const size_t c = i / static_cast<size_t>(s.inner) % static_cast<size_t>(s.channels);
      ASSERT_EQ(plain[i], x[i] * a[c] + b[c]);
      ASSERT_EQ(relu[i], std::max(0.0f, plain[i]));
      ASSERT_EQ(sum[i], plain[i] + side[i]);
      ASSERT_EQ(all[i], std::max(0.0f, sum[i]));
      passed[i] = dy[i] * (relu[i] > 0 ? 1.0f : 0.0f);
    }
    std::vector<double> sums(4 * a.size());
    const auto c = a.size();
    ASSERT_TRUE(
        ChannelGradSums(work, t, s, passed.data(), x.data(), mean.data(), sums.data(), &sums[c])
            .ok());
    ASSERT_TRUE(ChannelGradSums(work, t, s, dy.data(), x.data(), mean.data(), &sums[2 * c],
                                &sums[3 * c], {a.data(), b.data()})
                    .ok());
    for (size_t i = 0; i < 2 * c; ++i) ASSERT_EQ(sums[i], sums[2 * c + i]);
    ASSERT_TRUE(CenteredGrad(work, t, s, passed.data(), x.data(), mean.data(), a.data(), b.data(),
                             mean.data(), dx.data())
                    .ok());
    ASSERT_TRUE(CenteredGrad(work, t, s, dy.data(), x.data(), mean.data(), a.data(), b.data(),
                             mean.data(), fused_dx.data(), {a.data(), b.data()})
                    .ok());
    EXPECT_EQ(dx, fused_dx);
  }
}

// What the four functions make of x and dy, with a relu where a result or a gradient passes one.
template <class T>
struct Made {
  Made(IsaLevel level, int threads, const ChannelShape& s, const std::vector<T>& x,
       const std::vector<T>& dy)
      : sums(4, std::vector<double>(static_cast<size_t>(s.channels))),
        images(4, std::vector<T>(x.size())) {
    constexpr DType t = kDTypeOf<T>;
    const auto a = RandomValues(s.channels, -2, 2, 4), b = RandomValues(s.channels, -1, 1, 5);
    const auto mean = RandomValues(s.channels, -1, 1, 6);
    const ScaledRelu relu{a.data(), b.data()};
    TestWork work(level, threads);
    EXPECT_TRUE(ChannelMoments(work, t, s, x.data(), sums[0].data(), sums[1].data()).ok());
    EXPECT_TRUE(ChannelGradSums(work, t, s, dy.data(), x.data(), mean.data(), sums[2].data(),
                                sums[3].data(), relu)
                    .ok());
    const auto scale = [&](std::vector<T>& y, const AfterScale& after) {
      EXPECT_TRUE(ScaleChannels(work, t, s, x.data(), a.data(), b.data(), y.data(), after).ok());
    };
    scale(images[0], {nullptr, true});
    scale(images[1], {});
    scale(images[2], {dy.data(), true});
    EXPECT_TRUE(CenteredGrad(work, t, s, dy.data(), x.data(), mean.data(), a.data(), b.data(),
                             mean.data(), images[3].data(), relu)
                    .ok());
  }
  std::vector<std::vector<double>> sums;
  std::vector<std::vector<T>> images;
};

template <class T>
void CheckBitsOfFloat(IsaLevel level, const ChannelShape& s) {
  const int64_t size = s.outer * s.channels * s.inner;
  auto x = RandomValues<T>(size, -1, 1), dy = RandomValues<T>(size, -1, 1, 2);
  const Made<T> finite(level, 1, s, x, dy);
  EXPECT_EQ(finite.sums, Made<T>(level, 3, s, x, dy).sums);
  EXPECT_EQ(finite.sums, Made<float>(level, 1, s, Widened(x), Widened(dy)).sums);
  for (size_t i = 3; i < x.size(); i += 101) x[i] = T(i % 2 == 0 ? NAN : INFINITY);
  const Made<T> made(level, 1, s, x, dy), again(level, 3, s, x, dy);
  const Made<float> wide(level, 1, s, Widened(x), Widened(dy));
  for (size_t k = 0; k < made.images.size(); ++k) {
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(made.images[k][i].bits, again.images[k][i].bits);
      T expected(wide.images[k][i]);
      if (k == 2) {  // rounded before the sum, too
        const float sum = ValueOf(made.images[1][i]) + ValueOf(dy[i]);
        expected = T(sum < 0 ? 0 : sum);
      }
      ASSERT_EQ(made.images[k][i].bits, expected.bits) << k << " at " << i;
    }
  }
}

TEST(BatchNormTest, SixteenBitsAreRoundedFloats) {
  for (const ChannelShape& s : {ChannelShape{3001, 37, 1}, {515, 64, 1}, {3, 5, 3001}}) {
    for (IsaLevel level : TestLevels()) {
      CheckBitsOfFloat<Half>(level, s);
      CheckBitsOfFloat<Bfloat16>(level, s);
    }
  }
}

}  // namespace
}  // namespace thalweg::compute
