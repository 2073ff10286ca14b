// SPDX-License-Identifier: Apache-2.0
// PopulationCount: how many bits are set.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(population_count) {
  registry.Op("PopulationCount")
      .Shape(UnchangedShape)
      .NotDifferentiable("integers have no derivatives")
      .Doc("How many bits of each integer are set.");
}
