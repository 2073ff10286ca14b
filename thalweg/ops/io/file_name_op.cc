// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ScalarsToScalar(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return ScalarShape(c);
}

constexpr const char* kText = "text has no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(file_name) {
  registry.Op("ShardedFilename")
      .Shape(ScalarsToScalar)
      .NotDifferentiable(kText)
      .Doc("The name of one of several files: basename-00001-of-00003.");
  registry.Op("ShardedFilespec")
      .Shape(ScalarsToScalar)
      .NotDifferentiable(kText)
      .Doc("A pattern that matches the names of all shards of a file.");
}
