// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The last dimension of a tensor with channels.
int64_t ChannelsOf(const PartialShape& x) {
  return x.known_rank() ? x.dim(x.rank() - 1) : PartialShape::kUnknownDim;
}

// min and max are scalars, or vectors with an element for each channel.
template <bool kPerChannel>
Status VarsShape(ShapeContext& c) {
  if (!kPerChannel) {
    for (int i : {1, 2}) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
    return UnchangedShape(c);
  }
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 1));
  int64_t channels = ChannelsOf(x);
  for (int i : {1, 2}) {
    ASSIGN_OR_RETURN(const PartialShape end, c.InputWithRank(i, 1));
    ASSIGN_OR_RETURN(channels, MergeDims(channels, end.dim(0)));
  }
  return UnchangedShape(c);
}

Status ArgsGradientShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape both, c.input(0).MergeWith(c.input(1)));
  c.set_output(0, std::move(both));
  return OkStatus();
}

template <bool kPerChannel>
Status VarsGradientShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape both, c.InputWithRankAtLeast(0, kPerChannel ? 1 : 0));
  ASSIGN_OR_RETURN(both, both.MergeWith(c.input(1)));
  if (kPerChannel) RETURN_IF_ERROR(CheckRankAtLeast(both.rank(), 1));
  PartialShape range = kPerChannel ? PartialShape{ChannelsOf(both)} : PartialShape(Shape{});
  for (int i : {2, 3}) {
    ASSIGN_OR_RETURN(const PartialShape end, c.InputWithRank(i, range.rank()));
    ASSIGN_OR_RETURN(range, end.MergeWith(range));
  }
  c.set_output(0, std::move(both));
  for (int i : {1, 2}) c.set_output(i, range);
  return OkStatus();
}

AttrMap AttrsOf(const Node& node, std::initializer_list<const char*> names) {
  AttrMap attrs;
  for (const char* name : names) attrs.Set(name, *node.FindAttr(name));
  return attrs;
}

Status ArgsGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op("FakeQuantWithMinMaxArgsGradient", {c.grad(0), c.input(0)},
                               AttrsOf(c.node(), {"min", "max", "num_bits", "narrow_range"})));
  return c.b().status();
}

Status VarsGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  Node* const grads =
      c.b().OpNode(c.node().op_name() + "Gradient", {c.grad(0), c.input(0), c.input(1), c.input(2)},
                   AttrsOf(c.node(), {"num_bits", "narrow_range"}));
  if (grads == nullptr) return c.b().status();
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, Output{grads, i});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fake_quant) {
  constexpr std::string_view kWhy = "TensorFlow defines no second derivative of it";
  registry.Op("FakeQuantWithMinMaxArgs")
      .Shape(UnchangedShape)
      .Gradient(ArgsGradient)
      .Doc("Numbers put on the grid that an integer type has over a fixed range.");
  registry.Op("FakeQuantWithMinMaxArgsGradient")
      .Shape(ArgsGradientShape)
      .NotDifferentiable(kWhy)
      .Doc("The gradient of FakeQuantWithMinMaxArgs: it passes inside of the range.");
  registry.Op("FakeQuantWithMinMaxVars")
      .Shape(VarsShape<false>)
      .Gradient(VarsGradient)
      .Doc("Numbers put on the grid that an integer type has over a range.");
  registry.Op("FakeQuantWithMinMaxVarsGradient")
      .Shape(VarsGradientShape<false>)
      .NotDifferentiable(kWhy)
      .Doc("The gradients of FakeQuantWithMinMaxVars.");
  registry.Op("FakeQuantWithMinMaxVarsPerChannel")
      .Shape(VarsShape<true>)
      .Gradient(VarsGradient)
      .Doc("Numbers put on the grid that an integer type has over the range of their channel.");
  registry.Op("FakeQuantWithMinMaxVarsPerChannelGradient")
      .Shape(VarsGradientShape<true>)
      .NotDifferentiable(kWhy)
      .Doc("The gradients of FakeQuantWithMinMaxVarsPerChannel.");
}
