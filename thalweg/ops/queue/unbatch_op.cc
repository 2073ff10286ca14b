// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/queue/other_rows.h"

namespace thalweg {
namespace {

Status UnbatchShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape batch, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  c.set_output(0, OtherRows(batch));
  return OkStatus();
}

Status UnbatchGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 2).status());
  ASSIGN_OR_RETURN(const PartialShape grad, c.InputWithRankAtLeast(2, 1));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  c.set_output(0, OtherRows(grad));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(unbatch) {
  constexpr std::string_view kWhy = "its rows come from other steps";
  registry.Op("Unbatch")
      .Shape(UnbatchShape)
      .NotDifferentiable(kWhy)
      .Doc("Gives each step of a batch its rows; waits for the step that has the batch.");
  registry.Op("UnbatchGrad")
      .Shape(UnbatchGradShape)
      .NotDifferentiable(kWhy)
      .Doc("Puts the gradients of the steps of a batch together, for the step that has it.");
}
