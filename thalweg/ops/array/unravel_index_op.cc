// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status UnravelIndexShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape dims, c.InputWithRank(1, 1));
  const PartialShape& indices = c.input(0);
  if (!indices.known_rank()) return OkStatus();
  if (indices.rank() > 1) {
    return InvalidArgument("The indices can only be scalar or vector, got ", indices);
  }
  c.set_output(0, PartialShape{dims.dim(0)}.Concatenate(indices));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(unravel_index) {
  registry.Op("UnravelIndex")
      .Shape(UnravelIndexShape)
      .NotDifferentiable("its output are integers")
      .Doc("The coordinates, in an array of the given dimensions, of elements given by number.");
}
