// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The number of examples, on which features agree: vectors, or matrices of a row for each example.
Result<int64_t> BatchOfFeatures(ShapeContext& c, int first, int64_t batch) {
  for (int i = first; i < c.num_inputs(); ++i) {
    if (!c.input(i).known_rank()) continue;
    RETURN_IF_ERROR(CheckRankAtLeast(c.input(i).rank(), 1));
    RETURN_IF_ERROR(CheckRankAtMost(c.input(i).rank(), 2));
    ASSIGN_OR_RETURN(batch, MergeDims(batch, c.input(i).dim(0)));
  }
  return batch;
}

Result<int64_t> LogitsOf(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t logits, c.Attr<int64_t>("logits_dimension"));
  if (logits >= 1) return logits;
  return InvalidArgument("logits_dimension must be above 0, got ", logits);
}

Status TreePredictShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t logits, LogitsOf(c));
  ASSIGN_OR_RETURN(const int64_t batch, BatchOfFeatures(c, 1, PartialShape::kUnknownDim));
  c.set_output(0, PartialShape{batch, logits});
  return OkStatus();
}

Status TreeTrainingPredictShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t logits, LogitsOf(c));
  ASSIGN_OR_RETURN(const PartialShape trees, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape nodes, c.InputWithRank(2, 1));
  ASSIGN_OR_RETURN(int64_t batch, MergeDims(trees.dim(0), nodes.dim(0)));
  ASSIGN_OR_RETURN(batch, BatchOfFeatures(c, 3, batch));
  c.set_output(0, PartialShape{batch, logits});
  c.set_output(1, PartialShape{batch});
  c.set_output(2, PartialShape{batch});
  return OkStatus();
}

Status TreeDebugShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t batch, BatchOfFeatures(c, 1, PartialShape::kUnknownDim));
  c.set_output(0, PartialShape{batch});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tree_prediction) {
  constexpr std::string_view kWhy = "features are integers, and a tree ensemble has no derivative";
  registry.Op("BoostedTreesPredict")
      .Shape(TreePredictShape)
      .NotDifferentiable(kWhy)
      .Doc("The sum of what all trees add for each example.");
  registry.Op("BoostedTreesTrainingPredict")
      .Shape(TreeTrainingPredictShape)
      .NotDifferentiable(kWhy)
      .Doc("What the ensemble adds since examples came to given nodes, and where they are now.");
  registry.Op("BoostedTreesExampleDebugOutputs")
      .Shape(TreeDebugShape)
      .NotDifferentiable(kWhy)
      .Doc("The features by which each example was split, and its logits after each, as messages.");
}
