// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Scalars but for lists of vectors or matrices from input `first` on.
Status StreamInputsShape(ShapeContext& c, int first, int rank) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, i < first ? 0 : rank).status());
  }
  return OkStatus();
}

Status StreamScalarsShape(ShapeContext& c) {
  RETURN_IF_ERROR(StreamInputsShape(c, c.num_inputs(), 0));
  return ScalarShape(c);
}

// Each row is value, weight, lowest and highest rank.
Status AddSummariesShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape summary, c.InputWithRank(i, 2));
    RETURN_IF_ERROR(CheckDim(summary.dim(1), 4));
  }
  return OkStatus();
}

Status DeserializeStreamShape(ShapeContext& c) { return StreamInputsShape(c, 1, 1); }

Status SummariesShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape{PartialShape::kUnknownDim, 4});
  }
  return OkStatus();
}

Status BoundariesShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i)
    c.set_output(i, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantile_stream) {
  constexpr std::string_view kWhy = "a stream of quantiles has no derivative";
  registry.Op("BoostedTreesQuantileStreamResourceHandleOp")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("Handle to streams of quantiles, which BoostedTreesCreateQuantileStreamResource makes.");
  registry.Op("BoostedTreesCreateQuantileStreamResource")
      .Shape(StreamScalarsShape)
      .NotDifferentiable(kWhy)
      .Doc("Makes a stream for each feature, unless they are there.");
  registry.Op("IsBoostedTreesQuantileStreamResourceInitialized")
      .Shape(StreamScalarsShape)
      .NotDifferentiable(kWhy)
      .Doc("Whether the streams were made.");
  registry.Op("BoostedTreesQuantileStreamResourceAddSummaries")
      .Shape(AddSummariesShape)
      .NotDifferentiable(kWhy)
      .Doc("Adds a summary to each stream.");
  registry.Op("BoostedTreesQuantileStreamResourceFlush")
      .Shape(StreamScalarsShape)
      .NotDifferentiable(kWhy)
      .Doc("Makes boundaries of buckets from what the streams hold, and empties them.");
  registry.Op("BoostedTreesFlushQuantileSummaries")
      .Shape(SummariesShape)
      .NotDifferentiable(kWhy)
      .Doc("What the streams hold, as summaries, and empties them.");
  registry.Op("BoostedTreesQuantileStreamResourceDeserialize")
      .Shape(DeserializeStreamShape)
      .NotDifferentiable(kWhy)
      .Doc("Replaces the boundaries of buckets.");
  registry.Op("BoostedTreesQuantileStreamResourceGetBucketBoundaries")
      .Shape(BoundariesShape)
      .NotDifferentiable(kWhy)
      .Doc("The boundaries of buckets; none before they were made.");
}
