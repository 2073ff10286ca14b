// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(timestamp) {
  registry.Op("Timestamp")
      .Shape(ScalarShape)
      .NotDifferentiable("time has no inputs")
      .Doc("Seconds since the beginning of 1970, when this runs.");
}
