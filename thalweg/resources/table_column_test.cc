// SPDX-License-Identifier: Apache-2.0
// TableColumn and DenseBuckets: how the rows of a lookup table lie.
#include "thalweg/resources/table_column.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/resources/dense_buckets.h"
#include "thalweg/resources/test_variants.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

using Texts = std::vector<std::string>;

Tensor NewTensor(DType dtype, const Shape& shape) { return *Tensor::AllocateHost(dtype, shape); }

TEST(TableColumnTest, RowsAreCopiedInAndOut) {
  const Tensor in = Tensor::Of<int32_t>(std::vector<int32_t>{1, 2, 3, 4}, Shape{2, 2});
  TableColumn column(DType::kInt32, 2);
  column.Set(0, in, 1);
  column.Set(1, in, 0);
  Tensor out = NewTensor(DType::kInt32, Shape{2, 2});
  column.Get(0, out, 0);
  column.Get(1, out, 1);
  EXPECT_EQ(std::vector<int32_t>(out.flat<int32_t>().begin(), out.flat<int32_t>().end()),
            (std::vector<int32_t>{3, 4, 1, 2}));
  EXPECT_TRUE(column.Equals(0, in, 1));
  EXPECT_FALSE(column.Equals(0, in, 0));
}

TEST(TableColumnTest, TheLastRowTakesThePlaceOfARemovedOne) {
  const Tensor in = Tensor::Vector<int64_t>({10, 20, 30});
  TableColumn column(DType::kInt64, 1);
  for (int64_t i = 0; i < 3; ++i) column.Set(i, in, i);
  column.MoveLastTo(0);
  EXPECT_TRUE(column.Equals(0, in, 2));
  EXPECT_TRUE(column.Equals(1, in, 1));
  column.MoveLastTo(1);  // itself
  EXPECT_TRUE(column.Equals(0, in, 2));
}

TEST(TableColumnTest, TextBytesAreThoseOfTheTextsThatAreThere) {
  const std::string longer(100, 'x'), longest(200, 'y');
  const Tensor in = Tensor::Vector<std::string>({longer, "short", longest});
  TableColumn column(DType::kString, 1);
  for (int64_t i = 0; i < 3; ++i) column.Set(i, in, i);
  EXPECT_EQ(column.TextBytes(), TextHeapBytes(100) + TextHeapBytes(200));
  column.Set(1, in, 2);
  EXPECT_EQ(column.TextBytes(), TextHeapBytes(100) + 2 * TextHeapBytes(200));
  column.MoveLastTo(0);
  EXPECT_EQ(column.TextBytes(), 2 * TextHeapBytes(200));
  column.Clear();
  EXPECT_EQ(column.TextBytes(), 0u);
}

TEST(TableColumnTest, VariantsAndHandlesLieInRowsToo) {
  Tensor variants = NewTensor(DType::kVariant, Shape{2});
  variants.mutable_data<Variant>()[1] = Variant(std::make_shared<const OptionalValue>());
  TableColumn column(DType::kVariant, 1);
  column.Set(0, variants, 0);
  column.Set(1, variants, 1);
  column.MoveLastTo(0);
  Tensor out = NewTensor(DType::kVariant, Shape{1});
  column.Get(0, out, 0);
  EXPECT_EQ(out.scalar<Variant>().get(), variants.data<Variant>()[1].get());
  EXPECT_FALSE(column.Equals(0, variants, 1)) << "variants have no equality";

  Tensor handles = NewTensor(DType::kResource, Shape{2});
  handles.mutable_data<ResourceHandle>()[1] = ResourceHandle({.name = "q"}, {});
  TableColumn second(DType::kResource, 1);
  second.Set(0, handles, 1);
  Tensor back = NewTensor(DType::kResource, Shape{1});
  second.Get(0, back, 0);
  EXPECT_EQ(back.scalar<ResourceHandle>().place()->name, "q");
}

TEST(TableColumnTest, RowsOfNoElementsTakeNothing) {
  const Tensor in = NewTensor(DType::kFloat, Shape{3, 0});
  TableColumn column(DType::kFloat, 0);
  for (int64_t i = 0; i < 3; ++i) column.Set(i, in, i);
  column.MoveLastTo(1);
  EXPECT_EQ(column.RowBytes(), 0u);
  EXPECT_TRUE(column.Equals(1, in, 2));
}

