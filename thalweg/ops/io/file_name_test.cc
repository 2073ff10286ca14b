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

}  // namespace
}  // namespace thalweg
