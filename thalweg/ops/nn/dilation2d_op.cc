// SPDX-License-Identifier: Apache-2.0
// Dilation2D and the two operations that compute its gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/dilation2d_attrs.h"

namespace thalweg {
namespace {

Status DilationShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Slide slide, ParseDilation(c));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 3));
  Result<int64_t> channels = MergeDims(image.dim(3), filter.dim(2));
  if (!channels.ok()) {
    return InvalidArgument("input and filter must have the same depth, got ", image.dim(3), " and ",
                           filter.dim(2));
  }
  slide.ksize = {1, filter.dim(0), filter.dim(1), 1};
  ASSIGN_OR_RETURN(const PartialShape out, SlidShape(slide, image, *channels));
  c.set_output(0, out);
  return OkStatus();
}

template <int Input, int Rank>
Status DilatedInputShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseDilation(c).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 4).status());
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(Input, Rank));
  c.set_output(0, shape);
  return OkStatus();
}

Status DilationGradient(GradientContext& c) {
  GradientMath m(c);
  AttrMap attrs;
  for (const char* name : {"strides", "rates", "padding"}) {
    attrs.Set(name, *c.node().FindAttr(name));
  }
  const Output image = c.input(0), filter = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, m.Op("Dilation2DBackpropInput", {image, filter, grad}, attrs));
  c.set_input_grad(1, m.Op("Dilation2DBackpropFilter", {image, filter, grad}, attrs));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(dilation2d) {
  registry.Op("Dilation2D")
      .Shape(DilationShape)
      .Gradient(DilationGradient)
      .Doc("The largest of input + filter in each window: gray-scale dilation.");
  registry.Op("Dilation2DBackpropInput")
      .Shape(DilatedInputShape<0, 4>)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of Dilation2D by its input.");
  registry.Op("Dilation2DBackpropFilter")
      .Shape(DilatedInputShape<1, 3>)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of Dilation2D by its filter.");
}
