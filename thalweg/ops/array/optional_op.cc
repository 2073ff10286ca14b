// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/listed_shapes.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status OptionalHasValueShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ScalarShape(c);
}

// The gradient of an optional is an optional of the gradients.
Status OptionalFromValueGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (int i = 0; i < c.node().num_inputs(); ++i) {
    types.push_back(c.node().input_type(i));
    shapes.push_back(c.input(i).shape());
  }
  Node* const got = c.b().OpNode("OptionalGetValue", {c.grad(0)},
                                 {{"output_types", types}, {"output_shapes", shapes}});
  if (got == nullptr) return c.b().status();
  for (int i = 0; i < c.node().num_inputs(); ++i) c.set_input_grad(i, Output{got, i});
  return OkStatus();
}

Status OptionalGetValueGradient(GradientContext& c) {
  std::vector<Output> grads;
  for (int i = 0; i < c.node().num_outputs(); ++i) grads.push_back(c.grad(i));
  if (!c.b().ok()) return c.b().status();
  c.set_input_grad(0, c.b().Op("OptionalFromValue", grads,
                               {{"Toutput_types", *c.node().FindAttr("output_types")}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(optional) {
  registry.Op("OptionalNone")
      .Shape(ScalarShape)
      .NotDifferentiable("it has no inputs")
      .Doc("An optional without a value.");
  registry.Op("OptionalFromValue")
      .Shape(ScalarShape)
      .Gradient(OptionalFromValueGradient)
      .Doc("An optional that holds the given tensors.");
  registry.Op("OptionalHasValue")
      .Shape(OptionalHasValueShape)
      .NotDifferentiable("a condition is no number")
      .Doc("Whether an optional holds anything.");
  registry.Op("OptionalGetValue")
      .Shape(ElementShapes)
      .Gradient(OptionalGetValueGradient)
      .Doc("The tensors that an optional holds; an error when there are none.");
}
