// SPDX-License-Identifier: Apache-2.0
// Stacks of a step: what TensorFlow's gradients of while loops keep values on. Here gradients use
// loop stacks (loop_stack_op.cc); these run graphs that came with their gradients.
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status StackShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ScalarShape(c);
}

Status ReferenceStackShape(ShapeContext& c) {
  c.set_output(0, PartialShape{2});
  return OkStatus();
}

Status StackPushShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return OkStatus();
}

// A value that a stack remembers depends on what was pushed, which only order says.
Status StackPopGradient(GradientContext& c) {
  return Unimplemented("the gradient of a value from a stack (", c.node().Label(),
                       "): second derivatives of a loop whose first were made by TensorFlow; make "
                       "the first here");
}

Status StackPushGradient(GradientContext& c) {
  c.set_input_grad(1, c.grad_value(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(stack) {
  registry.Op("Stack")
      .Shape(ReferenceStackShape)
      .NotDifferentiable("it has no inputs")
      .Doc("A stack of tensors for one step.");
  registry.Op("StackV2")
      .Shape(StackShape)
      .NotDifferentiable("a size is no number to differentiate by")
      .Doc("A stack of tensors for one step.");
  for (const char* op : {"StackPush", "StackPushV2"}) {
    registry.Op(op)
        .Shape(StackPushShape)
        .Gradient(StackPushGradient)
        .Doc("Puts a tensor on a stack, and passes it on.");
  }
  for (const char* op : {"StackPop", "StackPopV2"}) {
    registry.Op(op).Shape(UnknownShape).Gradient(StackPopGradient).Doc("Takes the tensor on top.");
  }
  for (const char* op : {"StackClose", "StackCloseV2"}) {
    registry.Op(op)
        .Shape(NoOutputs)
        .NotDifferentiable("it has no outputs")
        .Doc("Empties a stack; it cannot be used any more.");
  }
}
