// SPDX-License-Identifier: Apache-2.0
// DrawBoundingBoxes in both versions.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status DrawnShape(ShapeContext& c) {
  // The second version asks for less here, in words of its own.
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 3).status());
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape boxes, c.InputWithRank(1, 3));
  RETURN_IF_ERROR(Explained(CheckDim(boxes.dim(2), 4), "the sides of boxes, got shape ", boxes));
  RETURN_IF_ERROR(MergeDims(images.dim(0), boxes.dim(0)).status());
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.InputWithRank(2, 2).status());
  c.set_output(0, images);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(draw_boxes) {
  registry.Op("DrawBoundingBoxes")
      .Shape(DrawnShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("Images with the frames of boxes drawn in ten colors.");
  registry.Op("DrawBoundingBoxesV2")
      .Shape(DrawnShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("Images with the frames of boxes drawn in given colors.");
}
