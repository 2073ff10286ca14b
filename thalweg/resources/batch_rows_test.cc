// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/batch_rows.h"

#include <gtest/gtest.h>

#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

TEST(BatchRowsTest, RowsBecomeABatch) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  Tensor a = Tensor::Vector<int32_t>({1, 2}), b = Tensor::Vector<int32_t>({3, 4});
  Tensor* const rows[] = {&a, &b};
  const Result<Tensor> batch = BatchOfRows(*allocator, rows);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->ToString(), "int32[2,2] 1 2 3 4");
  Tensor scalar = Tensor::Scalar(5.5);
  Tensor* const same[] = {&scalar, &scalar, &scalar};
  EXPECT_EQ(BatchOfRows(*allocator, same)->ToString(), "float64[3] 5.5 5.5 5.5");
}

// Long enough to lie outside of the std::string itself.
const std::string kLong(100, 'x');

TEST(BatchRowsTest, StringsThatNobodyElseSeesAreMoved) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  Tensor own = Tensor::Scalar(kLong), shared = Tensor::Scalar(kLong + "y");
  const Tensor other = shared;
  const char* const bytes = own.scalar<std::string>().data();
  Tensor* const rows[] = {&own, &shared, &shared};
  const Result<Tensor> batch = BatchOfRows(*allocator, rows);
  ASSERT_TRUE(batch.ok());
  const auto texts = batch->flat<std::string>();
  EXPECT_EQ(texts[0].data(), bytes);
  EXPECT_EQ(texts[1], kLong + "y");
  EXPECT_EQ(texts[2], kLong + "y");
  EXPECT_EQ(other.scalar<std::string>(), kLong + "y");
}

TEST(BatchRowsTest, StringsCountAgainstTheLimit) {
  const AllocatorPtr allocator = MakeCpuAllocator(int64_t{1} << 20);
  Tensor large = Tensor::Scalar(std::string(size_t{2} << 20, 'x'));
  Tensor* const rows[] = {&large};
  EXPECT_EQ(BatchOfRows(*allocator, rows).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(large.scalar<std::string>().size(), size_t{2} << 20);
}

}  // namespace
}  // namespace thalweg
