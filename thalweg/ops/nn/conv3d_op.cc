// SPDX-License-Identifier: Apache-2.0
// Conv3D and the operations that compute its gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/conv_attrs.h"

namespace thalweg {
namespace {

Status Conv3DShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Slide slide, ParseConv(c, 5));
  ASSIGN_OR_RETURN(const PartialShape volume, c.InputWithRank(0, 5));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 5));
  const int64_t in = volume.dim(slide.format.channels());
  if (in >= 0 && filter.dim(3) >= 0 && in != filter.dim(3)) {
    return InvalidArgument("the input has ", in, " channels, the filter expects ", filter.dim(3));
  }
  RETURN_IF_ERROR(SetWindow(filter, &slide));
  ASSIGN_OR_RETURN(const PartialShape out, SlidShape(slide, volume, filter.dim(4)));
  c.set_output(0, out);
  return OkStatus();
}

// The V1 operations take the tensor itself for its shape.
template <int Input>
Status LikeInputShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseConv(c, 5).status());
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(Input, 5));
  c.set_output(0, shape);
  return OkStatus();
}

template <int Input>
Status SizesInputShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseConv(c, 5).status());
  const PartialShape sizes = c.InputAsShape(Input);
  if (sizes.known_rank() && sizes.rank() != 5) {
    return InvalidArgument("the sizes must have 5 elements, got ", sizes.rank());
  }
  c.set_output(0, sizes.known_rank() ? sizes : PartialShape::OfRank(5));
  return OkStatus();
}

Status Conv3DGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedConvAttrs(c.node());
  const Output volume = c.input(0), filter = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, m.Op("Conv3DBackpropInputV2", {m.Shape(volume), filter, grad}, attrs));
  c.set_input_grad(1, m.Op("Conv3DBackpropFilterV2", {volume, m.Shape(filter), grad}, attrs));
  return m.status();
}

Status BackpropInputGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedConvAttrs(c.node());
  const Output filter = c.input(1), out_grad = c.input(2), grad = c.grad(0);
  c.set_input_grad(1, m.Op("Conv3DBackpropFilterV2", {grad, m.Shape(filter), out_grad}, attrs));
  c.set_input_grad(2, m.Op("Conv3D", {grad, filter}, attrs));
  return m.status();
}

Status BackpropFilterGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedConvAttrs(c.node());
  const Output volume = c.input(0), out_grad = c.input(2), grad = c.grad(0);
  c.set_input_grad(0, m.Op("Conv3DBackpropInputV2", {m.Shape(volume), grad, out_grad}, attrs));
  c.set_input_grad(2, m.Op("Conv3D", {volume, grad}, attrs));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(conv3d) {
  registry.Op("Conv3D")
      .Shape(Conv3DShape)
      .Gradient(Conv3DGradient)
      .Doc("Slides a filter [planes, rows, columns, in, out] over a batch of volumes.");
  registry.Op("Conv3DBackpropInput")
      .Shape(LikeInputShape<0>)
      .NotDifferentiable("the V2 form is: it takes sizes for its first input")
      .Doc("The gradient of Conv3D by its input, which gives the shape.");
  registry.Op("Conv3DBackpropInputV2")
      .Shape(SizesInputShape<0>)
      .Gradient(BackpropInputGradient)
      .Doc("The gradient of Conv3D by its input.");
  registry.Op("Conv3DBackpropFilter")
      .Shape(LikeInputShape<1>)
      .NotDifferentiable("the V2 form is: it takes sizes for its second input")
      .Doc("The gradient of Conv3D by its filter, which gives the shape.");
  registry.Op("Conv3DBackpropFilterV2")
      .Shape(SizesInputShape<1>)
      .Gradient(BackpropFilterGradient)
      .Doc("The gradient of Conv3D by its filter.");
}
