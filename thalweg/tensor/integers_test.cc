// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/integers.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(IntegersTest, ReadsScalarsAndVectorsOfEveryIndexType) {
  EXPECT_EQ(*IntScalar(Tensor::Scalar(int8_t{-3}), "axis"), -3);
  EXPECT_EQ(*IntScalar(Tensor::Scalar(uint32_t{4000000000u}), "axis"), 4000000000);
  EXPECT_EQ(*IntVector(Tensor::Vector<int16_t>({1, -2}), "perm"), (Dims{1, -2}));
  EXPECT_EQ(*ShapeOf(Tensor::Vector<int64_t>({2, 0}), "dims"), (Shape{2, 0}));
}

TEST(IntegersTest, RefusesWhatIsNotOne) {
  const Status rank = IntScalar(Tensor::Vector<int32_t>({1}), "axis").status();
  EXPECT_EQ(rank.code(), Code::kInvalidArgument);
  EXPECT_EQ(rank.message(), "axis must be a scalar of integers, got int32[1]");
  EXPECT_FALSE(IntVector(Tensor::Scalar(1.0f), "perm").ok());
  EXPECT_FALSE(IntVector(Tensor(), "perm").ok());
  EXPECT_FALSE(ShapeOf(Tensor::Vector<int32_t>({2, -1}), "dims").ok());
  EXPECT_FALSE(ShapeOf(Tensor::Vector<int64_t>({INT64_MAX, 2}), "dims").ok());
  EXPECT_FALSE(IntVector(*Tensor::AllocateHost(DType::kInt32, Shape{255}), "dims").ok());
}

TEST(IntegersTest, AxesCountFromTheEndToo) {
  EXPECT_EQ(*NormalizeAxis(-1, 3, "axis"), 2);
  EXPECT_EQ(*NormalizeAxis(0, 3, "axis"), 0);
  EXPECT_FALSE(NormalizeAxis(3, 3, "axis").ok());
  EXPECT_FALSE(NormalizeAxis(INT64_MIN, 3, "axis").ok());
}

TEST(IntegersTest, IndicesAreCheckedAndNamed) {
  AllocatorPtr allocator = MakeCpuAllocator();
  const Tensor wide = Tensor::Vector<int64_t>({0, 2});
  EXPECT_TRUE(CheckedIndices(*allocator, wide, 3, "indices")->SharesBufferWith(wide));
  EXPECT_EQ(
      CheckedIndices(*allocator, Tensor::Vector<int32_t>({1, 2}), 3, "indices")->data<int64_t>()[1],
      2);
  const std::vector<int32_t> bad = {0, 1, 7, 0};
  EXPECT_EQ(CheckedIndices(*allocator, Tensor::Of<int32_t>(bad, Shape{2, 2}), 3, "indices")
                .status()
                .message(),
            "indices[1,0] = 7 is not in [0, 3)");
  EXPECT_FALSE(CheckedIndices(*allocator, Tensor::Scalar(-1), 3, "indices").ok());
  EXPECT_FALSE(CheckedIndices(*allocator, Tensor::Scalar(1.0f), 3, "indices").ok());
}

}  // namespace
}  // namespace thalweg
