// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(IdentityTest, PassesEveryTypeOn) {
  for (const char* op :
       {"Copy", "CopyHost", "DeepCopy", "GuaranteeConst", "Identity", "Snapshot", "StopGradient"}) {
    EveryElementType(op)
        .Reference([](auto& r) { r.out = {r.in[0]}; })
        .Try({In({2, 3})})
        .Try({In({})})
        .Try({In({0, 4})})
        .Trivial("it passes its input on")
        .Run();
  }
}

TEST(IdentityTest, PreventGradientPassesTheValueOnOnly) {
  EveryElementType("PreventGradient")
      .Reference([](auto& r) { r.out = {r.in[0]}; })
      .Try({In({2, 3})})
      .Trivial("it passes its input on")
      .NoGradient("refused on purpose")
      .Run();
}

TEST(IdentityTest, ManyInputsOfManyTypes) {
  OpCase("IdentityN")
      .Types({})
      .Reference([](auto& r) { r.out = r.in; })
      .Try({In({2, 3}), In({4})}, {{"T", std::vector<DType>{DType::kDouble, DType::kInt32}}})
      .Trivial("it passes its inputs on")
      .NoGradient("lists of types are compared by the case of Identity")
      .Run();
}

TEST(IdentityTest, SharesTheBufferAndDeepCopyDoesNot) {
  const Tensor text = Tensor::Of<std::string>(std::vector<std::string>{"a", "b"}, Shape{2});
  KernelCall identity("Identity", {text});
  ASSERT_TRUE(identity.Run().ok());
  EXPECT_TRUE(identity.output(0).SharesBufferWith(text));
  KernelCall copy("DeepCopy", {text});
  ASSERT_TRUE(copy.Run().ok());
  EXPECT_FALSE(copy.output(0).SharesBufferWith(text));
  EXPECT_EQ(copy.output(0).data<std::string>()[1], "b");
}

TEST(IdentityTest, AHandleIsNoConstant) {
  KernelCall call("GuaranteeConst", {Tensor::Scalar(ResourceHandle())});
  const Status status = call.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
}

}  // namespace
}  // namespace thalweg
