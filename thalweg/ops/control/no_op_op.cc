// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(no_op) {
  registry.Op("NoOp")
      .Shape(NoOutputs)
      .NotDifferentiable("it has no inputs")
      .Doc("Does nothing; other nodes wait for it through control edges.");
  registry.Op("ControlTrigger")
      .Shape(NoOutputs)
      .NotDifferentiable("it has no inputs")
      .Doc("Does nothing, but runs also when one of its control inputs is dead.");
}
