// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

Tensor Matrix(std::initializer_list<float> values, int64_t cols) {
  const Tensor t = Tensor::Vector<float>(values);
  return *t.Reshaped(Shape{t.num_elements() / cols, cols});
}

TEST(DynamicStitchTest, RowsGoWhereTheirIndicesSayAndTheLastWins) {
  KernelCall stitch("DynamicStitch",
                    {Tensor::Scalar<int32_t>(3), Tensor::Vector<int32_t>({0, 3}),
                     Tensor::Vector<float>({9, 9}), Matrix({1, 2, 3, 4}, 2)},
                    {{"N", 2}});
  const Status status = stitch.Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(stitch.output(0).shape(), (Shape{4, 2}));
  const auto* out = stitch.output(0).data<float>();
  EXPECT_EQ(std::vector<float>(out, out + 8), (std::vector<float>{1, 2, 0, 0, 0, 0, 3, 4}));
}

TEST(DynamicStitchTest, TextAndEmptyIndices) {
  KernelCall stitch("DynamicStitch",
                    {Tensor::Vector<int32_t>({1, 0}), Tensor::Vector<std::string>({"b", "a"})},
                    {{"N", 1}});
  ASSERT_TRUE(stitch.Run().ok());
  EXPECT_EQ(stitch.output(0).data<std::string>()[0], "a");
  KernelCall none("DynamicStitch",
                  {*Tensor::AllocateHost(DType::kInt32, Shape{0}),
                   *Tensor::AllocateHost(DType::kFloat, Shape{0, 3})},
                  {{"N", 1}});
  ASSERT_TRUE(none.Run().ok());
  EXPECT_EQ(none.output(0).shape(), (Shape{0, 3}));
}

TEST(DynamicStitchTest, BadArguments) {
  EXPECT_EQ(KernelCall("DynamicStitch", {Tensor::Vector<int32_t>({-1}), Tensor::Vector<float>({1})},
                       {{"N", 1}})
                .Run()
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(KernelCall("DynamicStitch",
                       {Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<float>({1})}, {{"N", 1}})
                .Run()
                .code(),
            Code::kInvalidArgument);
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const Status many =
      KernelCall("DynamicStitch", {Tensor::Vector<int32_t>({kMost}), Tensor::Vector<float>({1})},
                 {{"N", 1}})
          .Run();
  EXPECT_EQ(many.code(), Code::kInvalidArgument) << many.ToString();
}

TEST(DynamicPartitionTest, SortsRowsIntoPartitions) {
  KernelCall split("DynamicPartition",
                   {Matrix({1, 2, 3, 4, 5, 6}, 2), Tensor::Vector<int32_t>({1, 0, 1})},
                   {{"num_partitions", 3}});
  ASSERT_TRUE(split.Run().ok());
  EXPECT_EQ(split.output(0).shape(), (Shape{1, 2}));
  EXPECT_EQ(split.output(1).shape(), (Shape{2, 2}));
  EXPECT_EQ(split.output(1).data<float>()[2], 5.0f);
  EXPECT_EQ(split.output(2).shape(), (Shape{0, 2}));
}

TEST(DynamicPartitionTest, BadArguments) {
  EXPECT_EQ(
      KernelCall("DynamicPartition", {Tensor::Vector<float>({1}), Tensor::Vector<int32_t>({3})},
                 {{"num_partitions", 3}})
          .Run()
          .code(),
      Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
