// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(staging) {
  constexpr std::string_view kWhy = "what is in a staging area comes from other steps";
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    registry.Op(name).Shape(shape).NotDifferentiable(kWhy).Doc(doc);
  };
  add("Stage", NoOutputs, "Puts an element into a staging area; waits for room.");
  add("Unstage", UnknownShape, "Takes the first element out of a staging area; waits for one.");
  add("StagePeek", UnknownShape, "An element of a staging area, which stays; waits for it.");
  add("StageSize", ScalarShape, "How many elements are in a staging area.");
  add("StageClear", NoOutputs, "Drops all elements of a staging area.");
}
