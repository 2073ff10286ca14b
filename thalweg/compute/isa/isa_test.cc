// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/isa.h"

#include <gtest/gtest.h>

namespace thalweg::compute {
namespace {

TEST(IsaTest, LowerLevelsCanBeAskedFor) {
  EXPECT_EQ(GetIsaTable(IsaLevel::kSse4).level, IsaLevel::kSse4);
  EXPECT_EQ(GetIsaTable(BestIsaLevel()).level, BestIsaLevel());
}

TEST(IsaTest, ALevelThatTheCpuLacksBecomesTheBestItHas) {
  EXPECT_EQ(GetIsaTable(IsaLevel::kAvx512).level, BestIsaLevel());
}

TEST(IsaTest, LevelsHaveNames) {
  EXPECT_STREQ(IsaLevelName(IsaLevel::kSse4), "sse4");
  EXPECT_STREQ(IsaLevelName(IsaLevel::kAvx512), "avx512");
}

}  // namespace
}  // namespace thalweg::compute
