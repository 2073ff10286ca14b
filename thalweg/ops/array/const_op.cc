// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ConstShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Tensor value, c.Attr<Tensor>("value"));
  ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("dtype"));
  if (value.dtype() != dtype) {
    return InvalidArgument("attribute 'dtype' is ", dtype, " but the value has type ",
                           value.dtype());
  }
  c.set_output(0, value.shape());
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(const) {
  registry.Op("Const")
      .Shape(ConstShape)
      .NotDifferentiable("a constant has no inputs")
      .Doc("A tensor that is part of the graph.");
  registry.Op("HostConst")
      .Shape(ConstShape)
      .NotDifferentiable("a constant has no inputs")
      .Doc("A tensor that is part of the graph, always in host memory.");
}
