// SPDX-License-Identifier: Apache-2.0
// CropAndResize and its gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The number of boxes, from inputs `boxes` and the one behind.
Result<int64_t> BoxCount(ShapeContext& c, int boxes) {
  ASSIGN_OR_RETURN(const PartialShape box, c.InputWithRank(boxes, 2));
  ASSIGN_OR_RETURN(const PartialShape index, c.InputWithRank(boxes + 1, 1));
  RETURN_IF_ERROR(Explained(CheckDim(box.dim(1), 4), "the columns of boxes, got shape ", box));
  return MergeDims(box.dim(0), index.dim(0));
}

Status CropShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const int64_t count, BoxCount(c, 1));
  ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(3, 1));
  RETURN_IF_ERROR(Explained(CheckDim(given.dim(0), 2), "the length of crop_size"));
  const PartialShape size = c.InputAsShape(3);
  const auto side = [&](int i) { return size.known_rank() ? size.dim(i) : -1; };
  c.set_output(0, PartialShape{count, side(0), side(1), image.dim(3)});
  return OkStatus();
}

Status ImageGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 4).status());
  RETURN_IF_ERROR(BoxCount(c, 1).status());
  ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(3, 1));
  RETURN_IF_ERROR(Explained(CheckRank(given.dim(0), 4), "of image_size"));
  const PartialShape size = c.InputAsShape(3);
  c.set_output(0, size.known_rank() ? size : PartialShape::OfRank(4));
  return OkStatus();
}

Status BoxGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 4).status());
  ASSIGN_OR_RETURN(const int64_t count, BoxCount(c, 2));
  c.set_output(0, PartialShape{count, 4});
  return OkStatus();
}

Status CropGradient(GradientContext& c) {
  GradientMath m(c);
  const Output image = c.input(0), boxes = c.input(1), index = c.input(2), grad = c.grad(0);
  if (!m.status().ok()) return m.status();
  ASSIGN_OR_RETURN(const std::string method, c.node().Attr<std::string>("method"));
  const DType type = c.node().input_type(0);
  if (type == DType::kFloat || type == DType::kDouble || type == DType::kHalf) {
    c.set_input_grad(0, m.Op("CropAndResizeGradImage", {grad, boxes, index, m.Shape(image)},
                             {{"T", type}, {"method", method}}));
  }
  // TensorFlow's is that of bilinear crops for both methods.
  c.set_input_grad(1, m.Op("CropAndResizeGradBoxes", {grad, image, boxes, index}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(crop) {
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("CropAndResize")
      .Shape(CropShape)
      .Gradient(CropGradient)
      .Doc("Boxes of images, brought to one size.");
  registry.Op("CropAndResizeGradImage")
      .Shape(ImageGradShape)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of CropAndResize for its images.");
  registry.Op("CropAndResizeGradBoxes")
      .Shape(BoxGradShape)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of CropAndResize for its boxes.");
}
