// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Inputs: the image's size, boxes [batch, boxes, 4], in V2 how much of one must be covered, in the
// stateless version two seeds.
Status BoxShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape size, c.InputWithRank(0, 1));
  ASSIGN_OR_RETURN(const PartialShape boxes, c.InputWithRank(1, 3));
  if (!MergeDims(size.dim(0), 3).ok()) {
    return InvalidArgument("image_size must contain 3 elements, got shape ", size);
  }
  if (!MergeDims(boxes.dim(2), 4).ok()) {
    return InvalidArgument("bounding boxes must have 4 coordinates, got shape ", boxes);
  }
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  if (c.num_inputs() > 3) {
    ASSIGN_OR_RETURN(const PartialShape seeds, c.InputWithRank(3, 1));
    if (!MergeDims(seeds.dim(0), 2).ok()) {
      return InvalidArgument("seed must have shape [2], not ", seeds);
    }
  }
  c.set_output(0, PartialShape{3});
  c.set_output(1, PartialShape{3});
  c.set_output(2, PartialShape{1, 1, 4});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(distorted_box) {
  for (const char* op : {"SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2",
                         "StatelessSampleDistortedBoundingBox"}) {
    registry.Op(op)
        .Shape(BoxShape)
        .NotDifferentiable("it draws numbers")
        .Doc("A random box of an image that covers enough of one of its objects.");
  }
}
