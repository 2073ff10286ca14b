// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(function_frame) {
  constexpr std::string_view kWhy = "the call of the function is differentiated, not its frame";
  registry.Op("_Arg")
      .Shape(UnknownShape)
      .NotDifferentiable(kWhy)
      .Doc("Stands for an argument in the body of a function.");
  registry.Op("_Retval").Shape(NoOutputs).NotDifferentiable(kWhy).Doc(
      "Stands for a result in the body of a function.");
}
