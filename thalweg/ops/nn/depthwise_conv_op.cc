// SPDX-License-Identifier: Apache-2.0
// DepthwiseConv2dNative and the two operations that compute its gradients.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/conv_attrs.h"
#include "thalweg/ops/nn/conv_gradient.h"

namespace thalweg {
namespace {

Status DepthwiseShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Slide slide, ParseConv(c, 4));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 4));
  Result<int64_t> in = MergeDims(image.dim(slide.format.channels()), filter.dim(2));
  RETURN_IF_ERROR(Explained(in.status(), "the channels of the input and of the filter"));
  const int64_t multiplier = filter.dim(3);
  int64_t out = PartialShape::kUnknownDim;
  if (*in >= 0 && multiplier >= 0 && __builtin_mul_overflow(*in, multiplier, &out)) {
    return InvalidArgument("too many output channels: ", *in, " times ", multiplier);
  }
  RETURN_IF_ERROR(SetWindow(filter, &slide));
  ASSIGN_OR_RETURN(const PartialShape shape, SlidShape(slide, image, out));
  c.set_output(0, shape);
  return OkStatus();
}

template <int Input>
Status SizesShape(ShapeContext& c) {
  RETURN_IF_ERROR(ParseConv(c, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(1 - Input, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 4).status());
  RETURN_IF_ERROR(c.InputWithRank(Input, 1).status());
  const PartialShape sizes = c.InputAsShape(Input);
  RETURN_IF_ERROR(Explained(CheckRank(sizes.rank(), 4), "of the sizes"));
  c.set_output(0, sizes.known_rank() ? sizes : PartialShape::OfRank(4));
  return OkStatus();
}

constexpr ConvNames kDepthwise = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                  "DepthwiseConv2dNativeBackpropFilter"};

}  // namespace
}  // namespace thalweg

THALWEG_OP(depthwise_conv) {
  registry.Op(kDepthwise.forward)
      .Shape(DepthwiseShape)
      .Gradient(ConvGradient<kDepthwise>)
      .Doc("Convolves each channel with filters of its own, [rows, columns, in, multiplier].");
  registry.Op(kDepthwise.backprop_input)
      .Shape(SizesShape<0>)
      .Gradient(ConvInputGradient<kDepthwise>)
      .Doc("The gradient of DepthwiseConv2dNative by its input.");
  registry.Op(kDepthwise.backprop_filter)
      .Shape(SizesShape<1>)
      .Gradient(ConvFilterGradient<kDepthwise>)
      .Doc("The gradient of DepthwiseConv2dNative by its filter.");
}
