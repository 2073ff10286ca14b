// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The parts as a sparse matrix.
Status SplitShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape{PartialShape::kUnknownDim, 2});
  c.set_output(1, PartialShape{PartialShape::kUnknownDim});
  c.set_output(2, PartialShape{2});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(string_split) {
  constexpr std::string_view kWhy = "strings have no derivative";
  registry.Op("StringSplit")
      .Shape(SplitShape)
      .NotDifferentiable(kWhy)
      .Doc("The parts of strings between any of the delimiting bytes, as a sparse matrix.");
  registry.Op("StringSplitV2")
      .Shape(SplitShape)
      .NotDifferentiable(kWhy)
      .Doc("The parts of strings between separators, or between white space, as a sparse matrix.");
}
