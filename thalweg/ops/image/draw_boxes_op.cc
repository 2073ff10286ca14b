// SPDX-License-Identifier: Apache-2.0
// DrawBoundingBoxes in both versions.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status DrawnShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape boxes, c.InputWithRank(1, 3));
  if (boxes.dim(2) >= 0 && boxes.dim(2) != 4) {
    return InvalidArgument("boxes must have 4 sides, got shape ", boxes.ToString());
  }
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
