// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SameGradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0));
  return OkStatus();
}

Status OneElement(ShapeContext& c) {
  c.set_output(0, PartialShape{1});
  return OkStatus();
}

// Fourteen numbers, and one for each dimension.
Status SummaryShape(ShapeContext& c) {
  const bool known = c.input(0).known_rank();
  c.set_output(0, PartialShape{known ? c.input(0).rank() + 14 : -1});
  return OkStatus();
}

Status SummaryV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t mode, c.Attr<int64_t>("tensor_debug_mode"));
  constexpr int64_t kSizes[] = {-1, -1, 2, 5, 11, 10, -1, -1, 3};
  c.set_output(0, PartialShape{mode >= 0 && mode <= 8 ? kSizes[mode] : -1});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(debug_watch) {
  constexpr std::string_view kWhy = "a summary is for people";
  for (const char* op : {"DebugIdentity", "DebugIdentityV2", "DebugIdentityV3"}) {
    registry.Op(op)
        .Shape(UnchangedShape)
        .Gradient(SameGradient)
        .Doc("Its input; it is written to files where debug_urls name directories.");
  }
  for (const char* op : {"DebugGradientIdentity", "DebugGradientRefIdentity"}) {
    registry.Op(op).Shape(UnchangedShape).Gradient(SameGradient).Doc("Its input.");
  }
  registry.Op("DebugNanCount")
      .Shape(OneElement)
      .NotDifferentiable(kWhy)
      .Doc("How many elements are NaN.");
  registry.Op("DebugNumericSummary")
      .Shape(SummaryShape)
      .NotDifferentiable(kWhy)
      .Doc("Counts by sign, bounds, mean, variance, type and shape of a tensor.");
  registry.Op("DebugNumericSummaryV2")
      .Shape(SummaryV2Shape)
      .NotDifferentiable(kWhy)
      .Doc("What tensor_debug_mode asks for: NaN and infinities, counts by sign, or the shape.");
}
