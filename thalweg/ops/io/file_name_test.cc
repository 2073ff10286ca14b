// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(FileNameTest, ShardsAreNumbered) {
  KernelCall name("ShardedFilename",
                  {Tensor::Scalar("a/b"), Tensor::Scalar(1), Tensor::Scalar(12)});
  ASSERT_TRUE(name.Run().ok());
  EXPECT_EQ(name.output(0).scalar<std::string>(), "a/b-00001-of-00012");
  KernelCall pattern("ShardedFilespec", {Tensor::Scalar("a/b"), Tensor::Scalar(12)});
  ASSERT_TRUE(pattern.Run().ok());
  EXPECT_EQ(pattern.output(0).scalar<std::string>(), "a/b-?\?\?\?\?-of-00012");
}

TEST(StringJoinTest, ScalarsJoinWithEveryElement) {
  KernelCall join("StringJoin", {Tensor::Scalar("x"), Tensor::Vector<std::string>({"a", "", "c"})},
                  {{"N", 2}, {"separator", "-"}});
  ASSERT_TRUE(join.Run().ok());
  EXPECT_EQ(join.output(0).data<std::string>()[0], "x-a");
  EXPECT_EQ(join.output(0).data<std::string>()[1], "x-");
  EXPECT_EQ(join.output(0).shape(), Shape{3});
}

TEST(StringJoinTest, ShapesMustAgree) {
  const std::vector<Tensor> parts = {Tensor::Vector<std::string>({"a", "b"}),
                                     Tensor::Vector<std::string>({"c"})};
  EXPECT_EQ(KernelCall("StringJoin", parts, {{"N", 2}}).Run().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
