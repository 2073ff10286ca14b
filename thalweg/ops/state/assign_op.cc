// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status AssignShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool validate, c.Attr<bool>("validate_shape"));
  if (!validate) {
    c.set_output(0, c.input(1));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(PartialShape merged, c.input(0).MergeWith(c.input(1)));
  c.set_output(0, std::move(merged));
  return OkStatus();
}

Status UpdateShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape merged, c.input(0).MergeWith(c.input(1)));
  c.set_output(0, std::move(merged));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(assign) {
  constexpr std::string_view kWhy = "it changes a variable";
  registry.Op("Assign")
      .Shape(AssignShape)
      .NotDifferentiable(kWhy)
      .Doc("Gives a variable a value; gives its reference on.");
  registry.Op("AssignAdd")
      .Shape(UpdateShape)
      .NotDifferentiable(kWhy)
      .Doc("Adds to a variable; gives its reference on.");
  registry.Op("AssignSub")
      .Shape(UpdateShape)
      .NotDifferentiable(kWhy)
      .Doc("Subtracts from a variable; gives its reference on.");
  for (const char* name : {"CountUpTo", "ResourceCountUpTo"}) {
    registry.Op(name)
        .Shape(ScalarShape)
        .NotDifferentiable("it counts integers")
        .Doc("The value of a variable, which grows by one; an error from the limit on.");
  }
}
