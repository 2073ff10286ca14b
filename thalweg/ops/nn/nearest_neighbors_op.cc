// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status NearestNeighborsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape points, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape centers, c.InputWithRank(1, 2));
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  RETURN_IF_ERROR(MergeDims(points.dim(1), centers.dim(1)).status());
  int64_t columns = PartialShape::kUnknownDim;
  if (const Tensor k = c.InputValue(2); !k.empty()) {
    const int64_t wanted = IntAt(k, 0);
    if (wanted < 0) return InvalidArgument("k must not be negative, got ", wanted);
    if (wanted == 0) {
      columns = 0;
    } else if (centers.dim(0) >= 0) {
      columns = std::min(wanted, centers.dim(0));
    }
  }
  c.set_output(0, PartialShape{points.dim(0), columns});
  c.set_output(1, PartialShape{points.dim(0), columns});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(nearest_neighbors) {
  registry.Op("NearestNeighbors")
      .Shape(NearestNeighborsShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The k centers nearest to each point, nearest first, and their squared distances.");
}
