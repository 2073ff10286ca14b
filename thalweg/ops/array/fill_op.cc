// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The shape that input 0 names.
Status ShapeArgument(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeArgument(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status FillShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(ShapeArgument(c));
  const Tensor dims = c.InputValue(0);
  for (int64_t d = 0; !dims.empty() && d < dims.num_elements(); ++d) {
    if (IntAt(dims, d) < 0) {
      return InvalidArgument("Fill dimensions must be >= 0; dimension ", d, " is ", IntAt(dims, d));
    }
  }
  return OkStatus();
}

// Every element is the value, so its gradient is the sum of all.
Status FillGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  const Output grad = c.grad(0);
  const Output rank = c.b().Op("Rank", {grad});
  const Output axes = c.b().Op(
      "Range", {c.b().ScalarConst(DType::kInt32, 0), rank, c.b().ScalarConst(DType::kInt32, 1)});
  c.set_input_grad(1, c.b().Op("Sum", {grad, axes}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fill) {
  registry.Op("Fill")
      .Shape(FillShape)
      .Gradient(FillGradient)
      .Doc("A tensor of the given shape whose elements are all the value.");
  registry.Op("ZerosLike")
      .Shape(UnchangedShape)
      .NotDifferentiable("zeros do not depend on the values")
      .Doc("Zeros in the shape of the input.");
  registry.Op("OnesLike")
      .Shape(UnchangedShape)
      .NotDifferentiable("ones do not depend on the values")
      .Doc("Ones in the shape of the input.");
  registry.Op("Empty")
      .Shape(ShapeArgument)
      .NotDifferentiable("zeros do not depend on the shape's values")
      .Doc("A tensor of the given shape, all zeros.");
}
