// SPDX-License-Identifier: Apache-2.0
// ResizeArea, ResizeBicubic and ScaleAndTranslate with their gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CheckPair(ShapeContext& c, int input, std::string_view what) {
  ASSIGN_OR_RETURN(const PartialShape pair, c.InputWithRank(input, 1));
  if (pair.dim(0) < 0 || pair.dim(0) == 2) return OkStatus();
  return InvalidArgument(what, " must have two elements, got ", pair.dim(0));
}

// [batch, size[0], size[1], channels].
Status ResampledShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  RETURN_IF_ERROR(CheckPair(c, 1, "size"));
  const PartialShape size = c.InputAsShape(1);
  const auto side = [&](int i) { return size.known_rank() ? size.dim(i) : -1; };
  c.set_output(0, PartialShape{image.dim(0), side(0), side(1), image.dim(3)});
  return OkStatus();
}

Status SampledOriginalShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape grads, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape original, c.InputWithRank(1, 4));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(grads.dim(0), original.dim(0)));
  ASSIGN_OR_RETURN(const int64_t channels, MergeDims(grads.dim(3), original.dim(3)));
  c.set_output(0, PartialShape{batch, original.dim(1), original.dim(2), channels});
  return OkStatus();
}

Status CheckSampleCenters(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool align, c.Attr<bool>("align_corners"));
  ASSIGN_OR_RETURN(const bool half, c.Attr<bool>("half_pixel_centers"));
  if (!align || !half) return OkStatus();
  return InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
}

template <Status (*kShape)(ShapeContext&)>
Status CubicShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSampleCenters(c));
  return kShape(c);
}

template <Status (*kShape)(ShapeContext&)>
Status PlacedShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckPair(c, 2, "scale"));
  RETURN_IF_ERROR(CheckPair(c, 3, "translation"));
  return kShape(c);
}

AttrMap Copied(const Node& node, std::initializer_list<const char*> names) {
  AttrMap attrs;
  for (const char* name : names) attrs.Set(name, *node.FindAttr(name));
  return attrs;
}

Status BicubicGradient(GradientContext& c) {
  GradientMath m(c);
  const DType type = c.node().input_type(0);
  if (type == DType::kFloat || type == DType::kDouble) {
    c.set_input_grad(0, m.Op("ResizeBicubicGrad", {c.grad(0), c.input(0)},
                             Copied(c.node(), {"align_corners", "half_pixel_centers"})));
  }
  return m.status();
}

Status PlacedGradient(GradientContext& c) {
  GradientMath m(c);
  const DType type = c.node().input_type(0);
  if (!IsFloating(type)) return m.status();
  const Output image =
      type == DType::kFloat ? c.input(0) : m.Op("Cast", {c.input(0)}, {{"DstT", DType::kFloat}});
  const Output grad = m.Op("ScaleAndTranslateGrad", {c.grad(0), image, c.input(2), c.input(3)},
                           Copied(c.node(), {"kernel_type", "antialias"}));
  c.set_input_grad(0, type == DType::kFloat ? grad : m.Op("Cast", {grad}, {{"DstT", type}}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(resample) {
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("ResizeArea")
      .Shape(ResampledShape)
      .NotDifferentiable(kWhy)
      .Doc("Images of another size, each pixel the mean of the area that it covers.");
  registry.Op("ResizeBicubic")
      .Shape(CubicShape<ResampledShape>)
      .Gradient(BicubicGradient)
      .Doc("Images of another size, on a cubic surface through sixteen pixels.");
  registry.Op("ResizeBicubicGrad")
      .Shape(CubicShape<SampledOriginalShape>)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of ResizeBicubic.");
  registry.Op("ScaleAndTranslate")
      .Shape(PlacedShape<ResampledShape>)
      .Gradient(PlacedGradient)
      .Doc("Images scaled and moved, with one of several kernels.");
  registry.Op("ScaleAndTranslateGrad")
      .Shape(PlacedShape<SampledOriginalShape>)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of ScaleAndTranslate.");
}
