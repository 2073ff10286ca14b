// SPDX-License-Identifier: Apache-2.0
// Convolutions of levels, with what may follow them in the same node.
#include "thalweg/ops/quantized/range_shape.h"
#include "thalweg/ops/quantized/window_attrs.h"

namespace thalweg {
namespace {

template <bool kDepthwise>
Result<PartialShape> ImageShape(ShapeContext& c, const PartialShape& image,
                                const PartialShape& filter) {
  ASSIGN_OR_RETURN(const WindowAttrs2D window, ParseWindow2D(c));
  if (!MergeDims(image.dim(3), filter.dim(2)).ok()) {
    return InvalidArgument("input and filter must have the same depth: ", image.dim(3), " vs ",
                           filter.dim(2));
  }
  ASSIGN_OR_RETURN(const int64_t rows, SlidSize(window, window.rows, image.dim(1), filter.dim(0)));
  ASSIGN_OR_RETURN(const int64_t columns,
                   SlidSize(window, window.columns, image.dim(2), filter.dim(1)));
  int64_t channels = filter.dim(3);
  if (kDepthwise && (filter.dim(2) < 0 || channels < 0)) channels = PartialShape::kUnknownDim;
  if (kDepthwise && channels >= 0 && __builtin_mul_overflow(channels, filter.dim(2), &channels)) {
    return InvalidArgument("filter of shape ", filter.ToString(), " is too large");
  }
  return PartialShape{image.dim(0), rows, columns, channels};
}

template <bool kDepthwise>
Status ConvShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 4));
  ASSIGN_OR_RETURN(PartialShape out, ImageShape<kDepthwise>(c, image, filter));
  const std::string_view name = c.node().op_name();
  // The filter of the others may have a range for each channel.
  const bool one_range = name == "QuantizedConv2D" || name == "QuantizedConv2DAndRequantize";
  int next = 2;
  if (name.find("Bias") != std::string_view::npos) {
    ASSIGN_OR_RETURN(const PartialShape bias, c.InputWithRank(next++, 1));
    ASSIGN_OR_RETURN(const int64_t channels, MergeDims(bias.dim(0), out.dim(3)));
    out.set_dim(3, channels);
  }
  RETURN_IF_ERROR(ScalarInputs(c, next, one_range ? 4 : 2));
  c.set_output(0, out);
  // Products in a range of their channel, if the filter has such; or in the wanted range.
  const bool requantize = name.find("AndRequantize") != std::string_view::npos;
  if (requantize) RETURN_IF_ERROR(ScalarInputs(c, next + 4, 2));
  for (int i = 1; i < 3; ++i) {
    const PartialShape& end = c.input(next + 1 + i);
    if (end.known_rank() && end.rank() > 1) {
      return InvalidArgument("the filter's range must be a number or a vector, got shape ",
                             end.ToString());
    }
    c.set_output(i, requantize ? PartialShape(Shape{}) : end);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantized_conv2d) {
  constexpr std::string_view kDoc = "Convolution of levels.";
  constexpr std::string_view kBiasDoc =
      "Convolution of levels with what its name says behind it: bias, sum, activation.";
  constexpr std::string_view kRequantizeDoc =
      "Convolution of levels with what its name says behind it, in a given range.";
  for (const char* op : {"QuantizedConv2D", "QuantizedConv2DPerChannel"}) {
    registry.Op(op).Shape(ConvShape<false>).NotDifferentiable(kNotDifferentiable).Doc(kDoc);
  }
  for (const char* op : {"QuantizedConv2DAndRelu", "QuantizedConv2DWithBias",
                         "QuantizedConv2DWithBiasAndRelu", "QuantizedConv2DWithBiasSumAndRelu"}) {
    registry.Op(op).Shape(ConvShape<false>).NotDifferentiable(kNotDifferentiable).Doc(kBiasDoc);
  }
  for (const char* op :
       {"QuantizedConv2DAndReluAndRequantize", "QuantizedConv2DAndRequantize",
        "QuantizedConv2DWithBiasAndReluAndRequantize", "QuantizedConv2DWithBiasAndRequantize",
        "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
        "QuantizedConv2DWithBiasSumAndReluAndRequantize"}) {
    registry.Op(op)
        .Shape(ConvShape<false>)
        .NotDifferentiable(kNotDifferentiable)
        .Doc(kRequantizeDoc);
  }
  registry.Op("QuantizedDepthwiseConv2D")
      .Shape(ConvShape<true>)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Convolution of levels, each channel for itself.");
  for (const char* op :
       {"QuantizedDepthwiseConv2DWithBias", "QuantizedDepthwiseConv2DWithBiasAndRelu"}) {
    registry.Op(op).Shape(ConvShape<true>).NotDifferentiable(kNotDifferentiable).Doc(kBiasDoc);
  }
  registry.Op("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize")
      .Shape(ConvShape<true>)
      .NotDifferentiable(kNotDifferentiable)
      .Doc(kRequantizeDoc);
}
