// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The ends of the range, inputs `low` and the one behind: scalars, or a number for each slice of x
// along the axis.
Status CheckRange(const ShapeContext& c, const PartialShape& x, int low) {
  int64_t axis = -1;
  if (c.node().FindAttr("axis") != nullptr) {
    ASSIGN_OR_RETURN(axis, c.Attr<int64_t>("axis"));
  }
  if (axis < -1) return InvalidArgument("Axis must be at least -1. Found ", axis);
  ASSIGN_OR_RETURN(PartialShape ends, c.InputWithRank(low, axis == -1 ? 0 : 1));
  ASSIGN_OR_RETURN(ends, c.input(low + 1).MergeWith(ends));
  if (axis == -1 || !x.known_rank()) return OkStatus();
  if (axis >= x.rank()) {
    return InvalidArgument("Shape must be at least rank ", static_cast<uint64_t>(axis) + 1,
                           " but is rank ", x.rank());
  }
  return MergeDims(ends.dim(0), x.dim(static_cast<int>(axis))).status();
}

Status QuantizeShape(ShapeContext& c) {
  if (c.num_inputs() > 1) RETURN_IF_ERROR(CheckRange(c, c.input(0), 1));
  if (c.num_inputs() > 3) RETURN_IF_ERROR(c.InputWithRank(3, 0).status());  // num_bits
  return UnchangedShape(c);
}

Status GradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape both, c.input(0).MergeWith(c.input(1)));
  RETURN_IF_ERROR(CheckRange(c, both, 2));
  for (int i = 0; i < 2; ++i) c.set_output(i + 1, c.input(i + 2));
  c.set_output(0, std::move(both));
  return OkStatus();
}

// Steps have no derivative: the gradient passes as if there were none.
Status StraightThrough(GradientContext& c) {
  if (c.has_grad(0)) c.set_input_grad(0, c.grad(0));
  return OkStatus();
}

AttrMap AxisOf(const Node& node) { return {{"axis", *node.FindAttr("axis")}}; }

// It passes inside of the range only; the ends of the range get zeros.
Status V4Gradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  Node* const grads =
      c.b().OpNode("QuantizeAndDequantizeV4Grad", {c.grad(0), c.input(0), c.input(1), c.input(2)},
                   AxisOf(c.node()));
  if (grads == nullptr) return c.b().status();
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, Output{grads, i});
  return OkStatus();
}

// The operation is linear in the gradients and the same mask applies.
Status V4GradGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op("QuantizeAndDequantizeV4Grad",
                               {c.grad(0), c.input(1), c.input(2), c.input(3)}, AxisOf(c.node())));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantize_dequantize) {
  constexpr std::string_view kDoc =
      "Numbers rounded to what an integer type with a scale can hold.";
  for (const char* name :
       {"QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"}) {
    registry.Op(name).Shape(QuantizeShape).Gradient(StraightThrough).Doc(kDoc);
  }
  registry.Op("QuantizeAndDequantizeV4").Shape(QuantizeShape).Gradient(V4Gradient).Doc(kDoc);
  registry.Op("QuantizeAndDequantizeV4Grad")
      .Shape(GradShape)
      .Gradient(V4GradGradient)
      .Doc("The gradient of QuantizeAndDequantizeV4: it passes inside of the range.");
}
