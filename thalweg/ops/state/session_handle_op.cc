// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status GetTensorShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return UnknownShape(c);
}

Status DeleteTensorShape(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(session_handle) {
  constexpr std::string_view kWhy = "a value that is kept between runs has no path to what made it";
  for (const char* name : {"GetSessionHandle", "GetSessionHandleV2"}) {
    registry.Op(name)
        .Shape(ScalarShape)
        .NotDifferentiable(kWhy)
        .Doc("Keeps a tensor on its device after the run; gives a handle to it.");
  }
  registry.Op("GetSessionTensor")
      .Shape(GetTensorShape)
      .NotDifferentiable(kWhy)
      .Doc("The tensor that a handle of an earlier run stands for.");
  registry.Op("DeleteSessionTensor")
      .Shape(DeleteTensorShape)
      .NotDifferentiable(kWhy)
      .Doc("Lets go of the tensor that a handle stands for.");
}
