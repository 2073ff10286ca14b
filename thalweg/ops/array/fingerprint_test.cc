// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const Tensor kMethod = Tensor::Scalar("farmhash64");

void Expect(const Tensor& data, const std::vector<uint8_t>& expected) {
  const auto got = RunOp("Fingerprint", {data, kMethod});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_TRUE(std::ranges::equal((*got)[0].flat<uint8_t>(), expected)) << (*got)[0].ToString();
}

// Recorded with TensorFlow 2.21.
TEST(FingerprintOpTest, OfRows) {
  std::vector<int32_t> numbers(6);
  std::iota(numbers.begin(), numbers.end(), 0);
  Expect(Tensor::Of<int32_t>(numbers, Shape{2, 3}),
         {226, 97, 231, 35, 137, 217, 164, 52, 135, 205, 247, 214, 112, 21, 177, 81});
  Expect(Texts({"abc", std::string(100, 'x')}, Shape{2}),
         {105, 243, 231, 116, 160, 179, 165, 36, 31, 138, 86, 84, 184, 22, 118, 91});
  Expect(Texts({"abc", "de"}, Shape{1, 2}), {233, 237, 232, 132, 79, 140, 59, 169});
  Expect(Texts({"abc"}, Shape{1, 1}), {105, 243, 231, 116, 160, 179, 165, 36});
  Expect(Tensor::Of<float>(std::vector<float>(), Shape{0, 2}), {});
  Expect(Tensor::Of<float>(std::vector<float>(), Shape{1, 0}),
         {79, 64, 144, 47, 59, 106, 225, 154});
}

TEST(FingerprintOpTest, Refusals) {
  const Tensor data = Tensor::Vector<float>({1});
  for (const auto& [x, method] :
       std::vector<std::pair<Tensor, Tensor>>{{Tensor::Scalar(1.0f), kMethod},
                                              {data, Tensor::Scalar("md5")},
                                              {data, Texts({"farmhash64"}, Shape{1})}}) {
    EXPECT_EQ(RunOp("Fingerprint", {x, method}).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace thalweg
