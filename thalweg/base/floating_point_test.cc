// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/floating_point.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

namespace thalweg {
namespace {

TEST(FloatingPointScopeTest, FlushesDenormalsAndRestores) {
  volatile float tiny = std::numeric_limits<float>::min();
  volatile float half = 0.5f;
  EXPECT_GT(tiny * half, 0.0f);
  {
    const FloatingPointScope outer;
    EXPECT_EQ(tiny * half, 0.0f);
    { const FloatingPointScope inner; }
    EXPECT_EQ(tiny * half, 0.0f);
  }
  EXPECT_GT(tiny * half, 0.0f);
}

TEST(FloatingPointScopeTest, RoundsToNearestAndRestores) {
  volatile float one = 1.0f, third = 3.0f;
  const float nearest = one / third;
  ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
  volatile float downward = one / third;
  {
    const FloatingPointScope scope;
    volatile float inside = one / third;
    EXPECT_EQ(inside, nearest);
  }
  volatile float after = one / third;
  std::fesetround(FE_TONEAREST);
  EXPECT_NE(downward, nearest);
  EXPECT_EQ(after, downward);
}

}  // namespace
}  // namespace thalweg
