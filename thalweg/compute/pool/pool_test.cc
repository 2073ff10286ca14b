// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

struct Sizes {
  int64_t batch, height, width, channels, window_h, window_w, stride_h, stride_w;
  Padding padding;
};

constexpr Sizes kCases[] = {
    {2, 6, 6, 3, 2, 2, 2, 2, Padding::kValid}, {1, 7, 5, 1, 3, 2, 1, 2, Padding::kSame},
    {3, 9, 8, 70, 3, 3, 2, 2, Padding::kSame}, {1, 4, 4, 300, 4, 4, 4, 4, Padding::kValid},
    {9, 5, 6, 70, 3, 3, 2, 2, Padding::kSame}, {8, 9, 3, 40, 2, 2, 3, 1, Padding::kSame},
    {2, 5, 5, 2, 2, 2, 3, 3, Padding::kValid}, {2, 5, 6, 4, 3, 3, 2, 1, Padding::kExplicit},
    {1, 1, 1, 1, 1, 1, 1, 1, Padding::kValid},
};

PoolShape MakeShape(const Sizes& z) {
  const auto rows = MakeWindow(z.height, z.window_h, z.stride_h, 1, z.padding, 1, 1);
  const auto columns = MakeWindow(z.width, z.window_w, z.stride_w, 1, z.padding, 2, 0);
  EXPECT_TRUE(rows.ok() && columns.ok());
  return {z.batch, *rows, *columns, z.channels};
}

// Everything from the definition, in double.
struct PoolReference {
  template <class T>
  PoolReference(const PoolShape& s, const std::vector<T>& x, const std::vector<T>& dy)
      : max(dy.size(), -INFINITY),
        avg(dy.size()),
        places(dy.size(), -1),
        max_grad(x.size()),
        avg_grad(x.size()) {
    for (size_t i = 0; i < dy.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) % s.channels,
                    p = static_cast<int64_t>(i) / s.channels;
      const int64_t image = p / s.OutPixels(), r = p % s.OutPixels() / s.columns.output,
                    q = p % s.columns.output;
      std::vector<int64_t> seen;
      for (int64_t u = 0; u < s.rows.size; ++u) {
        for (int64_t v = 0; v < s.columns.size; ++v) {
          const int64_t y = r * s.rows.stride - s.rows.pad_before + u;
          const int64_t z = q * s.columns.stride - s.columns.pad_before + v;
          if (y < 0 || y >= s.rows.input || z < 0 || z >= s.columns.input) continue;
          seen.push_back(((image * s.rows.input + y) * s.columns.input + z) * s.channels + c);
        }
      }
      for (int64_t at : seen) {
        if (ToDouble(x[at]) > max[i]) {
          max[i] = ToDouble(x[at]);
          places[i] = at;
        }
        avg[i] += ToDouble(x[at]) / static_cast<double>(seen.size());
        avg_grad[at] += ToDouble(dy[i]) / static_cast<double>(seen.size());
      }
      if (places[i] >= 0) max_grad[places[i]] += ToDouble(dy[i]);
    }
  }
  std::vector<double> max, avg;
  std::vector<int64_t> places;
  std::vector<double> max_grad, avg_grad;
};

template <class T>
void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected, double tolerance,
                const char* what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(ToDouble(actual[i]), expected[i], tolerance) << what << " at " << i;
  }
}

template <class T>
void CheckAll(IsaLevel level, const Sizes& sizes, double low, double high, double tolerance) {
  const PoolShape s = MakeShape(sizes);
  const auto x = RandomValues<T>(s.batch * s.InPixels() * s.channels, low, high, 1);
  const auto dy = RandomValues<T>(s.batch * s.OutPixels() * s.channels, low, high, 2);
  const PoolReference reference(s, x, dy);
  std::vector<T> y(dy.size()), y2(dy.size()), dx(x.size());
  std::vector<int64_t> places(dy.size());
  TestWork work(level, 2);
  constexpr DType kType = kDTypeOf<T>;
  ASSERT_TRUE(MaxPool(work, kType, s, x.data(), y.data()).ok());
  ExpectNear(y, reference.max, 0, "maximum");
  ASSERT_TRUE(MaxPoolPlaces(work, kType, s, true, x.data(), y2.data(), places.data()).ok());
  ExpectNear(y2, reference.max, 0, "maximum");
  EXPECT_EQ(places, reference.places);
  ASSERT_TRUE(MaxPoolGrad(work, kType, s, x.data(), dy.data(), dx.data()).ok());
  ExpectNear(dx, reference.max_grad, tolerance, "gradient of the maximum");
  if constexpr (!std::is_integral_v<T>) {
    ASSERT_TRUE(AvgPool(work, kType, s, x.data(), y.data()).ok());
    ExpectNear(y, reference.avg, tolerance, "average");
    ASSERT_TRUE(AvgPoolGrad(work, kType, s, dy.data(), dx.data()).ok());
    ExpectNear(dx, reference.avg_grad, tolerance, "gradient of the average");
  }
}

