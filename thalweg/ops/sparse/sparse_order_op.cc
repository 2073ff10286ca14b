// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status ReorderShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(1, 1));
  c.set_output(0, indices);
  c.set_output(1, values);
  return OkStatus();
}

// The gradient goes back to the places from which the values came: the numbers of the places,
// reordered as the values were, are sorted back.
Status ReorderGradient(GradientContext& c) {
  if (!c.has_grad(1)) return OkStatus();
  GraphBuilder& b = c.b();
  const auto number = [&](double value) { return b.ScalarConst(DType::kInt32, value); };
  const Output places = b.Op("Range", {number(0), b.Op("Size", {c.input(1)}), number(1)});
  Node* const moved = b.OpNode("SparseReorder", {c.input(0), places, c.input(2)});
  if (!b.ok()) return b.status();
  const Output back = b.Op("InvertPermutation", {Output{moved, 1}});
  c.set_input_grad(1, b.Op("GatherV2", {c.grad(1), back, number(0)}));
  return b.status();
}

Status ReshapeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(0, 2));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(2, 1));
  c.set_output(0, PartialShape{indices.dim(0), shape.dim(0)});
  c.set_output(1, shape);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_order) {
  registry.Op("SparseReorder")
      .Shape(ReorderShape)
      .Gradient(ReorderGradient)
      .Doc("The same sparse tensor with its indices in order.");
  registry.Op("SparseReshape")
      .Shape(ReshapeShape)
      .NotDifferentiable("its outputs are indices")
      .Doc("The indices of the same elements in another shape.");
}
