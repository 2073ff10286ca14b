// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status SetSizeShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  const PartialShape shape = c.InputAsShape(2);
  if (!shape.known_rank() || shape.rank() == 0) return OkStatus();
  Dims dims;
  for (int d = 0; d + 1 < shape.rank(); ++d) dims.push_back(shape.dim(d));
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

// The shape without the dimension of the elements.
PartialShape Groups(const PartialShape& shape) {
  if (!shape.known_rank()) return shape;
  Dims dims = shape.dims();
  dims.erase(shape.rank() - 1);
  return PartialShape(dims);
}

// Sets of one rank give sets of that rank.
Status DenseDenseShape(ShapeContext& c) {
  const PartialShape &a = c.input(0), &b = c.input(1);
  RETURN_IF_ERROR(CheckRankAtLeast(a.rank(), 2));
  RETURN_IF_ERROR(a.known_rank() ? CheckRank(b.rank(), a.rank()) : CheckRankAtLeast(b.rank(), 2));
  RETURN_IF_ERROR(Groups(a).MergeWith(Groups(b)).status());
  SetSparseShapes(c, 0, a.known_rank() ? a.rank() : b.rank());
  return OkStatus();
}

Status DenseSparseShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 2).status());
  RETURN_IF_ERROR(CheckSparse(c, 1));
  ASSIGN_OR_RETURN(const int64_t rank, MergeDims(c.input(0).rank(), SparseRank(c, 1)));
  SetSparseShapes(c, 0, rank);
  return OkStatus();
}

Status SparseSparseShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  RETURN_IF_ERROR(CheckSparse(c, 3));
  ASSIGN_OR_RETURN(const int64_t rank, MergeDims(SparseRank(c, 0), SparseRank(c, 3)));
  SetSparseShapes(c, 0, rank);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sets) {
  constexpr std::string_view kWhy = "which elements are in a set has no derivative";
  registry.Op("SetSize")
      .Shape(SetSizeShape)
      .NotDifferentiable(kWhy)
      .Doc("How many different elements the rows of the last dimension have.");
  registry.Op("DenseToDenseSetOperation")
      .Shape(DenseDenseShape)
      .NotDifferentiable(kWhy)
      .Doc("Union, intersection or difference of the rows of two tensors, as sets.");
  registry.Op("DenseToSparseSetOperation")
      .Shape(DenseSparseShape)
      .NotDifferentiable(kWhy)
      .Doc("Union, intersection or difference of the rows of a dense and a sparse tensor.");
  registry.Op("SparseToSparseSetOperation")
      .Shape(SparseSparseShape)
      .NotDifferentiable(kWhy)
      .Doc("Union, intersection or difference of the rows of two sparse tensors.");
}
