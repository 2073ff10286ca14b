// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin: where the extremum along one dimension is.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status ArgShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 1));
  if (!x.known_rank()) return OkStatus();
  const Tensor axis_value = c.InputValue(1);
  if (axis_value.empty()) {
    c.set_output(0, PartialShape::OfRank(x.rank() - 1));
    return OkStatus();
  }
  const std::optional<int> axis = AxisFromFront(IntAt(axis_value, 0), x.rank());
  if (!axis.has_value()) {
    return InvalidArgument("Dimension (", IntAt(axis_value, 0), ") must be in the range [",
                           -x.rank(), ", ", x.rank(), "), where ", x.rank(),
                           " is the number of dimensions in the input.");
  }
  Dims dims = x.dims();
  dims.erase(*axis);
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(arg) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    registry.Op(op)
        .Shape(ArgShape)
        .NotDifferentiable("an index has no derivative")
        .Doc("The index of the first largest, or smallest, element along a dimension.");
  }
}
