// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status KmeansShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape points, c.InputWithRank(0, 2));
  for (int i = 1; i < 4; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  int64_t rows = PartialShape::kUnknownDim;
  if (const Tensor wanted = c.InputValue(1); !wanted.empty()) {
    rows = IntAt(wanted, 0);
    if (rows <= 0) return InvalidArgument("num_to_sample must be positive, got ", rows);
  }
  c.set_output(0, PartialShape{rows, points.dim(1)});
  return OkStatus();
}

Status ChainShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape(Shape{}));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(cluster_seeds) {
  registry.Op("KMC2ChainInitialization")
      .Shape(ChainShape)
      .NotDifferentiable("its output is an integer")
      .Doc("The point at which a chain of k-MC2 ends, for one more center of a clustering.");
  registry.Op("KmeansPlusPlusInitialization")
      .Shape(KmeansShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("Points far from each other, drawn as k-means++ does, to begin a clustering with.");
}
