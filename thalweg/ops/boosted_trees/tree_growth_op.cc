// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CenterBiasShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(4, 0).status());
  return ScalarShape(c);
}

// Lists of one entry for each candidate, in which the candidates of one feature agree.
Status UpdateShape(ShapeContext& c, int first, const std::vector<int>& ranks, int64_t features) {
  for (int64_t f = 0; f < features; ++f) {
    int64_t candidates = PartialShape::kUnknownDim;
    for (size_t list = 0; list < ranks.size(); ++list) {
      const int i = first + static_cast<int>(static_cast<int64_t>(list) * features + f);
      ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(i, ranks[list]));
      ASSIGN_OR_RETURN(candidates, MergeDims(candidates, shape.dim(0)));
    }
  }
  return OkStatus();
}

Status UpdateEnsembleShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  return UpdateShape(c, 2, {1, 1, 1, 2, 2}, features);
}

Status UpdateEnsembleV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
  ASSIGN_OR_RETURN(const int64_t groups, c.Attr<int64_t>("num_groups"));
  for (int64_t g = 0; g < groups; ++g) {
    RETURN_IF_ERROR(c.InputWithRank(1 + static_cast<int>(g), 1).status());
  }
  return UpdateShape(c, 1 + static_cast<int>(groups), {1, 1, 1, 1, 2, 2, 1}, features);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tree_growth) {
  constexpr std::string_view kWhy = "a tree ensemble has no derivative";
  registry.Op("BoostedTreesUpdateEnsemble")
      .Shape(UpdateEnsembleShape)
      .NotDifferentiable(kWhy)
      .Doc("Grows a layer from the best splits of each feature.");
  registry.Op("BoostedTreesUpdateEnsembleV2")
      .Shape(UpdateEnsembleV2Shape)
      .NotDifferentiable(kWhy)
      .Doc("Grows a layer from the best splits of each feature and dimension.");
  registry.Op("BoostedTreesCenterBias")
      .Shape(CenterBiasShape)
      .NotDifferentiable(kWhy)
      .Doc("Moves what the first node adds to the mean; whether it moved much.");
}
