// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(one_shot_iterator) {
  registry.Op("OneShotIterator")
      .Shape(thalweg::ScalarShape)
      .NotDifferentiable("an iterator is no number")
      .Doc("An iterator over the dataset that a function makes, once.");
}
