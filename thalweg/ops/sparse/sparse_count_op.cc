// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

// Weights are as many as the values, or none; which of the two, the kernel sees.
Status DenseCountShape(ShapeContext& c) {
  const PartialShape& values = c.input(0);
  if (values.known_rank() && values.rank() != 1 && values.rank() != 2) {
    return InvalidArgument("values must be a vector or a matrix, got shape ", values);
  }
  SetSparseShapes(c, 0, values.known_rank() ? values.rank() : -1);
  return OkStatus();
}

Status RaggedCountShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  SetSparseShapes(c, 0, 2);
  return OkStatus();
}

Status SparseCountShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  const int64_t rank = SparseRank(c, 0);
  SetSparseShapes(c, 0, rank < 0 ? -1 : std::min<int64_t>(rank, 2));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_count) {
  constexpr std::string_view kWhy = "counts have no derivatives";
  registry.Op("DenseCountSparseOutput")
      .Shape(DenseCountShape)
      .NotDifferentiable(kWhy)
      .Doc("How often each number occurs in each row of a dense tensor, as a sparse tensor.");
  registry.Op("RaggedCountSparseOutput")
      .Shape(RaggedCountShape)
      .NotDifferentiable(kWhy)
      .Doc("How often each number occurs in each row of a ragged tensor, as a sparse tensor.");
  registry.Op("SparseCountSparseOutput")
      .Shape(SparseCountShape)
      .NotDifferentiable(kWhy)
      .Doc("How often each number occurs in each row of a sparse tensor, as a sparse tensor.");
}
