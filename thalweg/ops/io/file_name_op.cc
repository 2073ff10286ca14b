// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ScalarsToScalar(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return ScalarShape(c);
}

// Scalars join with any shape; all others must agree.
Status StringJoinShape(ShapeContext& c) {
  PartialShape joined{};
  bool any_unknown = false;
  bool found = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& shape = c.input(i);
    any_unknown |= !shape.known_rank();
    if (!shape.known_rank() || shape.rank() == 0) continue;
    if (!found) {
      joined = shape;
      found = true;
      continue;
    }
    ASSIGN_OR_RETURN(joined, joined.MergeWith(shape));
  }
  if (found) {
    c.set_output(0, joined);
  } else if (!any_unknown) {
    c.set_output(0, PartialShape(Dims()));
  }
  return OkStatus();
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
  registry.Op("StringJoin")
      .Shape(StringJoinShape)
      .NotDifferentiable(kText)
      .Doc("Joins strings element by element; scalars join with every element.");
}
