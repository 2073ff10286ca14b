// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// node_ids, gradients and hessians of as many examples.
Result<int64_t> BatchOfStats(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape nodes, c.InputWithRank(0, 1));
  ASSIGN_OR_RETURN(const PartialShape gradients, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape hessians, c.InputWithRank(2, 2));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(nodes.dim(0), gradients.dim(0)));
  return MergeDims(batch, hessians.dim(0));
}

Result<int64_t> CountAttr(ShapeContext& c, std::string_view name) {
  ASSIGN_OR_RETURN(const int64_t count, c.Attr<int64_t>(name));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  if (count >= 1 && count <= kMost) return count;
  return InvalidArgument(name, " must be in [1, ", kMost, "], got ", count);
}

Status MakeStatsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(int64_t batch, BatchOfStats(c));
  ASSIGN_OR_RETURN(const int64_t splits, CountAttr(c, "max_splits"));
  ASSIGN_OR_RETURN(const int64_t buckets, CountAttr(c, "num_buckets"));
  ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
  for (int i = 3; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape feature, c.InputWithRank(i, 1));
    ASSIGN_OR_RETURN(batch, MergeDims(batch, feature.dim(0)));
  }
  c.set_output(0, PartialShape{features, splits, buckets, 2});
  return OkStatus();
}

int64_t SumOfDims(int64_t a, int64_t b) {
  return a < 0 || b < 0 ? PartialShape::kUnknownDim : a + b;
}

Status AggregateStatsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t batch, BatchOfStats(c));
  ASSIGN_OR_RETURN(const PartialShape feature, c.InputWithRank(3, 2));
  RETURN_IF_ERROR(MergeDims(batch, feature.dim(0)).status());
  ASSIGN_OR_RETURN(const int64_t splits, CountAttr(c, "max_splits"));
  ASSIGN_OR_RETURN(const int64_t buckets, CountAttr(c, "num_buckets"));
  const PartialShape &gradients = c.input(1), &hessians = c.input(2);
  const int64_t stats = gradients.known_rank() && hessians.known_rank()
                            ? SumOfDims(gradients.dim(1), hessians.dim(1))
                            : PartialShape::kUnknownDim;
  c.set_output(0, PartialShape{splits, feature.dim(1), buckets + 1, stats});
  return OkStatus();
}

Status SparseAggregateStatsShape(ShapeContext& c) {
  RETURN_IF_ERROR(BatchOfStats(c).status());
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(3, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(4, 1));
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(5, 1));
  RETURN_IF_ERROR(MergeDims(indices.dim(0), values.dim(0)).status());
  RETURN_IF_ERROR(CheckDim(indices.dim(1), 2));
  c.set_output(0, PartialShape{PartialShape::kUnknownDim, 4});
  c.set_output(1, PartialShape{PartialShape::kUnknownDim});
  c.set_output(2, PartialShape{4});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tree_stats) {
  constexpr std::string_view kWhy = "its sums are of gradients, which nobody differentiates again";
  registry.Op("BoostedTreesMakeStatsSummary")
      .Shape(MakeStatsShape)
      .NotDifferentiable(kWhy)
      .Doc("Sums of gradients and hessians by feature, node and bucket.");
  registry.Op("BoostedTreesAggregateStats")
      .Shape(AggregateStatsShape)
      .NotDifferentiable(kWhy)
      .Doc(
          "Sums of gradients and hessians by node, dimension and bucket; the last is of missing "
          "values (-1).");
  registry.Op("BoostedTreesSparseAggregateStats")
      .Shape(SparseAggregateStatsShape)
      .NotDifferentiable(kWhy)
      .Doc("BoostedTreesAggregateStats of a sparse feature, as a sparse tensor.");
}
