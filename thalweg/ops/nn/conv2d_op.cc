// SPDX-License-Identifier: Apache-2.0
// Conv2D and the two operations that compute its gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/window_shape.h"

namespace thalweg {
namespace {

Status Conv2DShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ParseWindowAttrs(c, true, true));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 4));
  const int64_t in = image.dim(attrs.format.channels()), expected = filter.dim(2);
  if (in >= 0 && expected >= 0 && filter.dim(3) >= 0) {
    RETURN_IF_ERROR(GroupsOf(in, expected, filter.dim(3)).status());
  }
  ASSIGN_OR_RETURN(const PartialShape out,
                   SlidShape(attrs, image, {filter.dim(0), filter.dim(1)}, filter.dim(3)));
  c.set_output(0, out);
  return OkStatus();
}

// input_sizes may be the whole shape, or rows and columns.
Status BackpropInputShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ParseWindowAttrs(c, true, true));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 4));
  ASSIGN_OR_RETURN(const PartialShape grad, c.InputWithRank(2, 4));
  const PartialShape sizes = c.InputAsShape(0);
  if (sizes.known_rank() && sizes.rank() == 4) {
    c.set_output(0, sizes);
  } else if (sizes.known_rank() && sizes.rank() == 2) {
    c.set_output(0,
                 ImageShape(attrs.format, grad.dim(0), sizes.dim(0), sizes.dim(1), filter.dim(2)));
  } else if (sizes.known_rank()) {
    return InvalidArgument("input_sizes must have 4 or 2 elements, got ", sizes.rank());
  } else {
    c.set_output(0, PartialShape::OfRank(4));
  }
  return OkStatus();
}

Status BackpropFilterShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseWindowAttrs(c, true, true).status());
  RETURN_IF_ERROR(c.InputWithRank(0, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 4).status());
  const PartialShape sizes = c.InputAsShape(1);
  if (sizes.known_rank() && sizes.rank() != 4) {
    return InvalidArgument("filter_sizes must have 4 elements, got ", sizes.rank());
  }
  c.set_output(0, sizes.known_rank() ? sizes : PartialShape::OfRank(4));
  return OkStatus();
}

// The attributes that all three share.
AttrMap SharedAttrs(const Node& node) {
  AttrMap attrs;
  for (const char* name : {"strides", "padding", "explicit_paddings", "data_format", "dilations"}) {
    const AttrValue* value = node.FindAttr(name);
    if (value != nullptr) attrs.Set(name, *value);
  }
  return attrs;
}

Status Conv2DGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedAttrs(c.node());
  const Output image = c.input(0), filter = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, m.Op("Conv2DBackpropInput", {m.Shape(image), filter, grad}, attrs));
  c.set_input_grad(1, m.Op("Conv2DBackpropFilter", {image, m.Shape(filter), grad}, attrs));
  return m.status();
}

Status BackpropInputGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedAttrs(c.node());
  const Output filter = c.input(1), out_grad = c.input(2), grad = c.grad(0);
  c.set_input_grad(1, m.Op("Conv2DBackpropFilter", {grad, m.Shape(filter), out_grad}, attrs));
  c.set_input_grad(2, m.Op("Conv2D", {grad, filter}, attrs));
  return m.status();
}

Status BackpropFilterGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedAttrs(c.node());
  const Output image = c.input(0), out_grad = c.input(2), grad = c.grad(0);
  c.set_input_grad(0, m.Op("Conv2DBackpropInput", {m.Shape(image), grad, out_grad}, attrs));
  c.set_input_grad(2, m.Op("Conv2D", {image, grad}, attrs));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(conv2d) {
  registry.Op("Conv2D")
      .Shape(Conv2DShape)
      .Gradient(Conv2DGradient)
      .Doc("Slides a filter [rows, columns, in, out] over a batch of images.");
  registry.Op("Conv2DBackpropInput")
      .Shape(BackpropInputShape)
      .Gradient(BackpropInputGradient)
      .Doc("The gradient of Conv2D by its input.");
  registry.Op("Conv2DBackpropFilter")
      .Shape(BackpropFilterShape)
      .Gradient(BackpropFilterGradient)
      .Doc("The gradient of Conv2D by its filter.");
}
