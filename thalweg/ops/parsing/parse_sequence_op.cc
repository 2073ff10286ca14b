// SPDX-License-Identifier: Apache-2.0
// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/parsing/parsed_shapes.h"

namespace thalweg {
namespace {

Status CheckFullyDefined(ShapeContext& c) {
  for (const char* attr : {"context_dense_shapes", "feature_list_dense_shapes"}) {
    ASSIGN_OR_RETURN(const auto shapes, c.Attr<std::vector<PartialShape>>(attr));
    for (const PartialShape& shape : shapes) {
      if (!shape.IsFullyDefined()) {
        return InvalidArgument("Shape ", shape, " is not fully defined");
      }
    }
  }
  return OkStatus();
}

Status SequenceOutputs(ShapeContext& c, const PartialShape& serialized, bool has_lengths,
                       bool has_ragged) {
  RETURN_IF_ERROR(CheckFullyDefined(c));
  ParsedShapes shapes(c, serialized);
  RETURN_IF_ERROR(shapes.Sparse("context_sparse_types"));
  RETURN_IF_ERROR(shapes.Dense("Tcontext_dense", "context_dense_shapes"));
  if (has_ragged) {
    RETURN_IF_ERROR(shapes.Ragged("context_ragged_value_types", "context_ragged_split_types"));
  }
  RETURN_IF_ERROR(shapes.Sparse("feature_list_sparse_types", 1));
  RETURN_IF_ERROR(shapes.Dense("feature_list_dense_types", "feature_list_dense_shapes", true));
  if (has_lengths) {
    ASSIGN_OR_RETURN(const auto dense, c.Attr<std::vector<DType>>("feature_list_dense_types"));
    shapes.Lengths(dense.size());
  }
  if (has_ragged) {
    RETURN_IF_ERROR(
        shapes.Ragged("feature_list_ragged_value_types", "feature_list_ragged_split_types", true));
  }
  return shapes.End();
}

// The numbers of the attributes against the lists of keys.
Status CheckKeyCounts(ShapeContext& c) {
  for (const char* kind :
       {"context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense"}) {
    ASSIGN_OR_RETURN(const int64_t number, c.Attr<int64_t>(StrCat("N", kind)));
    ASSIGN_OR_RETURN(const auto keys, c.Attr<std::vector<std::string>>(StrCat(kind, "_keys")));
    if (number != static_cast<int64_t>(keys.size())) {
      return InvalidArgument("num_", kind, " (", number, ") must match the size of ", kind,
                             "_keys (", keys.size(), ")");
    }
  }
  return OkStatus();
}

Status SequenceShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKeyCounts(c));
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRank(0, 1));
  return SequenceOutputs(c, serialized, true, false);
}

Status SequenceV2Shape(ShapeContext& c) {
  const PartialShape serialized = c.input(0);
  RETURN_IF_ERROR(CheckRankAtMost(serialized.rank(), 1));
  return SequenceOutputs(c, serialized, true, true);
}

Status SingleSequenceShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRank(0, 0));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  return SequenceOutputs(c, serialized, false, false);
}

constexpr const char* kSequences = "messages have no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(parse_sequence) {
  registry.Op("ParseSequenceExample")
      .Shape(SequenceShape)
      .NotDifferentiable(kSequences)
      .Doc("Context and feature lists of a batch of SequenceExample messages.");
  registry.Op("ParseSequenceExampleV2")
      .Shape(SequenceV2Shape)
      .NotDifferentiable(kSequences)
      .Doc("Context and feature lists of a SequenceExample or a batch of them, ragged ones too.");
  registry.Op("ParseSingleSequenceExample")
      .Shape(SingleSequenceShape)
      .NotDifferentiable(kSequences)
      .Doc("Context and feature lists of a SequenceExample message.");
}
