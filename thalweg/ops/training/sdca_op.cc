// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The state of the examples goes through; changes are of the shapes of the weights.
Status SdcaShape(ShapeContext& c) {
  PartialShape state = c.input(c.num_inputs() - 1);
  if (!state.known_rank()) state = PartialShape::OfRank(2);
  if (state.rank() != 2) {
    return InvalidArgument("example_state_data must be rank 2 but is rank ", state.rank());
  }
  if (!MergeDims(state.dim(1), 4).ok()) {
    return InvalidArgument("example_state_data must have 4 columns, got shape ", state);
  }
  c.set_output(0, PartialShape{state.dim(0), 4});
  ASSIGN_OR_RETURN(const int64_t sparse, c.Attr<int64_t>("num_sparse_features"));
  ASSIGN_OR_RETURN(const int64_t dense, c.Attr<int64_t>("num_dense_features"));
  const int changes = static_cast<int>(sparse + dense);
  const int first = c.num_inputs() - 1 - changes;
  for (int i = 0; i < changes; ++i) c.set_output(i + 1, c.input(first + i));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sdca) {
  constexpr std::string_view kWhy = "it is an optimizer";
  for (const char* op : {"SdcaOptimizer", "SdcaOptimizerV2"}) {
    registry.Op(op).Shape(SdcaShape).NotDifferentiable(kWhy).Doc(
        "Rounds of dual coordinate ascent: changes of a linear model's weights.");
  }
  registry.Op("SdcaShrinkL1")
      .Shape(NoOutputs)
      .NotDifferentiable(kWhy)
      .Doc("Moves weights towards zero, by l1 / l2 at most.");
}
