// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status StatelessShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  ASSIGN_OR_RETURN(const PartialShape seed, c.InputWithRank(1, 1));
  if (seed.dim(0) >= 0 && seed.dim(0) != 2) {
    return InvalidArgument("seed must have shape [2], not ", seed);
  }
  const Tensor value = c.InputValue(0);
  if (!value.empty()) RETURN_IF_ERROR(ShapeOf(value, "shape").status());
  c.set_output(0, c.InputAsShape(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(stateless_random) {
  constexpr std::string_view kWhy = "random numbers do not depend on the inputs' values";
  registry.Op("StatelessRandomUniform")
      .Shape(StatelessShape)
      .NotDifferentiable(kWhy)
      .Doc("Numbers drawn evenly from [0, 1); the same seed gives the same numbers.");
  registry.Op("StatelessRandomNormal")
      .Shape(StatelessShape)
      .NotDifferentiable(kWhy)
      .Doc("Normal numbers; the same seed gives the same numbers.");
  registry.Op("StatelessTruncatedNormal")
      .Shape(StatelessShape)
      .NotDifferentiable(kWhy)
      .Doc("Normal numbers below 2 in absolute value; the same seed gives the same numbers.");
  registry.Op("StatelessRandomUniformInt")
      .Shape(StatelessShape)
      .NotDifferentiable(kWhy)
      .Doc("Integers drawn evenly from [minval, maxval); the same seed gives the same numbers.");
  registry.Op("StatelessRandomUniformFullInt")
      .Shape(StatelessShape)
      .NotDifferentiable(kWhy)
      .Doc("Integers of all values; the same seed gives the same numbers.");
}
