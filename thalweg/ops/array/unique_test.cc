// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Slices of x along `axis`, each as a vector.
std::vector<std::vector<double>> SlicesOf(const Array<double>& x, int axis) {
  std::vector<std::vector<double>> slices(static_cast<size_t>(x.shape.dim(axis)));
  ForEachIndex(x.shape, [&](const std::vector<int64_t>& at) {
    slices[static_cast<size_t>(at[static_cast<size_t>(axis)])].push_back(
        x.values[static_cast<size_t>(x.Offset(at))]);
  });
  return slices;
}

// y, idx and count by comparing every slice with all before it.
auto UniqueAlong(int axis, bool counts) {
  return [axis, counts](RefCall<double>& r) {
    const Array<double>& x = r.in[0];
    const std::vector<std::vector<double>> slices = SlicesOf(x, axis);
    std::vector<size_t> first;
    std::vector<double> index, count;
    for (size_t i = 0; i < slices.size(); ++i) {
      size_t k = 0;
      while (k < first.size() && slices[first[k]] != slices[i]) ++k;
      if (k == first.size()) {
        first.push_back(i);
        count.push_back(0);
      }
      index.push_back(static_cast<double>(k));
      count[k] += 1;
    }
    Dims dims = x.shape.dims();
    dims[axis] = static_cast<int64_t>(first.size());
    Array<double> y{Shape(dims)};
    ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
      std::vector<int64_t> from = at;
      auto& moved = from[static_cast<size_t>(axis)];
      moved = static_cast<int64_t>(first[static_cast<size_t>(moved)]);
      y.values[static_cast<size_t>(y.Offset(at))] = x.values[static_cast<size_t>(x.Offset(from))];
    });
    r.out = {y, Array<double>(Shape{x.shape.dim(axis)}, index)};
    if (counts) r.out.push_back(Array<double>(Shape{static_cast<int64_t>(count.size())}, count));
  };
}

constexpr const char* kWhy = "how many are distinct depends on the values";

TEST(UniqueTest, ElementsOfAVector) {
  for (const bool counts : {false, true}) {
    OpCase(counts ? "UniqueWithCounts" : "Unique")
        .Skip(DType::kString, "the reference computes with numbers")
        .Reference(UniqueAlong(0, counts))
        .Try({In({7}, {1, 0, 1, 1, 0, 5, 1})})
        .Try({In({300}).Range(0, 90)}, {{"out_idx", DType::kInt64}})
        .Try({In({0}, {})})
        .Bad({In({2, 2}, {1, 1, 1, 1})}, {}, Code::kInvalidArgument, "")
        .ShapesFromValues(kWhy)
        .Trivial("half of the cases of bool have no third value")
        .Run();
  }
}

TEST(UniqueTest, SlicesAlongAnAxis) {
  for (const bool counts : {false, true}) {
    const std::string op = counts ? "UniqueWithCountsV2" : "UniqueV2";
    for (const int axis : {0, 1, 2}) {
      OpCase(op)
          .Types({{"T", DType::kFloat}})
          .Types({{"T", DType::kInt16}})
          .Types({{"T", DType::kBool}})
          .Reference(UniqueAlong(axis, counts))
          .Try({In({6, 5, 4}).Range(0, 1), In({1}, {static_cast<double>(axis - 3)})})
          .Try({In({2, 2, 2}, {1, 0, 1, 0, 1, 0, 1, 0}), In({1}, {static_cast<double>(axis)})},
               {{"Taxis", DType::kInt32}, {"out_idx", DType::kInt64}})
          .Try({In({3, 0, 2}), In({1}, {static_cast<double>(axis)})})
          .Bad({In({3, 2}), In({1}, {2})}, {}, Code::kInvalidArgument,
               "axis in the range [-2, 2), but got 2")
          .Bad({In({3, 2}), In({2}, {0, 1})}, {}, Code::kInvalidArgument, "larger than 1")
          .Bad({In({3, 2}), In({0}, {})}, {}, Code::kInvalidArgument, "")
          .Bad({In({3, 2}), In({}, {0})}, {}, Code::kInvalidArgument, "")
          .ShapesFromValues(kWhy)
          .Run();
    }
    OpCase(op)
        .Types({{"T", DType::kInt64}})
        .Reference(UniqueAlong(0, counts))
        .Try({In({5}, {3, 3, 1, 3, 1}), In({0}, {})})
        .ShapesFromValues(kWhy)
        .Run();
  }
}

TEST(UniqueTest, ZerosAreEqualAndNansAreNot) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto got = RunOp("Unique", {Tensor::Vector<float>({1, nan, 0.0f, -0.0f, nan, 1})});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ASSERT_EQ((*got)[0].num_elements(), 4);
  EXPECT_TRUE(std::isnan((*got)[0].data<float>()[3]));
  const std::vector<int32_t> expected = {0, 1, 2, 2, 3, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*got)[1].data<int32_t>()[i], expected[i]);
}

TEST(UniqueTest, OfTexts) {
  const auto text = [](const char* a, const char* b, const char* c) {
    return Tensor::Of<std::string>(std::vector<std::string>{a, b, c}, Shape{3});
  };
  const auto got = RunOp("UniqueWithCounts", {text("x", "a text that is not short", "x")});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<std::string>()[1], "a text that is not short");
  EXPECT_EQ((*got)[2].data<int32_t>()[0], 2);
  const auto left = RunOp("ListDiff", {text("x", "y", "x"), text("z", "y", "")});
  ASSERT_TRUE(left.ok()) << left.status().ToString();
  ASSERT_EQ((*left)[0].num_elements(), 2);
  EXPECT_EQ((*left)[1].data<int32_t>()[1], 2);
}

TEST(ListDiffTest, KeepsWhatIsNotInTheOther) {
  OpCase("ListDiff")
      .Skip(DType::kString, "the reference computes with numbers")
      .Reference([](RefCall<double>& r) {
        std::vector<double> kept, places;
        for (int64_t i = 0; i < r.in[0].size(); ++i) {
          if (std::ranges::count(r.in[1].values, r.in[0][i]) > 0) continue;
          kept.push_back(r.in[0][i]);
          places.push_back(static_cast<double>(i));
        }
        const auto n = static_cast<int64_t>(kept.size());
        r.out = {Array<double>(Shape{n}, kept), Array<double>(Shape{n}, places)};
      })
      .Try({In({5}, {0, 1, 0, 1, 1}), In({2}, {0, 0})})
      .Try({In({200}).Range(0, 90), In({40}).Range(0, 90)}, {{"out_idx", DType::kInt64}})
      .Try({In({0}, {}), In({2}, {1, 2})})
      .Bad({In({1, 1}), In({1})}, {}, Code::kInvalidArgument, "")
      .Bad({In({1}), In({})}, {}, Code::kInvalidArgument, "")
      .ShapesFromValues(kWhy)
      .Run();
}

}  // namespace
}  // namespace thalweg
