// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status OneHotShape(ShapeContext& c) {
  for (int i = 1; i < 4; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
  if (axis < -1) return InvalidArgument("axis must be >= -1, got ", axis);
  const PartialShape& indices = c.input(0);
  if (!indices.known_rank()) return OkStatus();
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, indices.rank() + 1, "axis"));
  const Tensor depth = c.InputValue(1);
  int64_t size = PartialShape::kUnknownDim;
  if (!depth.empty()) {
    size = IntAt(depth, 0);
    if (size < 0)
      return InvalidArgument(
          "Dimension size, given by scalar input 1, must be non-negative but is ", size);
  }
  Dims dims = indices.dims();
  dims.insert(at, size);
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status WhereShape(ShapeContext& c) {
  const int rank = c.input(0).rank();
  c.set_output(0, PartialShape{PartialShape::kUnknownDim,
                               rank < 0 ? PartialShape::kUnknownDim : int64_t{rank}});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(one_hot) {
  registry.Op("OneHot")
      .Shape(OneHotShape)
      .NotDifferentiable("where the value stands depends on integers")
      .Doc(
          "on_value where an index says, off_value elsewhere, along a new "
          "dimension.");
  registry.Op("Where")
      .Shape(WhereShape)
      .NotDifferentiable("its output are integers")
      .Doc("The coordinates of the elements that are not zero, row by row.");
}
