// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(BroadcastArgsTest, JoinsShapes) {
  OpCase("BroadcastArgs")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{3}, {4, 2, 3})};
      })
      .Try({In({2}, {2, 1}), In({3}, {4, 1, 3})})
      .Try({In({3}, {4, 2, 3}), In({0}, {})})
      .Bad({In({1}, {2}), In({1}, {3})}, {}, Code::kInvalidArgument, "Incompatible shapes")
      .Run();
}

}  // namespace
}  // namespace thalweg
