// SPDX-License-Identifier: Apache-2.0
// LRN and LRNGrad.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status LrnShape(ShapeContext& c) {
  PartialShape shape = PartialShape::OfRank(4);
  for (int i = 0; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape input, c.InputWithRank(i, 4));
    ASSIGN_OR_RETURN(shape, shape.MergeWith(input));
  }
  c.set_output(0, shape);
  return OkStatus();
}

Status LrnGradient(GradientContext& c) {
  GradientMath m(c);
  AttrMap attrs;
  for (const char* name : {"depth_radius", "bias", "alpha", "beta"}) {
    attrs.Set(name, *c.node().FindAttr(name));
  }
  c.set_input_grad(0, m.Op("LRNGrad", {c.grad(0), c.input(0), c.output(0)}, attrs));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(lrn) {
  registry.Op("LRN")
      .Shape(LrnShape)
      .Gradient(LrnGradient)
      .Doc("Divides each element by a power of the squares of its neighboring channels.");
  registry.Op("LRNGrad")
      .Shape(LrnShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of LRN.");
}
