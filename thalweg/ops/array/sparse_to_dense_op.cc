// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status SparseToDenseShape(ShapeContext& c) {
  if (c.input(0).rank() > 2) {
    return InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ",
                           c.input(0));
  }
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  if (c.input(2).rank() > 1) {
    return InvalidArgument("sparse_values should be a scalar or vector, got shape ", c.input(2));
  }
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const Tensor shape = c.InputValue(1);
  if (!shape.empty()) RETURN_IF_ERROR(ShapeOf(shape, "output_shape").status());
  c.set_output(0, c.InputAsShape(1));
  return OkStatus();
}

// The values get what stands at their places, the default what is left. Indices as a matrix,
// whatever form they came in.
Status SparseToDenseGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output zero = b.Const(std::vector<int32_t>{0});
  const Output rank = b.Op("Size", {c.input(1)});
  const Output depth = b.Op("Reshape", {rank, b.Const(std::vector<int32_t>{1})});
  const Output rows =
      b.Op("ConcatV2", {b.Const(std::vector<int32_t>{-1}), depth, b.ScalarConst(DType::kInt32, 0)});
  const Output indices = b.Op("Reshape", {c.input(0), rows});
  const Output at_places = b.Op("GatherNd", {c.grad(0), indices});
  const Output axes =
      b.Op("Range", {b.ScalarConst(DType::kInt32, 0), rank, b.ScalarConst(DType::kInt32, 1)});
  const Output given = b.Op("Sum", {at_places, zero});
  const Output shape = b.Op("Shape", {c.input(2)});
  // One value for all places gets the sum over them.
  Node* const repeated = b.OpNode("BroadcastGradientArgs", {shape, b.Op("Shape", {at_places})});
  if (!b.ok()) return b.status();
  const Output values = b.Op("Sum", {at_places, Output{repeated, 0}});
  c.set_input_grad(2, b.Op("Reshape", {values, shape}));
  c.set_input_grad(3, b.Op("Sub", {b.Op("Sum", {c.grad(0), axes}), given}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_to_dense) {
  registry.Op("SparseToDense")
      .Shape(SparseToDenseShape)
      .Gradient(SparseToDenseGradient)
      .Doc("A dense tensor with values at the places that indices name and a default elsewhere.");
}