TEST(Pool2DTest, AgreesWithTheDefinition) {
  for (const Sizes& sizes : kCases) {
    for (IsaLevel level : TestLevels()) {
      CheckAll<float>(level, sizes, -1, 1, 2e-6);
      CheckAll<double>(level, sizes, -1, 1, 1e-14);
      CheckAll<Half>(level, sizes, -1, 1, 4e-3);
      CheckAll<Bfloat16>(level, sizes, -1, 1, 4e-2);
    }
    CheckAll<int32_t>(BestIsaLevel(), sizes, -1e6, 1e6, 0);
    CheckAll<int64_t>(BestIsaLevel(), sizes, -1e9, 1e9, 0);
    CheckAll<uint8_t>(BestIsaLevel(), sizes, 0, 12, 0);
  }
}

// What the four functions make: maximum, average, and their gradients.
template <class T>
std::vector<std::vector<T>> PoolAll(Work& work, const PoolShape& s, const std::vector<T>& x,
                                    const std::vector<T>& dy) {
  constexpr DType kType = kDTypeOf<T>;
  std::vector<std::vector<T>> made = {std::vector<T>(dy.size()), std::vector<T>(dy.size()),
                                      std::vector<T>(x.size()), std::vector<T>(x.size())};
  EXPECT_TRUE(MaxPool(work, kType, s, x.data(), made[0].data()).ok());
  EXPECT_TRUE(AvgPool(work, kType, s, x.data(), made[1].data()).ok());
  EXPECT_TRUE(MaxPoolGrad(work, kType, s, x.data(), dy.data(), made[2].data()).ok());
  EXPECT_TRUE(AvgPoolGrad(work, kType, s, dy.data(), made[3].data()).ok());
  return made;
}

template <class T>
void CheckBitsOfFloat(IsaLevel level, const Sizes& sizes) {
  const PoolShape s = MakeShape(sizes);
  auto x = RandomValues<T>(s.batch * s.InPixels() * s.channels, -1, 1, 1);
  auto dy = RandomValues<T>(s.batch * s.OutPixels() * s.channels, -1, 1, 2);
  for (size_t i = 3; i < x.size(); i += 101) x[i] = T(i % 2 == 0 ? NAN : INFINITY);
  for (size_t i = 5; i < dy.size(); i += 103) dy[i] = T(i % 2 == 0 ? NAN : 0x1p-130f);
  TestWork one(level, 1), three(level, 3);
  const auto made = PoolAll(one, s, x, dy), again = PoolAll(three, s, x, dy);
  const auto wide = PoolAll(one, s, Widened(x), Widened(dy));
  const bool overlap = s.rows.size > s.rows.stride || s.columns.size > s.columns.stride;
  for (size_t k = 0; k < made.size(); ++k) {
    for (size_t i = 0; i < made[k].size(); ++i) {
      ASSERT_EQ(made[k][i].bits, again[k][i].bits) << k << " at " << i;
      if (k == 2 && overlap) continue;  // each of its sums is rounded
      ASSERT_EQ(made[k][i].bits, T(wide[k][i]).bits) << k << " at " << i;
    }
  }
}

TEST(Pool2DTest, SixteenBitsAreRoundedFloats) {
  for (const Sizes& sizes : kCases) {
    for (IsaLevel level : TestLevels()) {
      CheckBitsOfFloat<Half>(level, sizes);
      CheckBitsOfFloat<Bfloat16>(level, sizes);
    }
  }
}

TEST(Pool2DTest, TheFirstOfEqualPlacesGetsTheGradient) {
  const PoolShape s = MakeShape({1, 2, 2, 1, 2, 2, 2, 2, Padding::kValid});
  const std::vector<float> x = {5, 5, 5, 5}, dy = {3};
  std::vector<float> dx(4);
  TestWork work;
  ASSERT_TRUE(MaxPoolGrad(work, DType::kFloat, s, x.data(), dy.data(), dx.data()).ok());
  EXPECT_EQ(dx, (std::vector<float>{3, 0, 0, 0}));
}

TEST(Pool2DTest, PlacesWithinTheImage) {
  const PoolShape s = MakeShape({2, 2, 2, 1, 2, 2, 2, 2, Padding::kValid});
  const std::vector<float> x = {1, 2, 3, 4, 9, 1, 1, 1};
  std::vector<int64_t> places(2);
  TestWork work;
  ASSERT_TRUE(MaxPoolPlaces(work, DType::kFloat, s, false, x.data(), nullptr, places.data()).ok());
  EXPECT_EQ(places, (std::vector<int64_t>{3, 0}));
}

TEST(Pool2DTest, EmptyAndMissingTypes) {
  TestWork work;
  PoolShape s = MakeShape({0, 4, 4, 3, 2, 2, 2, 2, Padding::kValid});
  EXPECT_TRUE(MaxPool(work, DType::kFloat, s, nullptr, nullptr).ok());
  EXPECT_TRUE(AvgPoolGrad(work, DType::kFloat, s, nullptr, nullptr).ok());
  s = MakeShape({2, 4, 4, 0, 2, 2, 2, 2, Padding::kValid});
  EXPECT_TRUE(MaxPool(work, DType::kFloat, s, nullptr, nullptr).ok());
  EXPECT_TRUE(MaxPoolGrad(work, DType::kFloat, s, nullptr, nullptr, nullptr).ok());
  EXPECT_EQ(AvgPool(work, DType::kInt32, s, nullptr, nullptr).code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg::compute
