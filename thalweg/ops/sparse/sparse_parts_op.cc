// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

// Inputs: n indices, n values, n shapes.
Status ConcatShape(ShapeContext& c) {
  const int n = c.num_inputs() / 3;
  PartialShape sizes{PartialShape::kUnknownDim};
  int64_t count = 0;
  for (int i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(i, 2));
    ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(n + i, 1));
    ASSIGN_OR_RETURN(const int64_t own, MergeDims(indices.dim(0), values.dim(0)));
    if (own < 0 || count < 0 || __builtin_add_overflow(count, own, &count)) {
      count = PartialShape::kUnknownDim;
    }
    ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(2 * n + i, 1));
    ASSIGN_OR_RETURN(sizes, sizes.MergeWith(shape));
    ASSIGN_OR_RETURN(sizes, sizes.MergeWith(PartialShape{indices.dim(1)}));
  }
  const int64_t rank = sizes.dim(0);
  c.set_output(0, PartialShape{count, rank});
  c.set_output(1, PartialShape{count});
  c.set_output(2, PartialShape{rank});
  return OkStatus();
}

// Outputs: n indices, n values, n shapes.
Status SplitShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(CheckSparse(c, 1));
  const int n = c.num_outputs() / 3;
  const int64_t rank = SparseRank(c, 1);
  for (int i = 0; i < n; ++i) {
    c.set_output(i, PartialShape{PartialShape::kUnknownDim, rank});
    c.set_output(n + i, PartialShape{PartialShape::kUnknownDim});
    c.set_output(2 * n + i, PartialShape{rank});
  }
  return OkStatus();
}

Status SliceShape(ShapeContext& c) {
  // What is wrong with them is for the kernel to say, as in TensorFlow.
  SetSparseShapes(c, 0, SparseRank(c, 0));
  return OkStatus();
}

Status SliceGradient(GradientContext& c) {
  if (!c.has_grad(1)) return OkStatus();
  c.set_input_grad(1,
                   c.b().Op("SparseSliceGrad", {c.grad(1), c.input(0), c.input(3), c.output(0)}));
  return c.b().status();
}

Status SliceGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 2));
  c.set_output(0, PartialShape{indices.dim(0)});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_parts) {
  registry.Op("SparseConcat")
      .Shape(ConcatShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("Sparse tensors one behind the other along a dimension.");
  registry.Op("SparseSplit")
      .Shape(SplitShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("A sparse tensor cut along a dimension.");
  registry.Op("SparseSlice")
      .Shape(SliceShape)
      .Gradient(SliceGradient)
      .Doc("A block of a sparse tensor.");
  registry.Op("SparseSliceGrad")
      .Shape(SliceGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of SparseSlice for the values.");
}
