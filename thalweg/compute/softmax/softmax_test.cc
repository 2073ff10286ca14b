// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

// log_softmax of one row, in double.
template <class T>
std::vector<double> LogSoftmaxOf(const T* x, int64_t n) {
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) max = std::max(max, ToDouble(x[i]));
  for (int64_t i = 0; i < n; ++i) sum += std::exp(ToDouble(x[i]) - max);
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i) y.push_back(ToDouble(x[i]) - max - std::log(sum));
  return y;
}

template <class T>
void CheckAll(IsaLevel level, int64_t rows, int64_t classes, double tolerance) {
  const auto x = RandomValues<T>(rows * classes, -8, 8),
             labels = RandomValues<T>(rows * classes, 0, 1, 2);
  std::vector<T> y(x.size()), z(x.size()), loss(static_cast<size_t>(rows)), grad(x.size()),
      sparse_loss(loss), sparse_grad(x.size());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < rows; ++i) places.push_back(i * 7 % classes);
  TestWork work(level, 2);
  constexpr DType kType = kDTypeOf<T>;
  ASSERT_TRUE(Softmax(work, kType, rows, classes, x.data(), y.data()).ok());
  ASSERT_TRUE(LogSoftmax(work, kType, rows, classes, x.data(), z.data()).ok());
  ASSERT_TRUE(CrossEntropy(work, kType, rows, classes, {classes, 1, classes, 1}, x.data(),
                           labels.data(), loss.data(), grad.data())
                  .ok());
  ASSERT_TRUE(SparseCrossEntropy(work, kType, rows, classes, x.data(), DType::kInt64, places.data(),
                                 sparse_loss.data(), sparse_grad.data())
                  .ok());
  for (int64_t i = 0; i < rows; ++i) {
    const auto expected = LogSoftmaxOf(x.data() + i * classes, classes);
    double row_loss = 0, label_sum = 0;
    for (int64_t j = 0; j < classes; ++j) {
      const int64_t at = i * classes + j;
      const double p = std::exp(expected[j]), label = ToDouble(labels[at]);
      ASSERT_NEAR(ToDouble(y[at]), p, tolerance) << IsaLevelName(level) << " classes " << classes;
      ASSERT_NEAR(ToDouble(z[at]), expected[j], 20 * tolerance);
      ASSERT_NEAR(ToDouble(grad[at]), p - label, tolerance);
      ASSERT_NEAR(ToDouble(sparse_grad[at]), p - (j == places[i] ? 1 : 0), tolerance);
      row_loss -= label * expected[j];
      label_sum += label;
    }
    ASSERT_NEAR(ToDouble(loss[i]), row_loss, tolerance * 20 * label_sum + tolerance);
    ASSERT_NEAR(ToDouble(sparse_loss[i]), -expected[places[i]], 20 * tolerance);
  }
}

TEST(SoftmaxTest, AgreesWithTheDefinition) {
  for (IsaLevel level : TestLevels()) {
    for (auto [rows, classes] :
         {std::pair<int64_t, int64_t>{1, 1}, {5, 10}, {3, 33}, {200, 257}, {2, 20001}}) {
      CheckAll<float>(level, rows, classes, 1e-6);
      CheckAll<double>(level, rows, classes, 1e-14);
      if (classes < 300) CheckAll<Half>(level, rows, classes, 2e-3);
      if (classes < 300) CheckAll<Bfloat16>(level, rows, classes, 1.6e-2);
    }
  }
}

TEST(SoftmaxTest, InPlaceAndLargeLogits) {
  std::vector<float> x = {1e30f, -1e30f, 88, 88, 88, -INFINITY};
  TestWork work;
  ASSERT_TRUE(LogSoftmax(work, DType::kFloat, 3, 2, x.data(), x.data()).ok());
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[2], -std::log(2.0), 1e-6);
  EXPECT_EQ(x[5], -INFINITY);
  x = {1e30f, -1e30f};
  ASSERT_TRUE(Softmax(work, DType::kFloat, 1, 2, x.data(), x.data()).ok());
  EXPECT_EQ(x, (std::vector<float>{1, 0}));
}

TEST(CrossEntropyTest, BroadcastOperands) {
  const std::vector<float> logits = {1, 2, 3}, labels = {0.5f, 0.25f};
  std::vector<float> loss(2), grad(6);
  TestWork work;
  // Logits: one row for all; labels: one value per row for all classes.
  ASSERT_TRUE(CrossEntropy(work, DType::kFloat, 2, 3, {0, 1, 1, 0}, logits.data(), labels.data(),
                           loss.data(), grad.data())
                  .ok());
  const auto expected = LogSoftmaxOf(logits.data(), 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(loss[i], -labels[i] * (expected[0] + expected[1] + expected[2]), 1e-6);
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(grad[i * 3 + j], std::exp(expected[j]) - labels[i], 1e-6);
  }
  // Logits: one value per row.
  ASSERT_TRUE(CrossEntropy(work, DType::kFloat, 2, 3, {1, 0, 0, 1}, logits.data(), logits.data(),
                           loss.data(), grad.data())
                  .ok());
  EXPECT_NEAR(loss[0], 6 * std::log(3.0), 1e-5);
}

TEST(CrossEntropyTest, LabelsOutsideTheClassesAreErrors) {
  const std::vector<float> x(6);
  std::vector<float> loss(2), grad(6);
  TestWork work;
  for (int32_t bad : {-1, 3}) {
    const std::vector<int32_t> labels = {0, bad};
    const Status status = SparseCrossEntropy(work, DType::kFloat, 2, 3, x.data(), DType::kInt32,
                                             labels.data(), loss.data(), grad.data());
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("label"), std::string_view::npos);
  }
}

TEST(SoftmaxTest, EmptyAndMissingTypes) {
  TestWork work;
  EXPECT_TRUE(Softmax(work, DType::kFloat, 0, 5, nullptr, nullptr).ok());
  EXPECT_TRUE(Softmax(work, DType::kFloat, 5, 0, nullptr, nullptr).ok());
  float loss[2] = {1, 1};
  EXPECT_TRUE(
      CrossEntropy(work, DType::kFloat, 2, 0, {0, 1, 0, 1}, nullptr, nullptr, loss, nullptr).ok());
  EXPECT_EQ(loss[1], 0);
  EXPECT_EQ(Softmax(work, DType::kInt32, 1, 1, nullptr, nullptr).code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg::compute
