// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

TEST(TimestampTest, LiesBetweenTwoLooksAtTheClock) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const double before = now();
  const auto got = RunOp("Timestamp", {});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_GE((*got)[0].scalar<double>(), before);
  EXPECT_LE((*got)[0].scalar<double>(), now());
}

}  // namespace
}  // namespace thalweg
