// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status StochasticCastShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape key, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(MergeDims(key.dim(0), 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  c.set_output(0, c.input(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(stochastic_cast) {
  registry.Op("StochasticCastToInt")
      .Shape(StochasticCastShape)
      .NotDifferentiable("its output is an integer")
      .Doc("Numbers rounded up with the probability of their fractions, else down.");
}
