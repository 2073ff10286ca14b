// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status RefSelectShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const PartialShape& first = c.input(1);
  for (int i = 2; i < c.num_inputs(); ++i) {
    if (!(c.input(i) == first)) return OkStatus();
  }
  c.set_output(0, first);
  return OkStatus();
}

Status RefIdentityGradient(GradientContext& c) {
  c.set_input_grad(0, c.grad_value(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ref_select) {
  registry.Op("RefSelect")
      .Shape(RefSelectShape)
      .NotDifferentiable("which reference it passes on is a matter of an index")
      .Doc("Passes on the reference that index names.");
  registry.Op("RefIdentity")
      .Shape(UnchangedShape)
      .Gradient(RefIdentityGradient)
      .Doc("Passes on a reference to a variable.");
}
