// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

TEST(EnsureShapeTest, PassesOnWhatFits) {
  EveryElementType("EnsureShape")
      .Reference([](auto& r) { r.out = {r.in[0]}; })
      .Try({In({2, 3})}, {{"shape", PartialShape{-1, 3}}})
      .Try({In({2, 3})}, {{"shape", PartialShape::Unknown()}})
      .Bad({In({2, 3})}, {{"shape", PartialShape{3, -1}}}, Code::kInvalidArgument, "")
      .Bad({In({2, 3})}, {{"shape", PartialShape{-1, -1, -1}}}, Code::kInvalidArgument,
           "Shape must be rank 3 but is rank 2 for ", "")
      .Trivial("it passes its input on")
      .Run();
}

}  // namespace
}  // namespace thalweg
