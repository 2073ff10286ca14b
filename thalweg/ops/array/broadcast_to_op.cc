// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status BroadcastToShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  const PartialShape to = c.InputAsShape(1);
  const PartialShape& from = c.input(0);
  const Tensor sizes = c.InputValue(1);  // which may be those of no tensor
  const int64_t given = sizes.empty() || to.known_rank() ? 0 : sizes.num_elements();
  for (int64_t i = 1; i <= from.rank() && i <= given; ++i) {
    const int64_t have = from.dim(from.rank() - static_cast<int>(i));
    if (have == 1) continue;
    RETURN_IF_ERROR(MergeDims(have, IntAt(sizes, given - i)).status());
  }
  if (from.known_rank() && to.known_rank()) {
    RETURN_IF_ERROR(Explained(CheckRankAtMost(from.rank(), to.rank()), "a value of shape ", from,
                              " cannot be broadcast to the lower rank of ", to));
    for (int i = 1; i <= from.rank(); ++i) {
      const int64_t have = from.dim(from.rank() - i), want = to.dim(to.rank() - i);
      if (have == 1) continue;
      RETURN_IF_ERROR(Explained(MergeDims(have, want).status(), "a value of shape ", from,
                                " cannot be broadcast to shape ", to));
    }
  }
  c.set_output(0, to);
  return OkStatus();
}

Status BroadcastToGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  const Output x = c.input(0), grad = c.grad(0);
  const Output from = b.Op("Shape", {x}, {{"out_type", c.input(1).dtype()}});
  Node* axes = b.OpNode("BroadcastGradientArgs", {from, c.input(1)});
  if (axes == nullptr) return b.status();
  const Output sum = b.Op("Sum", {grad, {axes, 0}});
  c.set_input_grad(0, b.Op("Reshape", {sum, from}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(broadcast_to) {
  registry.Op("BroadcastTo")
      .Shape(BroadcastToShape)
      .Gradient(BroadcastToGradient)
      .Doc(
          "Repeats the value along dimensions of size one, or that it lacks in front, to fill a "
          "shape.");
}
