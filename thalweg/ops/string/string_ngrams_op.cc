// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status NGramsShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  ASSIGN_OR_RETURN(const PartialShape splits, c.InputWithRank(1, 1));
  c.set_output(0, PartialShape{PartialShape::kUnknownDim});
  c.set_output(1, splits);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(string_ngrams) {
  registry.Op("StringNGrams")
      .Shape(NGramsShape)
      .NotDifferentiable("strings have no derivative")
      .Doc("Neighboring strings of each row joined, for some numbers of neighbors.");
}
