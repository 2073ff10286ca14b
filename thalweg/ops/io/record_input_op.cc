// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// As in TensorFlow, nothing is said of how many there are.
Status RecordsShape(ShapeContext& c) { return UnknownShape(c); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(record_input) {
  registry.Op("RecordInput")
      .Shape(RecordsShape)
      .NotDifferentiable("files have no derivative")
      .Doc("The next records of files, shuffled; every record once before any comes again.");
}
