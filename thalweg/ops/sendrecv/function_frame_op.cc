// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// What instantiating a function knows of an argument.
Status ArgumentShape(ShapeContext& c) {
  const AttrValue* shapes = c.node().FindAttr("_output_shapes");
  if (shapes != nullptr) {
    const Result<std::vector<PartialShape>> known = shapes->Get<std::vector<PartialShape>>();
    if (known.ok() && known->size() == 1) c.set_output(0, (*known)[0]);
  }
  const AttrValue* dtypes = c.node().FindAttr("_handle_dtypes");
  const AttrValue* handles = c.node().FindAttr("_handle_shapes");
  if (dtypes == nullptr || handles == nullptr) return OkStatus();
  const Result<std::vector<DType>> dtype = dtypes->Get<std::vector<DType>>();
  const Result<std::vector<PartialShape>> shape = handles->Get<std::vector<PartialShape>>();
  if (dtype.ok() && shape.ok() && dtype->size() == 1 && shape->size() == 1) {
    c.set_output_handle(0, {(*dtype)[0], (*shape)[0]});
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(function_frame) {
  constexpr std::string_view kWhy = "the call of the function is differentiated, not its frame";
  registry.Op("_Arg")
      .Shape(ArgumentShape)
      .NotDifferentiable(kWhy)
      .Doc("Stands for an argument in the body of a function.");
  registry.Op("_Retval").Shape(NoOutputs).NotDifferentiable(kWhy).Doc(
      "Stands for a result in the body of a function.");
}
