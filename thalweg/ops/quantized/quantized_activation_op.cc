// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/quantized/range_shape.h"

namespace thalweg {
namespace {

Status ActivationShape(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 1, 2));
  c.set_output(0, c.input(0));
  ScalarOutputs(c, 1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantized_activation) {
  registry.Op("QuantizedRelu")
      .Shape(ActivationShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels, but at least that of 0.");
  registry.Op("QuantizedRelu6")
      .Shape(ActivationShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels, but at least that of 0 and at most that of 6.");
}
