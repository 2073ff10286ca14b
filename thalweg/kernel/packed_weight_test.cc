// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/packed_weight.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

TEST(PackedWeightTest, KeepsWhatWasMadeOfTheSameBuffersInTheSameFormat) {
  ResourceManager resources;
  PackedWeightUser user;
  EXPECT_FALSE(user.is_open());
  ASSERT_TRUE(user.Open(resources, "w").ok());
  const Tensor w = Tensor::Vector<float>({1, 2}), scale = Tensor::Vector<float>({3});
  const Tensor packed = Tensor::Vector<float>({5, 6, 7});
  EXPECT_TRUE(user.Find({&w}, "a").empty());
  user.Keep({&w}, "a", packed);
  EXPECT_EQ(user.Find({&w}, "a").raw_data(), packed.raw_data());
  EXPECT_TRUE(user.Find({&w}, "b").empty());
  EXPECT_TRUE(user.Find({&w, &scale}, "a").empty());
  const Tensor equal = Tensor::Vector<float>({1, 2});
  EXPECT_TRUE(user.Find({&equal}, "a").empty()) << "another buffer may change";
  user.Keep({&w, &scale}, "b", packed);
  EXPECT_TRUE(user.Find({&w}, "a").empty()) << "one form is kept, the latest";
  EXPECT_FALSE(user.Find({&w, &scale}, "b").empty());
}

TEST(PackedWeightTest, UsersShareByNameAndTheLastOneDropsIt) {
  ResourceManager resources;
  PackedWeightUser stays;
  ASSERT_TRUE(stays.Open(resources, "w").ok());
  const Tensor w = Tensor::Vector<float>({1, 2});
  {
    PackedWeightUser other, stranger;
    ASSERT_TRUE(other.Open(resources, "w").ok());
    ASSERT_TRUE(stranger.Open(resources, "v").ok());
    other.Keep({&w}, "a", w);
    EXPECT_TRUE(stranger.Find({&w}, "a").empty());
  }
  EXPECT_FALSE(stays.Find({&w}, "a").empty());
}

}  // namespace
}  // namespace thalweg
