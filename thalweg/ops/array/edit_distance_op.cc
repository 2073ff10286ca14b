// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The larger of both shapes without the last dimension.
Status EditDistanceShape(ShapeContext& c) {
  const int ranks[] = {2, 1, 1, 2, 1, 1};
  for (int i = 0; i < 6; ++i) RETURN_IF_ERROR(c.InputWithRank(i, ranks[i]).status());
  const Tensor hypothesis = c.InputValue(2);
  const Tensor truth = c.InputValue(5);
  if (hypothesis.empty() || truth.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const Shape a, ShapeOf(hypothesis, "hypothesis_shape"));
  ASSIGN_OR_RETURN(const Shape b, ShapeOf(truth, "truth_shape"));
  if (a.rank() != b.rank()) {
    return InvalidArgument(
        "Expected truth and hypothesis to have matching ranks, but their shapes "
        "are: ",
        b, " and ", a);
  }
  Dims dims;
  for (int i = 0; i + 1 < a.rank(); ++i) dims.push_back(std::max(a.dim(i), b.dim(i)));
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(edit_distance) {
  registry.Op("EditDistance")
      .Shape(EditDistanceShape)
      .NotDifferentiable("the number of edits is no smooth function of the elements")
      .Doc(
          "The Levenshtein distance of pairs of sequences, given as the rows of two sparse "
          "tensors.");
}
