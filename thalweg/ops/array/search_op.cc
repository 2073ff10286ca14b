// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SearchShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape sorted, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(PartialShape values, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const int64_t rows, MergeDims(sorted.dim(0), values.dim(0)));
  values.set_dim(0, rows);
  c.set_output(0, std::move(values));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(search) {
  constexpr std::string_view kWhy = "its output are integers";
  registry.Op("LowerBound")
      .Shape(SearchShape)
      .NotDifferentiable(kWhy)
      .Doc("For each value the first place in its sorted row that is not below it.");
  registry.Op("UpperBound")
      .Shape(SearchShape)
      .NotDifferentiable(kWhy)
      .Doc("For each value the first place in its sorted row that is above it.");
  registry.Op("Bucketize")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("For each element how many of the boundaries are not above it.");
}
