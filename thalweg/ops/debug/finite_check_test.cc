// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <limits>

#include "thalweg/resources/variable.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
const float kNoNumber = std::numeric_limits<float>::quiet_NaN();

// What a check says of a node that made `value` of `inputs`, called a, b ...
Status Check(const std::vector<Tensor>& inputs, const Tensor& value, bool only_nan = false,
             uint64_t tag = 0, std::string loop = "") {
  std::vector<Tensor> all = inputs;
  all.push_back(value);
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back(std::string(1, char('a' + i)));
  KernelCall call(
      "_CheckFinite", all,
      {{"input_names", names}, {"only_nan", only_nan}, {"loop", loop}, {"what", "output 1"}});
  Status status = call.Run(tag);
  if (status.ok()) {
    EXPECT_TRUE(call.output(0).SharesBufferWith(value) || value.num_elements() < 2);
  }
  return status;
}

TEST(FiniteCheckTest, AFiniteValueIsHandedOn) {
  EXPECT_TRUE(Check({}, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_TRUE(Check({Tensor::Vector<float>({kNoNumber})}, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_TRUE(Check({}, Tensor::Vector<float>({})).ok());
}

TEST(FiniteCheckTest, WhoMakesItOfFiniteNumbersIsBlamed) {
  const Status status =
      Check({Tensor::Vector<float>({-1, 0, 2.5F}), Tensor::Scalar(3.0)},
            Tensor::Of<float>(std::vector<float>{1, kNoNumber, 2, kNoNumber}, Shape{2, 2}));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("the first value that is not finite: output 1 has NaN (2 of 4 elements, the "
                "first at [0,1]); given: a, float32[3] from -1 to 2.5; b, float64[] of 3"));
}

TEST(FiniteCheckTest, WhoWasGivenTheKindIsNot) {
  const Tensor inf = Tensor::Vector<float>({-kInfinite}), nan = Tensor::Vector<float>({kNoNumber});
  EXPECT_TRUE(Check({inf}, inf).ok());
  EXPECT_TRUE(Check({nan}, nan).ok());
  EXPECT_TRUE(Check({nan}, inf).ok());
  EXPECT_FALSE(Check({inf}, nan).ok());  // Inf - Inf
  EXPECT_THAT(std::string(Check({inf}, nan).message()), HasSubstr("given: a, float32[1] of -Inf"));
}

TEST(FiniteCheckTest, OfASourceOnlyNanCounts) {
  EXPECT_TRUE(Check({}, Tensor::Vector<float>({kInfinite, -kInfinite}), true).ok());
  EXPECT_THAT(std::string(Check({}, Tensor::Vector<float>({kInfinite, kNoNumber}), true).message()),
              HasSubstr("output 1 has NaN"));
}

TEST(FiniteCheckTest, SaysTheIteration) {
  EXPECT_THAT(
      std::string(
          Check({}, Tensor::Scalar(kInfinite), false, (uint64_t{7} << 32) + 12, "loop").message()),
      HasSubstr("has Inf (the scalar), in iteration 12 of loop 'loop'"));
}

TEST(FiniteCheckTest, AllFloatingTypes) {
  EXPECT_FALSE(Check({}, Tensor::Scalar(double{kInfinite})).ok());
  EXPECT_FALSE(Check({}, Tensor::Scalar(Half(kNoNumber))).ok());
  EXPECT_FALSE(Check({}, Tensor::Scalar(Bfloat16(kNoNumber))).ok());
  EXPECT_THAT(
      std::string(
          Check({}, Tensor::Vector<std::complex<float>>({{0, 0}, {0, kInfinite}})).message()),
      HasSubstr("1 of 2 elements, the first at [1]"));
  EXPECT_FALSE(Check({}, Tensor::Scalar(std::complex<double>(kNoNumber, kNoNumber))).ok());
  EXPECT_TRUE(Check({}, Tensor::Scalar(1)).ok());
  EXPECT_TRUE(Check({}, Tensor::Scalar(std::string("text"))).ok());
}

TEST(FiniteCheckTest, NamesFitTheInputs) {
  KernelCall call("_CheckFinite", {Tensor::Scalar(1.0F)},
                  {{"input_names", std::vector<std::string>{"a"}}, {"what", "output 0"}});
  EXPECT_EQ(call.Run().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
