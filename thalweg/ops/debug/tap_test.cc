// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

TEST(TapTest, RunsAndGivesNothing) {
  const auto got = RunOp("_Tap", {});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_TRUE(got->empty());
}

}  // namespace
}  // namespace thalweg
