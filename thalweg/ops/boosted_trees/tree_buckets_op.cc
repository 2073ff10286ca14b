// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// For each feature its number of elements: the buckets of its values.
Status BucketizeTreesShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape boundaries, c.InputWithRank(c.num_outputs() + i, 1));
    const PartialShape& values = c.input(i);
    c.set_output(i, PartialShape{values.IsFullyDefined() ? values.ToShape().num_elements()
                                                         : PartialShape::kUnknownDim});
  }
  return OkStatus();
}

Status MakeSummariesShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(c.num_inputs() - 1, 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape{PartialShape::kUnknownDim, 4});
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tree_buckets) {
  registry.Op("BoostedTreesBucketize")
      .Shape(BucketizeTreesShape)
      .NotDifferentiable("its outputs are integers")
      .Doc("The number of the first boundary that is not below each value, or of the last.");
  registry.Op("BoostedTreesMakeQuantileSummaries")
      .Shape(MakeSummariesShape)
      .NotDifferentiable("a summary of quantiles has no derivative")
      .Doc(
          "A summary of the weighted values of each feature: value, weight, lowest and highest "
          "rank.");
}
