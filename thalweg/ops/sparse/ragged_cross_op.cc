// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// One split more than rows, whichever kind of column says how many there are.
Status RaggedCrossShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const auto ragged, c.Attr<std::vector<DType>>("ragged_values_types"));
  ASSIGN_OR_RETURN(const auto splits, c.Attr<std::vector<DType>>("ragged_splits_types"));
  ASSIGN_OR_RETURN(const auto dense, c.Attr<std::vector<DType>>("dense_types"));
  int64_t rows = PartialShape::kUnknownDim;
  const int first_splits = static_cast<int>(ragged.size());
  for (int i = 0; i < static_cast<int>(splits.size()); ++i) {
    ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(first_splits + i, 1));
    if (shape.dim(0) > 0) {
      ASSIGN_OR_RETURN(rows, MergeDims(rows, shape.dim(0) - 1));
    }
  }
  for (int i = c.num_inputs() - static_cast<int>(dense.size()); i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(i, 2));
    ASSIGN_OR_RETURN(rows, MergeDims(rows, shape.dim(0)));
  }
  if (c.num_inputs() == 0) rows = 0;
  c.set_output(0, PartialShape{PartialShape::kUnknownDim});
  c.set_output(1, PartialShape{rows < 0 ? rows : rows + 1});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ragged_cross) {
  registry.Op("RaggedCross")
      .Shape(RaggedCrossShape)
      .NotDifferentiable("texts and hashes have none")
      .Doc("Every combination of the features in a row of ragged, sparse and dense columns.");
}
