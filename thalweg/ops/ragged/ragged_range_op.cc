// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Each input is a scalar for all rows or a vector with one element a row.
Status RangeShape(ShapeContext& c) {
  int64_t rows = PartialShape::kUnknownDim;
  bool known = true, any_vector = false;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& shape = c.input(i);
    RETURN_IF_ERROR(CheckRankAtMost(shape.rank(), 1));
    if (!shape.known_rank()) {
      known = false;
    } else if (shape.rank() == 1) {
      any_vector = true;
      ASSIGN_OR_RETURN(rows, MergeDims(rows, shape.dim(0)));
    }
  }
  if (rows >= 0) {
    ++rows;
  } else if (known && !any_vector) {
    rows = 2;
  }
  c.set_output(0, PartialShape{rows});
  c.set_output(1, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ragged_range) {
  registry.Op("RaggedRange")
      .Shape(RangeShape)
      .NotDifferentiable("its length depends on its inputs")
      .Doc("Rows of numbers, each from a start to a limit in steps.");
}
