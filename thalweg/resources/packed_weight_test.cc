// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/packed_weight.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

TEST(PackedWeightTest, KeepsWhatWasMadeOfTheSameBuffersInTheSameFormat) {
  ResourceManager resources;
  PackedWeightRef user;
  EXPECT_FALSE(user.is_open());
  ASSERT_TRUE(user.Open(resources, "w").ok());
  const Tensor w = Tensor::Vector<float>({1, 2}), scale = Tensor::Vector<float>({3});
  const Tensor packed = Tensor::Vector<float>({5, 6, 7});
  const Tensor *const one[] = {&w}, *const both[] = {&w, &scale};
  EXPECT_TRUE(user.Find(one, "a").empty());
  user.Keep(one, "a", packed);
  EXPECT_EQ(user.Find(one, "a").raw_data(), packed.raw_data());
  EXPECT_TRUE(user.Find(one, "b").empty());
  EXPECT_TRUE(user.Find(both, "a").empty());
  const Tensor equal = Tensor::Vector<float>({1, 2});
  const Tensor* const another[] = {&equal};
  EXPECT_TRUE(user.Find(another, "a").empty()) << "another buffer may change";
  user.Keep(both, "b", packed);
  EXPECT_TRUE(user.Find(one, "a").empty()) << "one form is kept, the latest";
  EXPECT_FALSE(user.Find(both, "b").empty());
}

TEST(PackedWeightTest, UsersShareByNameAndTheLastOneDropsIt) {
  ResourceManager resources;
  PackedWeightRef stays;
  ASSERT_TRUE(stays.Open(resources, "w").ok());
  const Tensor w = Tensor::Vector<float>({1, 2});
  const Tensor* const one[] = {&w};
  {
    PackedWeightRef other, stranger;
    ASSERT_TRUE(other.Open(resources, "w").ok());
    ASSERT_TRUE(stranger.Open(resources, "v").ok());
    other.Keep(one, "a", w);
    EXPECT_TRUE(stranger.Find(one, "a").empty());
  }
  EXPECT_FALSE(stays.Find(one, "a").empty());
}

TEST(PackedWeightTest, GivesItsMemoryBackWithItsLastUserThoughItsNameStays) {
  AllocatorPtr allocator = MakeCpuAllocator();
  ResourceManager resources;
  {
    PackedWeightRef user;
    ASSERT_TRUE(user.Open(resources, "w").ok());
    const Tensor w = *Tensor::Allocate(*allocator, DType::kFloat, Shape{1000});
    const Tensor* const one[] = {&w};
    user.Keep(one, "a", *Tensor::Allocate(*allocator, DType::kFloat, Shape{1000}));
    EXPECT_NE(resources.DebugString().find("packed weight, 4000 bytes"), std::string::npos);
  }
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
  EXPECT_NE(resources.DebugString().find("packed weight, 0 bytes"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
