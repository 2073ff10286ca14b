// SPDX-License-Identifier: Apache-2.0
// MaxPool and AvgPool over images, and their gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/window_shape.h"

namespace thalweg {
namespace {

bool HasExplicit(const Node& node) { return node.FindAttr("explicit_paddings") != nullptr; }

Status PoolShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ParseWindowAttrs(c, false, HasExplicit(c.node())));
  ASSIGN_OR_RETURN(const auto ksize, c.Attr<std::vector<int64_t>>("ksize"));
  ASSIGN_OR_RETURN(const PerDimension window, ParsePerDimension(ksize, attrs.format, "ksize"));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape out,
                   SlidShape(attrs, image, window, image.dim(attrs.format.channels())));
  c.set_output(0, out);
  return OkStatus();
}

// The gradients have the shape of the image.
Status PoolGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  c.set_output(0, image);
  return OkStatus();
}

Status PoolGradGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape out, c.InputWithRank(1, 4));
  c.set_output(0, out);
  return OkStatus();
}

Status AvgPoolGradShape(ShapeContext& c) {
  const PartialShape image = c.InputAsShape(0);
  if (image.known_rank() && image.rank() != 4) {
    return InvalidArgument("orig_input_shape must have 4 elements, got ", image.rank());
  }
  c.set_output(0, image.known_rank() ? image : PartialShape::OfRank(4));
  return OkStatus();
}

AttrMap SharedAttrs(const Node& node, bool with_explicit) {
  AttrMap attrs;
  for (const char* name : {"ksize", "strides", "padding", "data_format"}) {
    attrs.Set(name, *node.FindAttr(name));
  }
  const AttrValue* pads = node.FindAttr("explicit_paddings");
  if (with_explicit && pads != nullptr) attrs.Set("explicit_paddings", *pads);
  return attrs;
}

Status MaxPoolGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(
      0, m.Op("MaxPoolGrad", {c.input(0), c.output(0), c.grad(0)}, SharedAttrs(c.node(), true)));
  return m.status();
}

// Linear in input 2; the places do not move with the others.
Status PlacesGradient(GradientContext& c, const char* op) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("ZerosLike", {c.input(0)}));
  c.set_input_grad(1, m.Op("ZerosLike", {c.input(1)}));
  c.set_input_grad(2, m.Op(op, {c.input(0), c.input(1), c.grad(0)}, SharedAttrs(c.node(), false)));
  return m.status();
}
Status MaxPoolGradGradient(GradientContext& c) { return PlacesGradient(c, "MaxPoolGradGrad"); }
Status MaxPoolGradGradGradient(GradientContext& c) { return PlacesGradient(c, "MaxPoolGrad"); }

Status AvgPoolGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(
      0, m.Op("AvgPoolGrad", {m.Shape(c.input(0)), c.grad(0)}, SharedAttrs(c.node(), false)));
  return m.status();
}

Status AvgPoolGradGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(1, m.Op("AvgPool", {c.grad(0)}, SharedAttrs(c.node(), false)));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(pool) {
  registry.Op("MaxPool")
      .Shape(PoolShape)
      .Gradient(MaxPoolGradient)
      .Doc("The largest element of each window.");
  registry.Op("AvgPool")
      .Shape(PoolShape)
      .Gradient(AvgPoolGradient)
      .Doc("The mean of each window, places outside the image not counted.");
  registry.Op("MaxPoolGrad")
      .Shape(PoolGradShape)
      .Gradient(MaxPoolGradGradient)
      .Doc("The gradient of MaxPool.");
  registry.Op("MaxPoolGradGrad")
      .Shape(PoolGradGradShape)
      .Gradient(MaxPoolGradGradGradient)
      .Doc("The gradient of MaxPoolGrad: grad at the places of the largest elements.");
  registry.Op("AvgPoolGrad")
      .Shape(AvgPoolGradShape)
      .Gradient(AvgPoolGradGradient)
      .Doc("The gradient of AvgPool.");
}
