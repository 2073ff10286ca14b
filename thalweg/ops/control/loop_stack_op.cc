// SPDX-License-Identifier: Apache-2.0
// _EmptyLoopStack, _PushLoopStack, _PopLoopStack: what a loop remembers of its iterations for the
// loop that computes its gradient (autodiff/). A loop stack is a value that the loop carries along,
// so the order of iterations is that of the data, and it has a gradient itself: the stack of the
// gradients of what was pushed.
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CheckLoopStack(const ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

Status PushShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckLoopStack(c));
  return ScalarShape(c);
}

Status PopShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckLoopStack(c));
  c.set_output(0, Shape());
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                   c.Attr<std::vector<PartialShape>>("shapes"));
  if (!shapes.empty() && static_cast<int>(shapes.size()) != c.num_outputs() - 1) {
    return InvalidArgument("expected one shape for each value or none: ", c.num_outputs() - 1,
                           " values, ", shapes.size(), " shapes");
  }
  for (size_t i = 0; i < shapes.size(); ++i) c.set_output(static_cast<int>(i) + 1, shapes[i]);
  return OkStatus();
}

bool HasGradient(DType type) {
  return IsFloating(type) || IsComplex(type) || type == DType::kVariant;
}

// The gradient of a stack has the gradients of those values only that can have one.
Status PushGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (int i = 1; i < c.node().num_inputs(); ++i) {
    if (!HasGradient(c.node().input_type(i))) continue;
    types.push_back(c.node().input_type(i));
    shapes.push_back(c.input(i).shape());
  }
  Node* const pop = c.b().OpNode("_PopLoopStack", {c.grad(0)}, {{"T", types}, {"shapes", shapes}});
  if (pop == nullptr) return c.b().status();
  c.set_input_grad(0, Output{pop, 0});
  int next = 1;
  for (int i = 1; i < c.node().num_inputs(); ++i) {
    if (HasGradient(c.node().input_type(i))) c.set_input_grad(i, Output{pop, next++});
  }
  return c.b().status();
}

Status PopGradient(GradientContext& c) {
  std::vector<Output> record = {c.grad(0)};
  std::vector<DType> types;
  for (int i = 1; i < c.node().num_outputs(); ++i) {
    const DType type = c.node().output_type(i);
    if (HasGradient(type)) {
      types.push_back(type);
      record.push_back(c.grad(i));
    } else if (c.has_grad(i)) {
      return Unimplemented("the gradient of a ", type, " that a loop remembers");
    }
  }
  c.set_input_grad(0, c.b().Op("_PushLoopStack", std::move(record), {{"T", types}}));
  return c.b().status();
}

void DefineLoopStackOps(OpRegistry& registry) {
  using Kind = AttrValue::Kind;
  OpDef empty;
  empty.name = "_EmptyLoopStack";
  empty.outputs.push_back({.name = "stack", .type = DType::kVariant});
  OpDef push;
  push.name = "_PushLoopStack";
  push.inputs = {{.name = "stack", .type = DType::kVariant},
                 {.name = "values", .type_list_attr = "T"}};
  push.outputs.push_back({.name = "longer", .type = DType::kVariant});
  push.attrs = {{.name = "T", .kind = Kind::kTypeList}};
  OpDef pop;
  pop.name = "_PopLoopStack";
  pop.inputs.push_back({.name = "stack", .type = DType::kVariant});
  pop.outputs = {{.name = "earlier", .type = DType::kVariant},
                 {.name = "values", .type_list_attr = "T"}};
  pop.attrs = {{.name = "T", .kind = Kind::kTypeList},
               {.name = "shapes", .kind = Kind::kShapeList}};
  for (OpDef* def : {&empty, &push, &pop}) {
    CHECK(registry.Define(std::move(*def), nullptr, nullptr).ok());
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(loop_stack) {
  DefineLoopStackOps(registry);
  registry.Op("_EmptyLoopStack")
      .Shape(ScalarShape)
      .NotDifferentiable("it has no inputs")
      .Doc("A stack of no iterations.");
  registry.Op("_PushLoopStack")
      .Shape(PushShape)
      .Gradient(PushGradient)
      .Doc("A stack that has these values as well, as its latest.");
  registry.Op("_PopLoopStack")
      .Shape(PopShape)
      .Gradient(PopGradient)
      .Doc("The latest values of a stack, and the stack without them.");
}
