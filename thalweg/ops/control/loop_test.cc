// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(LoopTest, KernelsPassTheValueOn) {
  const Tensor value = Tensor::Vector<float>({1, 2});
  for (std::string_view op : {"Enter", "Exit", "NextIteration"}) {
    KernelCall call(op, {value}, op == "Enter" ? AttrMap{{"frame_name", "loop"}} : AttrMap());
    ASSERT_TRUE(call.Run().ok());
    EXPECT_TRUE(call.output(0).SharesBufferWith(value)) << op;
  }
  KernelCall condition("LoopCond", {Tensor::Scalar(true)});
  ASSERT_TRUE(condition.Run().ok());
  EXPECT_TRUE(condition.output(0).scalar<bool>());
}

TEST(LoopTest, AConditionIsAScalar) {
  KernelCall call("LoopCond", {Tensor::Vector<bool>({true})});
  EXPECT_EQ(call.Run().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
