// SPDX-License-Identifier: Apache-2.0
// ParseExample, ParseExampleV2, ParseSingleExample.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/parsing/parsed_shapes.h"

namespace thalweg {
namespace {

Status ExampleShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ParsedShapes shapes(c, serialized);
  RETURN_IF_ERROR(shapes.CheckCounts("Nsparse", "Ndense"));
  RETURN_IF_ERROR(shapes.Sparse("sparse_types"));
  return shapes.Dense("Tdense", "dense_shapes");
}

Status ExampleV2Shape(ShapeContext& c) {
  const PartialShape serialized = c.input(0);
  RETURN_IF_ERROR(CheckRankAtMost(serialized.rank(), 1));
  RETURN_IF_ERROR(CheckRankAtMost(c.input(1).rank(), 1));
  for (int i = 1; i < 5; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  ParsedShapes shapes(c, serialized);
  RETURN_IF_ERROR(shapes.CheckCounts("num_sparse", ""));
  RETURN_IF_ERROR(shapes.Sparse("sparse_types"));
  RETURN_IF_ERROR(shapes.Dense("Tdense", "dense_shapes"));
  return shapes.Ragged("ragged_value_types", "ragged_split_types");
}

Status SingleExampleShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRank(0, 0));
  ParsedShapes shapes(c, serialized);
  RETURN_IF_ERROR(shapes.CheckCounts("num_sparse", ""));
  RETURN_IF_ERROR(shapes.Sparse("sparse_types"));
  return shapes.Dense("Tdense", "dense_shapes");
}

constexpr const char* kMessages = "messages have no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(parse_example) {
  registry.Op("ParseExample")
      .Shape(ExampleShape)
      .NotDifferentiable(kMessages)
      .Doc("The features of a batch of Example messages.");
  registry.Op("ParseExampleV2")
      .Shape(ExampleV2Shape)
      .NotDifferentiable(kMessages)
      .Doc("The features of an Example message, or of a batch of them, ragged ones too.");
  registry.Op("ParseSingleExample")
      .Shape(SingleExampleShape)
      .NotDifferentiable(kMessages)
      .Doc("The features of an Example message.");
}
