// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status IdentityNShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(i));
    if (c.input_handle_shape(i) != nullptr) c.set_output_handle(i, *c.input_handle_shape(i));
  }
  return OkStatus();
}

// Sparse rows stay sparse.
Status PassGradients(GradientContext& c) {
  for (int i = 0; i < c.node().num_inputs(); ++i) c.set_input_grad(i, c.grad_value(i));
  return OkStatus();
}

Status PreventGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const std::string message, c.node().Attr<std::string>("message"));
  return InvalidArgument("Gradient explicitly disabled. Reason: ", message);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(identity) {
  registry.Op("Identity").Shape(UnchangedShape).Gradient(PassGradients).Doc("Its input.");
  registry.Op("IdentityN").Shape(IdentityNShape).Gradient(PassGradients).Doc("Its inputs.");
  registry.Op("Snapshot")
      .Shape(UnchangedShape)
      .Gradient(PassGradients)
      .Doc("Its input as it was at this point.");
  registry.Op("StopGradient")
      .Shape(UnchangedShape)
      .NotDifferentiable("it is there to stop the gradient")
      .Doc("Its input, a constant to gradients.");
  registry.Op("PreventGradient")
      .Shape(UnchangedShape)
      .Gradient(PreventGradient)
      .Doc("Its input; asking for a gradient through it is an error.");
  registry.Op("Copy")
      .Shape(UnchangedShape)
      .Gradient(PassGradients)
      .Doc("Its input, for a debugger to watch; shares the buffer.");
  registry.Op("CopyHost")
      .Shape(UnchangedShape)
      .Gradient(PassGradients)
      .Doc("Its input in host memory, for a debugger to watch; shares the buffer.");
  registry.Op("GuaranteeConst")
      .Shape(UnchangedShape)
      .Gradient(PassGradients)
      .Doc("Its input, of which the user says that it never changes.");
  registry.Op("DeepCopy")
      .Shape(UnchangedShape)
      .Gradient(PassGradients)
      .Doc("A copy of its input in a buffer of its own.");
}
