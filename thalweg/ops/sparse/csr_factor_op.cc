// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// A vector, or a matrix with a row for each matrix of a batch.
Status OrderShape(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

Status FactorShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape order, c.InputWithRankAtLeast(1, 1));
  if (order.known_rank() && order.rank() > 2) {
    return InvalidArgument("permutation must be a vector or a matrix, got shape ", order);
  }
  c.set_output(0, PartialShape(Shape()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(csr_factor) {
  registry.Op("SparseMatrixOrderingAMD")
      .Shape(OrderShape)
      .NotDifferentiable("an order is no number")
      .Doc("An order of rows in which a Cholesky factor stays sparse.");
  registry.Op("SparseMatrixSparseCholesky")
      .Shape(FactorShape)
      .NotDifferentiable("TensorFlow gives none either")
      .Doc("The Cholesky factor of a sparse matrix whose rows are put into another order.");
}
