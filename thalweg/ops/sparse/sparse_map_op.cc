// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status AddShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  c.set_output(0, PartialShape(Shape()));
  return OkStatus();
}

Status AddManyShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  c.set_output(0, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

Status TakeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  SetSparseShapes(c, 0, -1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_map) {
  constexpr std::string_view kWhy = "a handle is a number that stands for a tensor";
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    registry.Op(name).Shape(shape).NotDifferentiable(kWhy).Doc(doc);
  };
  add("AddSparseToTensorsMap", AddShape, "Keeps a sparse tensor; gives a handle to it.");
  add("AddManySparseToTensorsMap", AddManyShape,
      "Keeps each row of a sparse tensor as a sparse tensor of its own; gives handles to them.");
  add("TakeManySparseFromTensorsMap", TakeShape,
      "Takes kept sparse tensors out, stacked along a new first dimension.");
}
