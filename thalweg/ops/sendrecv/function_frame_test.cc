// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(FunctionFrameTest, HasNoValueOutsideACall) {
  EXPECT_EQ(KernelCall("_Arg", {}, {{"T", DType::kFloat}, {"index", 0}}).Run().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(KernelCall("_Retval", {Tensor::Scalar(1)}, {{"index", 0}}).Run().code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace thalweg
