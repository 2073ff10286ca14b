// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;

void Largest(RefCall<double>& r, int64_t k) {
  const Shape& in = r.in[0].shape;
  const int64_t columns = in.dim(in.rank() - 1);
  Dims dims = in.dims();
  dims[in.rank() - 1] = k;
  r.out = {Array<double>(Shape(dims)), Array<double>(Shape(dims))};
  for (int64_t row = 0; row * k < r.out[0].size(); ++row) {
    std::vector<int64_t> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return r.in[0][row * columns + a] > r.in[0][row * columns + b];
    });
    for (int64_t i = 0; i < k; ++i) {
      r.out[0][row * k + i] = r.in[0][row * columns + order[i]];
      r.out[1][row * k + i] = static_cast<double>(order[i]);
    }
  }
}

TEST(TopKTest, Largest) {
  OpCase("TopKV2")
      .Reference([](RefCall<double>& r) { Largest(r, static_cast<int64_t>(r.in[1][0])); })
      .Try({In({7, 31}).Distinct(), In({}, {5})})
      .Try({In({2, 3, 4}).Distinct(), In({}, {4})})
      .Try({In({5}, {1, 3, 3, 0, 3}), In({}, {4})})
      .Try({In({3, 4}), In({}, {0})})
      .Try({In({0, 4}), In({}, {2})})
      .NoGradient("below, without ties")
      .Bad({In({2, 3}), In({}, {4})}, {}, Code::kInvalidArgument,
           "input must have last dimension >= k = 4 but is 3",
           "input must have at least k columns. Had 3, needed 4")
      .Bad({In({2, 3}), In({}, {-1})}, {}, Code::kInvalidArgument, "Need k >= 0")
      .Bad({In({}), In({}, {1})}, {}, Code::kInvalidArgument, "")
      .Run();
  OpCase("TopKV2")
      .Reference([](RefCall<double>& r) { Largest(r, static_cast<int64_t>(r.in[1][0])); })
      .Types({{"T", DType::kDouble}})
      .Try({In({7, 31}).Distinct(), In({}, {5})})
      .Try({In({2, 3, 4}).Distinct(), In({}, {4})})
      .Run();
  OpCase("TopK")
      .Reference([](RefCall<double>& r) { Largest(r, r.Attr<int64_t>("k")); })
      .Try({In({7, 31}).Distinct()}, {{"k", 5}})
      .Bad({In({2, 3})}, {{"k", 4}}, Code::kInvalidArgument,
           "input must have last dimension >= k = 4 but is 3",
           "input must have at least k columns. Had 3, needed 4")
      .Run();
}

TEST(TopKTest, TheEndsOfIntegerTypes) {
  constexpr uint64_t kHigh = uint64_t{1} << 63;
  const Tensor wide = Tensor::Vector<uint64_t>({kHigh, 1, ~uint64_t{0}});
  const auto highest = *RunOp("TopKV2", {wide, Tensor::Scalar(2)});
  EXPECT_THAT(highest[0].flat<uint64_t>(), ElementsAre(~uint64_t{0}, kHigh));
  EXPECT_THAT(highest[1].flat<int32_t>(), ElementsAre(2, 0));
  const Tensor narrow = Tensor::Vector<int8_t>({-1, -128, 127});
  const auto all = *RunOp("TopKV2", {narrow, Tensor::Scalar(3)});
  EXPECT_THAT(all[0].flat<int8_t>(), ElementsAre(127, -1, -128));
}

TEST(TopKTest, Approximate) {
  OpCase("ApproxTopK")
      .Reference([](RefCall<double>& r) { Largest(r, r.Attr<int64_t>("k")); })
      .NoGradient("that of TopKV2; no kernel of double to test it with")
      .Try({In({7, 31}).Distinct()}, {{"k", 5}})
      .Bad({In({2, 3})}, {{"k", 4}}, Code::kInvalidArgument,
           "input must have at least k = 4 elements along dimension 1, got [2,3]")
      .Bad({In({2, 3})}, {{"k", 1}, {"reduction_dimension", 2}}, Code::kInvalidArgument, "2")
      .Bad({In({2, 3})}, {{"k", 3}, {"reduction_dimension", 0}}, Code::kInvalidArgument, "at least")
      .Run();
}

TEST(TopKTest, ApproximateAlongOthers) {
  // [2,3,2]: lines along dimension 1.
  const float numbers[] = {5, 1, 3, 2, 4, 0, -1, 7, -3, 9, -2, 8};
  const Tensor x = Tensor::Of<float>(numbers, Shape{2, 3, 2});
  const auto run = [&](int64_t dimension, bool largest) {
    return *RunOp("ApproxTopK", {x},
                  {{"k", 2}, {"reduction_dimension", dimension}, {"is_max_k", largest}});
  };
  const std::vector<Tensor> top = run(1, true), low = run(-2, false);
  EXPECT_EQ(top[0].shape(), (Shape{2, 2, 2}));
  const auto floats = [](const Tensor& t) {
    const auto found = t.flat<float>();
    return std::vector<float>(found.begin(), found.end());
  };
  const auto ints = [](const Tensor& t) {
    const auto found = t.flat<int32_t>();
    return std::vector<int32_t>(found.begin(), found.end());
  };
  EXPECT_EQ(floats(top[0]), (std::vector<float>{5, 2, 4, 1, -1, 9, -2, 8}));
  EXPECT_EQ(ints(top[1]), (std::vector<int32_t>{0, 1, 2, 0, 0, 1, 2, 2}));
  EXPECT_EQ(floats(low[0]), (std::vector<float>{3, 0, 4, 1, -3, 7, -2, 8}));
  EXPECT_EQ(ints(low[1]), (std::vector<int32_t>{1, 2, 2, 0, 1, 0, 2, 2}));
}

void InTop(RefCall<double>& r, int64_t k) {
  const int64_t rows = r.in[0].shape.dim(0), classes = r.in[0].shape.dim(1);
  r.out = {Array<double>(Shape{rows})};
  for (int64_t row = 0; row < rows; ++row) {
    const auto target = static_cast<int64_t>(r.in[1][row]);
    if (target < 0 || target >= classes) continue;
    int64_t better = 0;
    for (int64_t i = 0; i < classes; ++i)
      better += r.in[0].At({row, i}) > r.in[0].At({row, target});
    r.out[0][row] = better < k;
  }
}

TEST(TopKTest, InTopK) {
  OpCase("InTopKV2")
      .Reference([](RefCall<double>& r) { InTop(r, static_cast<int64_t>(r.in[2][0])); })
      .Try({In({9, 7}).Distinct(), In({9}).Range(0, 6), In({}, {3})})
      .Try({In({3, 2}), In({3}, {0, 2, -1}), In({}, {1})})
      .Try({In({0, 2}), In({0}), In({}, {1})})
      .Bad({In({3, 2}), In({2}, {0, 1}), In({}, {1})}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 3 and 2 for ",
           "First dimension of predictions 3 must match length of targets 2")
      .Run();
  OpCase("InTopK")
      .Reference([](RefCall<double>& r) { InTop(r, r.Attr<int64_t>("k")); })
      .Try({In({9, 7}).Distinct(), In({9}).Range(0, 6)}, {{"k", 3}})
      .Run();
  const float row[] = {1, 2, std::nanf("")};
  const Tensor predictions = Tensor::Of<float>(row, Shape{1, 3});
  const Tensor in = (*RunOp("InTopK", {predictions, Tensor::Vector<int32_t>({1})}, {{"k", 3}}))[0];
  EXPECT_FALSE(in.data<bool>()[0]);
}

}  // namespace
}  // namespace thalweg
