// SPDX-License-Identifier: Apache-2.0
// FusedBatchNorm, its versions V2 and V3, and their gradients.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/batch_norm_second.h"
#include "thalweg/ops/nn/slide.h"

namespace thalweg {
namespace {

Result<SlideFormat> FormatOf(const Node& node) {
  ASSIGN_OR_RETURN(const std::string format, node.Attr<std::string>("data_format"));
  return ParseSlideFormat(format);
}

// The moments of all these operations: inputs 3 and 4.
constexpr int kMoments = 3;

// x with its channels merged with those of the vectors from input `begin` on. Moments that are
// computed come in empty.
Result<PartialShape> MergedImage(ShapeContext& c, int image, int begin, bool may_lack_moments) {
  ASSIGN_OR_RETURN(const SlideFormat format, FormatOf(c.node()));
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRank(image, format.rank));
  int64_t channels = x.dim(format.channels());
  for (int i = begin; i < kMoments + 2; ++i) {
    ASSIGN_OR_RETURN(const PartialShape vector, c.InputWithRank(i, 1));
    const int64_t size = vector.dim(0);
    if (size == 0 && i >= kMoments && may_lack_moments) continue;
    Result<int64_t> merged = MergeDims(channels, size);
    RETURN_IF_ERROR(Explained(merged.status(), "input ", i, " must have one element per channel"));
    channels = *merged;
  }
  x.set_dim(format.channels(), channels);
  return x;
}

Status BatchNormShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const SlideFormat format, FormatOf(c.node()));
  ASSIGN_OR_RETURN(const PartialShape x, MergedImage(c, 0, 1, true));
  c.set_output(0, x);
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape{x.dim(format.channels())});
  if (c.num_outputs() == 6) c.set_output(5, PartialShape{0});
  return OkStatus();
}

Status BatchNormGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const SlideFormat format, FormatOf(c.node()));
  ASSIGN_OR_RETURN(const PartialShape x, MergedImage(c, 1, 2, false));
  ASSIGN_OR_RETURN(const PartialShape grad, c.InputWithRank(0, format.rank));
  ASSIGN_OR_RETURN(const PartialShape image, x.MergeWith(grad));
  c.set_output(0, image);
  for (int i : {1, 2}) c.set_output(i, PartialShape{image.dim(format.channels())});
  for (int i : {3, 4}) c.set_output(i, PartialShape{0});
  for (int i = 5; i < c.num_outputs(); ++i) c.set_output(i, image);  // by side inputs
  return OkStatus();
}

Status BatchNormGradient(GradientContext& c) {
  GradientMath m(c);
  const Node& node = c.node();
  ASSIGN_OR_RETURN(const bool training, node.Attr<bool>("is_training"));
  AttrMap attrs;
  for (const char* name : {"epsilon", "data_format", "is_training"}) {
    attrs.Set(name, *node.FindAttr(name));
  }
  // Inference normalizes with the moments given.
  std::vector<Output> inputs = {c.grad(0), c.input(0), c.input(1),
                                training ? c.output(3) : c.input(3),
                                training ? c.output(4) : c.input(4)};
  std::string op = "FusedBatchNormGrad";
  if (node.op_name() == "FusedBatchNormV2") op += "V2";
  if (node.op_name() == "FusedBatchNormV3") {
    op += "V3";
    inputs.push_back(c.output(5));
  }
  Node* grads = c.b().OpNode(op, inputs, attrs);
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, Output{grads, i});
  return m.status();
}

Status SecondGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const SlideFormat format, FormatOf(c.node()));
  ASSIGN_OR_RETURN(const float epsilon, c.node().Attr<float>("epsilon"));
  ASSIGN_OR_RETURN(const bool training, c.node().Attr<bool>("is_training"));
  return SecondBatchNorm(c, format, epsilon).Make(training);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(batch_norm) {
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
    registry.Op(op)
        .Shape(BatchNormShape)
        .Gradient(BatchNormGradient)
        .Doc("scale * (x - mean) / sqrt(variance + epsilon) + offset, by channel.");
  }
  for (const char* op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    registry.Op(op)
        .Shape(BatchNormGradShape)
        .Gradient(SecondGradient)
        .Doc("The gradients of FusedBatchNorm by x, scale and offset.");
  }
  registry.Op("_FusedBatchNormEx")
      .Shape(BatchNormShape)
      .NotDifferentiable("rewrites make it, after gradients are made")
      .Doc("FusedBatchNorm, then a sum with side_input and Relu, in one pass.");
  registry.Op("_FusedBatchNormGradEx")
      .Shape(BatchNormGradShape)
      .NotDifferentiable("rewrites make it, after gradients are made")
      .Doc("The gradients of _FusedBatchNormEx by x, scale and offset.");
}
