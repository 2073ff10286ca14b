// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ScalarInputs(ShapeContext& c, int first) {
  for (int i = first; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return OkStatus();
}

// How many nodes can be split is not known before: the first dimension of every output.
Status BestGainsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t splits, c.Attr<int64_t>("max_splits"));
  ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
  ASSIGN_OR_RETURN(const PartialShape range, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(CheckDim(range.dim(0), 2));
  for (int64_t f = 0; f < features; ++f) {
    ASSIGN_OR_RETURN(const PartialShape summary, c.InputWithRank(1 + static_cast<int>(f), 3));
    RETURN_IF_ERROR(CheckDim(summary.dim(0), splits));
    RETURN_IF_ERROR(CheckDim(summary.dim(2), 2));
    for (int list = 0; list < 5; ++list) {
      PartialShape shape{PartialShape::kUnknownDim};
      if (list >= 3) shape = PartialShape{PartialShape::kUnknownDim, 1};
      c.set_output(list * static_cast<int>(features) + static_cast<int>(f), shape);
    }
  }
  return ScalarInputs(c, 1 + static_cast<int>(features));
}

Status SplitOutputs(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t logits, c.Attr<int64_t>("logits_dimension"));
  const int outputs = c.num_outputs();
  for (int i = 0; i < outputs; ++i) {
    const bool is_contribution = i == outputs - 3 || i == outputs - 2;
    c.set_output(i, is_contribution ? PartialShape{PartialShape::kUnknownDim, logits}
                                    : PartialShape{PartialShape::kUnknownDim});
  }
  return OkStatus();
}

Status BestFeatureSplitShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape range, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(CheckDim(range.dim(0), 2));
  RETURN_IF_ERROR(c.InputWithRank(1, 4).status());
  RETURN_IF_ERROR(ScalarInputs(c, 2));
  return SplitOutputs(c);
}

Status BestFeatureSplitV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
  ASSIGN_OR_RETURN(const PartialShape range, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(CheckDim(range.dim(0), 2));
  const int last = 1 + static_cast<int>(features);
  for (int i = 1; i < last; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 4).status());
  for (const int i : {last, last + 1}) {
    ASSIGN_OR_RETURN(const PartialShape of_features, c.InputWithRank(i, 1));
    RETURN_IF_ERROR(CheckDim(of_features.dim(0), features));
  }
  RETURN_IF_ERROR(ScalarInputs(c, last + 2));
  return SplitOutputs(c);
}

Status SparseBestFeatureSplitShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape range, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(CheckDim(range.dim(0), 2));
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(2, 1));
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(3, 1));
  RETURN_IF_ERROR(CheckDim(indices.dim(1), 4));
  RETURN_IF_ERROR(CheckDim(shape.dim(0), 4));
  RETURN_IF_ERROR(MergeDims(indices.dim(0), values.dim(0)).status());
  RETURN_IF_ERROR(ScalarInputs(c, 4));
  return SplitOutputs(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tree_splits) {
  constexpr std::string_view kWhy = "a split is a choice, which has no derivative";
  registry.Op("BoostedTreesCalculateBestGainsPerFeature")
      .Shape(BestGainsShape)
      .NotDifferentiable(kWhy)
      .Doc("Of each feature the best split of each node.");
  registry.Op("BoostedTreesCalculateBestFeatureSplit")
      .Shape(BestFeatureSplitShape)
      .NotDifferentiable(kWhy)
      .Doc("The best split of each node among the dimensions of one feature.");
  registry.Op("BoostedTreesCalculateBestFeatureSplitV2")
      .Shape(BestFeatureSplitV2Shape)
      .NotDifferentiable(kWhy)
      .Doc("The best split of each node among several features.");
  registry.Op("BoostedTreesSparseCalculateBestFeatureSplit")
      .Shape(SparseBestFeatureSplitShape)
      .NotDifferentiable(kWhy)
      .Doc("The best split of each node among the dimensions of a sparse feature.");
}
