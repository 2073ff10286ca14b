// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(WholeFileTest, WhatIsWrittenIsRead) {
  TemporaryDirectory directory;
  const Tensor name = Tensor::Scalar(directory.Path("a/b/c"));
  const std::string bytes("x\0y\n", 4);
  ASSERT_TRUE(RunOp("WriteFile", {name, Tensor::Scalar(std::string(1000, 'z'))}).ok());
  ASSERT_TRUE(RunOp("WriteFile", {name, Tensor::Scalar(bytes)}).ok());
  const auto read = RunOp("ReadFile", {name});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ((*read)[0].scalar<std::string>(), bytes);
}

TEST(WholeFileTest, ErrorsNameTheFile) {
  TemporaryDirectory directory;
  const Tensor folder = Tensor::Scalar(directory.path()), text = Tensor::Scalar("x");
  const Status missing = RunOp("ReadFile", {Tensor::Scalar(directory.Path("none"))}).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_NE(missing.ToString().find("none"), std::string::npos) << missing.ToString();
  EXPECT_EQ(RunOp("ReadFile", {folder}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(RunOp("WriteFile", {folder, text}).status().code(), Code::kFailedPrecondition);
  const Tensor two = Tensor::Vector<std::string>({"a", "b"});
  EXPECT_EQ(RunOp("ReadFile", {two}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RunOp("WriteFile", {two, text}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RunOp("WriteFile", {text, two}).status().code(), Code::kInvalidArgument);
}

TEST(WholeFileTest, MatchesOfAllPatternsAreSorted) {
  TemporaryDirectory directory;
  for (const char* name : {"a", "b.txt", "c.txt"}) {
    ASSERT_TRUE(
        RunOp("WriteFile", {Tensor::Scalar(directory.Path(name)), Tensor::Scalar("")}).ok());
  }
  const auto found =
      RunOp("MatchingFiles",
            {Tensor::Vector<std::string>({directory.Path("*.txt"), directory.Path("[a]"),
                                          directory.Path("nothing"), directory.Path("b*")})});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  const Tensor& names = (*found)[0];
  ASSERT_EQ(names.shape(), Shape{4});
  EXPECT_EQ(names.data<std::string>()[0], directory.Path("a"));
  EXPECT_EQ(names.data<std::string>()[1], directory.Path("b.txt"));
  EXPECT_EQ(names.data<std::string>()[2], directory.Path("b.txt"));
  EXPECT_EQ(names.data<std::string>()[3], directory.Path("c.txt"));
  const auto none = RunOp("MatchingFiles", {Tensor::Scalar(directory.Path("x*"))});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)[0].shape(), Shape{0});
  const auto matrix = RunOp(
      "MatchingFiles", {Tensor::Of<std::string>(std::vector<std::string>{"a", "b"}, Shape{1, 2})});
  EXPECT_EQ(matrix.status().code(), Code::kInvalidArgument);
}

TEST(WholeFileTest, ACancelledStepLooksForNoMorePatterns) {
  KernelCall call("MatchingFiles", {Tensor::Scalar("/*")});
  call.cancellation().Cancel();
  EXPECT_EQ(call.Run().code(), Code::kCancelled);
}

}  // namespace
}  // namespace thalweg
