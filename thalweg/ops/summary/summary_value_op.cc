// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr const char* kSummaryBytes = "a serialized message has no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(summary_value) {
  registry.Op("HistogramSummary")
      .Shape(ScalarShape)
      .NotDifferentiable(kSummaryBytes)
      .Doc("A Summary with a histogram of the values.");
  registry.Op("MergeSummary")
      .Shape(ScalarShape)
      .NotDifferentiable(kSummaryBytes)
      .Doc("A Summary with the values of all inputs, each tag once.");
  registry.Op("ScalarSummary")
      .Shape(ScalarShape)
      .NotDifferentiable(kSummaryBytes)
      .Doc("A Summary with a number for each tag.");
  registry.Op("TensorSummary")
      .Shape(ScalarShape)
      .NotDifferentiable(kSummaryBytes)
      .Doc("A Summary with a tensor under the name of the node.");
  registry.Op("TensorSummaryV2")
      .Shape(ScalarShape)
      .NotDifferentiable(kSummaryBytes)
      .Doc("A Summary with a tensor, a tag and metadata.");
}
