// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(NoOpTest, RunsAndGivesNothing) {
  for (const char* op : {"NoOp", "ControlTrigger"}) {
    Result<std::vector<Tensor>> outputs = RunOp(op, {});
    ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
    EXPECT_TRUE(outputs->empty());
  }
}

}  // namespace
}  // namespace thalweg
