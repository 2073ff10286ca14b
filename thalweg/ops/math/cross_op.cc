// SPDX-License-Identifier: Apache-2.0
// Cross: cross products of vectors with three elements.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CrossShape(ShapeContext& c) {
  for (int i : {0, 1}) RETURN_IF_ERROR(c.InputWithRankAtLeast(i, 1).status());
  RETURN_IF_ERROR(MergedInputsShape(c));
  const PartialShape& shape = c.mutable_output(0);
  if (!shape.known_rank()) return OkStatus();
  return Explained(CheckDim(shape.dim(shape.rank() - 1), 3), "the last one of shape ", shape);
}

Status CrossGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("Cross", {c.input(1), c.grad(0)}));
  c.set_input_grad(1, m.Op("Cross", {c.grad(0), c.input(0)}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(cross) {
  registry.Op("Cross")
      .Shape(CrossShape)
      .Gradient(CrossGradient)
      .Doc("Cross products of the vectors in the last dimension, which is 3.");
}
