// SPDX-License-Identifier: Apache-2.0
// BatchNormWithGlobalNormalization and its gradient, of graphs older than FusedBatchNorm.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The image with the channels of the vectors [1, end).
Result<PartialShape> ImageOf(ShapeContext& c, int end) {
  ASSIGN_OR_RETURN(PartialShape image, c.InputWithRank(0, 4));
  for (int i = 1; i < end; ++i) {
    ASSIGN_OR_RETURN(const PartialShape vector, c.InputWithRank(i, 1));
    Result<int64_t> channels = MergeDims(image.dim(3), vector.dim(0));
    RETURN_IF_ERROR(Explained(channels.status(), "input ", i,
                              " must have one element per channel: the image is ", image,
                              ", it is ", vector));
    image.set_dim(3, *channels);
  }
  return image;
}

Status NormShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, ImageOf(c, 5));
  c.set_output(0, image);
  return OkStatus();
}

Status NormGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape image, ImageOf(c, 4));
  ASSIGN_OR_RETURN(const PartialShape backprop, c.InputWithRank(4, 4));
  ASSIGN_OR_RETURN(image, image.MergeWith(backprop));
  c.set_output(0, image);
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape{image.dim(3)});
  return OkStatus();
}

Status NormGradient(GradientContext& c) {
  AttrMap attrs;
  for (const char* name : {"variance_epsilon", "scale_after_normalization"}) {
    attrs.Set(name, *c.node().FindAttr(name));
  }
  Node* grads = c.b().OpNode("BatchNormWithGlobalNormalizationGrad",
                             {c.input(0), c.input(1), c.input(2), c.input(4), c.grad(0)}, attrs);
  for (int i = 0; i < 5; ++i) c.set_input_grad(i, Output{grads, i});
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(global_batch_norm) {
  registry.Op("BatchNormWithGlobalNormalization")
      .Shape(NormShape)
      .Gradient(NormGradient)
      .Doc("Normalizes by given moments; FusedBatchNorm has taken its place.");
  registry.Op("BatchNormWithGlobalNormalizationGrad")
      .Shape(NormGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradients of BatchNormWithGlobalNormalization.");
}
