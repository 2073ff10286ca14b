// SPDX-License-Identifier: Apache-2.0
// Random numbers whose generator's state is a variable.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The input called "shape".
Status StatefulShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const auto range, c.node().InputRange("shape"));
  if (range.first == 2) RETURN_IF_ERROR(c.InputWithRank(1, 0).status());  // the algorithm
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeArgument(range.first));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status StatefulUniformIntShape(ShapeContext& c) {
  for (int limit : {3, 4}) RETURN_IF_ERROR(c.InputWithRank(limit, 0).status());
  return StatefulShape(c);
}

Status SkipShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());  // the algorithm
  return c.InputWithRank(2, 0).status();            // how far
}

Status StateShape(ShapeContext& c) {
  RETURN_IF_ERROR(SkipShape(c));
  c.set_output(0, PartialShape{3});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(stateful_random) {
  constexpr std::string_view kWhy = "random numbers do not depend on the inputs' values";
  struct Row {
    const char* op;
    const char* doc;
    ShapeFn shape = StatefulShape;
  };
  constexpr Row kRows[] = {
      {"StatefulUniform", "Numbers drawn evenly from [0, 1), from the state in a variable."},
      {"StatefulStandardNormal", "Normal numbers, from the Philox state in a variable."},
      {"StatefulStandardNormalV2", "Normal numbers, from the state in a variable."},
      {"StatefulTruncatedNormal",
       "Normal numbers below 2 in absolute value, from the state in a variable."},
      {"StatefulUniformInt", "Integers from [minval, maxval), from the state in a variable.",
       StatefulUniformIntShape},
      {"StatefulUniformFullInt", "Integers of all values, from the state in a variable."},
      {"StatefulRandomBinomial", "Numbers of successes, from the state in a variable."},
      {"NonDeterministicInts", "Integers that nobody can foresee."},
  };
  for (const Row& row : kRows) {
    registry.Op(row.op).Shape(row.shape).NotDifferentiable(kWhy).Doc(row.doc);
  }
  registry.Op("RngSkip")
      .Shape(SkipShape)
      .NotDifferentiable("it has no output")
      .Doc("Moves the state of a generator on.");
  registry.Op("RngReadAndSkip")
      .Shape(StateShape)
      .NotDifferentiable("its output is a state")
      .Doc("The state of a generator, which is moved on.");
}
