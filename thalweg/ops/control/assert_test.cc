// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(AssertTest, AFalseConditionShowsTheData) {
  const std::vector<Tensor> inputs = {Tensor::Scalar(false), Tensor::Scalar("x must be positive"),
                                      Tensor::Vector<float>({1, -2.5, 3, 4}),
                                      Tensor::Vector<bool>({true, false})};
  const Status status = RunOp("Assert", inputs).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("assertion failed: [x must be positive] [1 -2.5 3...] [1 0]"),
            std::string::npos)
      << status.ToString();
  EXPECT_NE(RunOp("Assert", inputs, {{"summarize", -1}}).status().message().find("[1 -2.5 3 4]"),
            std::string::npos);
}

TEST(AssertTest, ATrueConditionIsSilentAndAVectorRefused) {
  EXPECT_TRUE(RunOp("Assert", {Tensor::Scalar(true), Tensor::Scalar(1)}).ok());
  EXPECT_EQ(RunOp("Assert", {Tensor::Vector<bool>({true}), Tensor::Scalar(1)}).status().code(),
            Code::kInvalidArgument);
}

TEST(AbortTest, IsAnErrorAndNothingMore) {
  for (bool quiet : {false, true}) {
    const Status status =
        RunOp("Abort", {}, {{"error_msg", "enough"}, {"exit_without_error", quiet}}).status();
    EXPECT_EQ(status.code(), Code::kAborted);
    EXPECT_NE(status.message().find("enough"), std::string::npos);
  }
}

}  // namespace
}  // namespace thalweg
