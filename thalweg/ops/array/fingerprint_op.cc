// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The only method gives 8 bytes; any other is an error when it runs.
Status FingerprintShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape data, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape{data.known_rank() ? data.dim(0) : PartialShape::kUnknownDim, 8});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fingerprint) {
  registry.Op("Fingerprint")
      .Shape(FingerprintShape)
      .NotDifferentiable("its output are bytes")
      .Doc("A fingerprint of 8 bytes for every row of a tensor.");
}
