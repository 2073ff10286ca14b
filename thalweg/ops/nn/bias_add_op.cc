// SPDX-License-Identifier: Apache-2.0
// BiasAdd: a vector added along the channels, and its gradient.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/data_format.h"

namespace thalweg {
namespace {

template <class Source>
Result<bool> ChannelsFirst(const Source& source) {
  if (source.FindAttr("data_format") == nullptr) return false;  // BiasAddV1
  ASSIGN_OR_RETURN(const std::string text, source.template Attr<std::string>("data_format"));
  ASSIGN_OR_RETURN(const ImageFormat format, ParseImageFormat(text));
  return format.channels_first;
}

Status BiasAddShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool first, ChannelsFirst(c.node()));
  ASSIGN_OR_RETURN(const PartialShape bias, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRankAtLeast(0, 2));
  if (x.known_rank()) {
    const int channel = first ? 1 : x.rank() - 1;
    Result<int64_t> size = MergeDims(x.dim(channel), bias.dim(0));
    if (!size.ok()) {
      return InvalidArgument("Dimensions must be equal, but are ", x.dim(channel), " and ",
                             bias.dim(0), ": as many biases as channels are needed; value is ",
                             x.ToString(), ", bias ", bias.ToString());
    }
    x.set_dim(channel, *size);
  }
  c.set_output(0, x);
  return OkStatus();
}

Status BiasAddGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool first, ChannelsFirst(c.node()));
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 2));
  c.set_output(
      0, x.known_rank() ? PartialShape{x.dim(first ? 1 : x.rank() - 1)} : PartialShape::OfRank(1));
  return OkStatus();
}

Status BiasAddGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool first, ChannelsFirst(c.node()));
  const Output grad = c.grad(0);
  c.set_input_grad(0, grad);
  c.set_input_grad(1, m.Op("BiasAddGrad", {grad}, {{"data_format", first ? "NCHW" : "NHWC"}}));
  return m.status();
}

// The channels' gradients repeated in all other dimensions.
Status BiasAddGradGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool first, ChannelsFirst(c.node()));
  const Output shape = m.Shape(c.input(0));
  Output grad = c.grad(0);
  if (first) {  // [-1, 1, 1 ...]
    const Output ones = m.Op("Fill", {m.Sub(m.Shape(shape), m.Ints({2})), m.Number(shape, 1)});
    const Output column = m.Op("ConcatV2", {m.Ints({-1}), ones, m.Number(shape, 0)});
    grad = m.Op("Reshape", {grad, column});
  }
  c.set_input_grad(0, m.Op("BroadcastTo", {grad, shape}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(bias_add) {
  for (const char* op : {"BiasAdd", "BiasAddV1"}) {
    registry.Op(op)
        .Shape(BiasAddShape)
        .Gradient(BiasAddGradient)
        .Doc("value plus one number per channel.");
  }
  registry.Op("BiasAddGrad")
      .Shape(BiasAddGradShape)
      .Gradient(BiasAddGradGradient)
      .Doc("The sum of each channel.");
}
