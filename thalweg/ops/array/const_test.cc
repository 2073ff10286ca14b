// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(ConstTest, GivesItsValueWithoutACopy) {
  const Tensor value = Tensor::Vector<float>({1, 2, 3});
  for (const char* op : {"Const", "HostConst"}) {
    KernelCall call(op, {}, {{"value", value}, {"dtype", DType::kFloat}});
    ASSERT_TRUE(call.Run().ok());
    EXPECT_TRUE(call.output(0).SharesBufferWith(value));
    EXPECT_EQ(call.node().output_shape(0), (PartialShape{3}));
  }
}

TEST(ConstTest, RefusesAValueOfAnotherType) {
  KernelCall call("Const", {}, {{"value", Tensor::Scalar(1)}, {"dtype", DType::kFloat}});
  EXPECT_EQ(call.Run().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
