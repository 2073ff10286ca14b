// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status EnsureShapeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape expected, c.Attr<PartialShape>("shape"));
  RETURN_IF_ERROR(CheckRank(c.input(0).rank(), expected.rank()));
  ASSIGN_OR_RETURN(PartialShape merged, c.input(0).MergeWith(expected));
  c.set_output(0, std::move(merged));
  return OkStatus();
}

// The gradient has the shape that the output has.
Status EnsureShapeGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0,
                   c.b().Op("EnsureShape", {c.grad(0)}, {{"shape", *c.node().FindAttr("shape")}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ensure_shape) {
  registry.Op("EnsureShape")
      .Shape(EnsureShapeShape)
      .Gradient(EnsureShapeGradient)
      .Doc("Its input; an error when that has another shape than the attribute says.");
}
