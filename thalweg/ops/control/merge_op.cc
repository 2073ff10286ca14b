// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// What two values of which either may come have in common.
PartialShape Common(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank() || a.rank() != b.rank()) return PartialShape::Unknown();
  PartialShape common = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) common.set_dim(i, PartialShape::kUnknownDim);
  }
  return common;
}

// An open back edge may bring any shape.
bool HasOpenEdge(const ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.node().input(i).node == nullptr) return true;
  }
  return false;
}

Status MergeShape(ShapeContext& c) {
  c.set_output(1, Shape());
  if (HasOpenEdge(c)) return OkStatus();
  PartialShape common = c.input(0);
  const HandleShape* handle = c.input_handle_shape(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    common = Common(common, c.input(i));
    const HandleShape* other = c.input_handle_shape(i);
    const bool same = handle != nullptr && other != nullptr && handle->dtype == other->dtype &&
                      handle->shape == other->shape;
    if (!same) handle = nullptr;
  }
  c.set_output(0, common);
  if (handle != nullptr) c.set_output_handle(0, *handle);
  return OkStatus();
}

// A Switch for each input but the last: the gradient leaves where value_index says it came in, and
// is dead elsewhere.
Status MergeGradient(GradientContext& c) {
  const int n = c.node().num_inputs();
  for (int i = 0; i < n; ++i) {
    const Output source = c.input(i);
    if (source.node == nullptr || source.node->control() == Node::Control::kNextIteration) {
      return Unimplemented("the Merge of a while loop is differentiated with its loop, not alone");
    }
  }
  if (!c.has_grad(0)) return OkStatus();
  Output rest = c.grad(0);
  for (int i = 0; i < n - 1; ++i) {
    const Output came_here =
        c.b().Op("Equal", {c.output(1), c.b().Const(Tensor::Scalar<int32_t>(i))});
    Node* parts = c.b().OpNode("Switch", {rest, came_here});
    if (parts == nullptr) return c.b().status();
    c.set_input_grad(i, Output{parts, 1});
    rest = Output{parts, 0};
  }
  c.set_input_grad(n - 1, rest);
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(merge) {
  registry.Op("Merge")
      .Shape(MergeShape)
      .Gradient(MergeGradient)
      .Doc("Passes on the first live input and says which one it was; dead when all inputs are.");
  registry.Op("RefMerge")
      .Shape(MergeShape)
      .Gradient(MergeGradient)
      .Doc("Merge of references to variables.");
}
