// SPDX-License-Identifier: Apache-2.0
// ResizeBilinear and ResizeNearestNeighbor with their gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CheckCenters(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool align, c.Attr<bool>("align_corners"));
  ASSIGN_OR_RETURN(const bool half, c.Attr<bool>("half_pixel_centers"));
  if (!align || !half) return OkStatus();
  return InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
}

// [batch, size[0], size[1], channels].
Status ResizedShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckCenters(c));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(Explained(CheckDim(given.dim(0), 2), "size must have two elements"));
  const PartialShape size = c.InputAsShape(1);
  const auto side = [&](int i) { return size.known_rank() ? size.dim(i) : -1; };
  c.set_output(0, PartialShape{image.dim(0), side(0), side(1), image.dim(3)});
  return OkStatus();
}

Status QuantizedShape(ShapeContext& c) {
  RETURN_IF_ERROR(ResizedShape(c));
  for (int i = 2; i < 4; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
    c.set_output(i - 1, PartialShape(Shape()));
  }
  return OkStatus();
}

Status OriginalShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckCenters(c));
  ASSIGN_OR_RETURN(const PartialShape grads, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape original, c.InputWithRank(1, 4));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(grads.dim(0), original.dim(0)));
  ASSIGN_OR_RETURN(const int64_t channels, MergeDims(grads.dim(3), original.dim(3)));
  c.set_output(0, PartialShape{batch, original.dim(1), original.dim(2), channels});
  return OkStatus();
}

AttrMap Centers(const Node& node) {
  AttrMap attrs;
  for (const char* name : {"align_corners", "half_pixel_centers"}) {
    attrs.Set(name, *node.FindAttr(name));
  }
  return attrs;
}

Status BilinearGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("ResizeBilinearGrad", {c.grad(0), c.input(0)}, Centers(c.node())));
  return m.status();
}

Status NearestGradient(GradientContext& c) {
  GradientMath m(c);
  const Output one = m.Ints({1});
  const Output size = m.Op("StridedSlice", {m.Shape(c.input(0)), one, m.Ints({3}), one});
  c.set_input_grad(0, m.Op("ResizeNearestNeighborGrad", {c.grad(0), size}, Centers(c.node())));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(resize) {
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("QuantizedResizeBilinear")
      .Shape(QuantizedShape)
      .NotDifferentiable(kWhy)
      .Doc("ResizeBilinear of levels of a range.");
  registry.Op("ResizeBilinear")
      .Shape(ResizedShape)
      .Gradient(BilinearGradient)
      .Doc("Images of another size, each pixel between the four nearest ones.");
  registry.Op("ResizeBilinearGrad")
      .Shape(OriginalShape)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of ResizeBilinear.");
  registry.Op("ResizeNearestNeighbor")
      .Shape(ResizedShape)
      .Gradient(NearestGradient)
      .Doc("Images of another size, each pixel the nearest one.");
  registry.Op("ResizeNearestNeighborGrad")
      .Shape(ResizedShape)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of ResizeNearestNeighbor.");
}
