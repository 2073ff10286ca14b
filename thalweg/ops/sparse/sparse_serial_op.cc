// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status SerializeShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  c.set_output(0, PartialShape{3});
  return OkStatus();
}

Status SerializeManyShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  const PartialShape shape = c.InputAsShape(2);
  const int64_t rows = shape.known_rank() && shape.rank() > 0 ? shape.dim(0) : -1;
  c.set_output(0, PartialShape{rows, 3});
  return OkStatus();
}

Status DeserializeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRankAtLeast(0, 1));
  if (serialized.known_rank()) {
    RETURN_IF_ERROR(MergeDims(serialized.dim(serialized.rank() - 1), 3).status());
  }
  SetSparseShapes(c, 0, -1);
  return OkStatus();
}

Status DeserializeManyShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRank(0, 2));
  RETURN_IF_ERROR(MergeDims(serialized.dim(1), 3).status());
  SetSparseShapes(c, 0, -1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_serial) {
  constexpr std::string_view kWhy = "a serialized tensor is text";
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    registry.Op(name).Shape(shape).NotDifferentiable(kWhy).Doc(doc);
  };
  add("SerializeSparse", SerializeShape, "A sparse tensor as three strings.");
  add("SerializeManySparse", SerializeManyShape,
      "Each row of a sparse tensor as a sparse tensor of its own, in three strings.");
  add("DeserializeSparse", DeserializeShape, "Serialized sparse tensors, stacked.");
  add("DeserializeManySparse", DeserializeManyShape,
      "Serialized sparse tensors, stacked along a new first dimension.");
}
