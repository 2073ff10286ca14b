// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Inputs index, seed, max_index: of each one for all, or one for each.
Status ShuffleShape(ShapeContext& c) {
  const PartialShape &index = c.input(0), &seed = c.input(1), &most = c.input(2);
  if (!index.known_rank() || !seed.known_rank() || !most.known_rank()) return OkStatus();
  if (index.rank() > 1 || most.rank() > 1) {
    return InvalidArgument("index and max_index must be scalars or vectors, got shapes ", index,
                           " and ", most);
  }
  RETURN_IF_ERROR(CheckRankAtLeast(seed.rank(), 1));
  if (seed.rank() > 2 || !MergeDims(seed.dim(seed.rank() - 1), 3).ok()) {
    return InvalidArgument("seed must have shape [3] or [n, 3], got ", seed);
  }
  if (index.rank() == 0 && seed.rank() == 1 && most.rank() == 0) {
    c.set_output(0, Shape());
    return OkStatus();
  }
  int64_t count = PartialShape::kUnknownDim;
  for (const auto& [shape, rank] : {std::pair(&index, 1), {&seed, 2}, {&most, 1}}) {
    if (shape->rank() != rank) continue;
    ASSIGN_OR_RETURN(count, MergeDims(count, shape->dim(0)));
  }
  c.set_output(0, PartialShape{count});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(index_shuffle) {
  registry.Op("RandomIndexShuffle")
      .Shape(ShuffleShape)
      .NotDifferentiable("its inputs are integers")
      .Doc("Where an index goes in a random order of [0, max_index].");
}