// Keys of int64, whose hash is the number itself, so that a test says where they lie.
class DenseBucketsTest : public testing::Test {
 protected:
  void Insert(const std::vector<int64_t>& keys, float value) {
    const auto n = static_cast<int64_t>(keys.size());
    const std::vector<float> values(keys.size(), value);
    buckets_.Insert(Tensor::Of<int64_t>(keys, Shape{n}), Tensor::Of<float>(values, Shape{n}), n);
  }
  float Find(int64_t key) {
    Tensor found = Tensor::Vector<float>({-1});
    const bool there = buckets_.Find(Tensor::Vector<int64_t>({key}), 0, found);
    EXPECT_EQ(there, found.data<float>()[0] != -1) << "a row that is not found stays as it was";
    return found.data<float>()[0];
  }
  std::vector<int64_t> Layout() {
    const auto exported = *buckets_.Export(*allocator_, Shape());
    EXPECT_EQ(exported.second.dim(0), exported.first.dim(0));
    const auto keys = exported.first.flat<int64_t>();
    return {keys.begin(), keys.end()};
  }
  static constexpr int64_t kEmpty = -1, kDeleted = -2;
  AllocatorPtr allocator_ = MakeCpuAllocator();
  DenseBuckets buckets_{
      Tensor::Scalar(kEmpty), Tensor::Scalar(kDeleted), DType::kFloat, 1, 8, 0.75F};
};

TEST_F(DenseBucketsTest, AKeyLiesInTheBucketOfItsHashOrQuadraticallyBehindIt) {
  Insert({3}, 1), Insert({11}, 2), Insert({19}, 3);  // all of them hash to bucket 3
  EXPECT_EQ(Layout(), (std::vector<int64_t>{-1, -1, -1, 3, 11, -1, 19, -1}));
  EXPECT_EQ(Find(19), 3);
  EXPECT_EQ(Find(27), -1);
  Insert({11}, 5);
  EXPECT_EQ(Find(11), 5);
  EXPECT_EQ(buckets_.size(), 3);
}

TEST_F(DenseBucketsTest, ARemovedKeyLeavesAMarkThatALaterOneTakes) {
  Insert({3, 11}, 1);
  buckets_.Remove(Tensor::Vector<int64_t>({3}), 0);
  buckets_.Remove(Tensor::Vector<int64_t>({100}), 0);
  EXPECT_EQ(buckets_.size(), 1);
  EXPECT_EQ(Layout(), (std::vector<int64_t>{-1, -1, -1, kDeleted, 11, -1, -1, -1}));
  EXPECT_EQ(Find(11), 1) << "the way to what lies behind stays";
  EXPECT_EQ(Find(3), -1);
  Insert({19}, 7);
  EXPECT_EQ(Layout()[3], 19);
}

TEST_F(DenseBucketsTest, BucketsDoubleWhenTheLoadWouldBePassed) {
  Insert({0, 1, 2, 3, 4, 5}, 1);
  EXPECT_EQ(Layout().size(), 8u);
  Insert({6}, 2);
  EXPECT_EQ(Layout().size(), 16u);
  for (int64_t key = 0; key < 6; ++key) EXPECT_EQ(Find(key), 1);
  EXPECT_EQ(Find(6), 2);
  const size_t bytes = buckets_.bytes();
  Insert({7, 8, 9}, 3);
  EXPECT_GT(buckets_.bytes(), bytes) << "what the rows hold is known";
}

TEST_F(DenseBucketsTest, WhatWasExportedIsImportedBucketByBucket) {
  Insert({3, 11, 19}, 4);
  buckets_.Remove(Tensor::Vector<int64_t>({11}), 0);
  const auto [keys, values] = *buckets_.Export(*allocator_, Shape());
  const std::vector<int64_t> layout = Layout();
  DenseBuckets other(Tensor::Scalar(kEmpty), Tensor::Scalar(kDeleted), DType::kFloat, 1, 64, 0.75F);
  other.Import(*keys.Reshaped(Shape{8}), *values.Reshaped(Shape{8}), 8);
  EXPECT_EQ(other.size(), 2);
  const auto again = *other.Export(*allocator_, Shape());
  EXPECT_TRUE(std::ranges::equal(again.first.flat<int64_t>(), layout));
}

TEST_F(DenseBucketsTest, AnImportOfAnyNumberOfBucketsIsMadeAPowerOfTwo) {
  const std::vector<int64_t> keys = {10, kEmpty, 12, 13, 14};
  buckets_.Import(Tensor::Of<int64_t>(keys, Shape{5}),
                  Tensor::Of<float>(std::vector<float>(5, 9), Shape{5}), 5);
  EXPECT_EQ(buckets_.size(), 4);
  EXPECT_EQ(Layout().size(), 8u);
  for (const int64_t key : {10, 12, 13, 14}) EXPECT_EQ(Find(key), 9) << key;
  buckets_.Import(Tensor::Of<int64_t>(std::vector<int64_t>(), Shape{0}),
                  Tensor::Of<float>(std::vector<float>(), Shape{0}), 0);
  EXPECT_EQ(buckets_.size(), 0);
  EXPECT_EQ(Find(10), -1);
}

}  // namespace
}  // namespace thalweg
