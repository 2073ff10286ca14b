// SPDX-License-Identifier: Apache-2.0
// The attributes of Conv, the convolution over two or three dimensions with any number of batch
// dimensions. Private to it.
// Ownership: a value.
// Threads: any; no state.
// Errors: InvalidArgument for attributes out of range, Unimplemented for groups, as in TensorFlow.
#pragma once

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/ops/nn/conv_attrs.h"

namespace thalweg {

struct ConvAny {
  Slide slide;  // as with one batch dimension
  int64_t batch_dims = 1, groups = 1;
  int spatial() const { return slide.format.spatial_count(); }
  int input_rank() const { return static_cast<int>(batch_dims) + spatial() + 1; }
};

template <class Source>
Result<ConvAny> ParseConvAny(const Source& source) {
  using Ints = std::vector<int64_t>;
  ConvAny conv;
  Slide& slide = conv.slide;
  ASSIGN_OR_RETURN(const std::string format, source.template Attr<std::string>("data_format"));
  slide.format.channels_first = format == "CHANNELS_FIRST";
  ASSIGN_OR_RETURN(slide.strides, source.template Attr<Ints>("strides"));
  ASSIGN_OR_RETURN(slide.dilations, source.template Attr<Ints>("dilations"));
  ASSIGN_OR_RETURN(slide.explicit_paddings, source.template Attr<Ints>("explicit_paddings"));
  ASSIGN_OR_RETURN(slide.padding, source.template Attr<std::string>("padding"));
  ASSIGN_OR_RETURN(conv.batch_dims, source.template Attr<int64_t>("batch_dims"));
  ASSIGN_OR_RETURN(conv.groups, Int32Attr(source, "groups"));
  slide.format.rank = static_cast<int>(slide.strides.size());
  if (slide.format.rank != 4 && slide.format.rank != 5) {
    return InvalidArgument("strides must have 4 or 5 elements, for 2 or 3 dimensions, got ",
                           slide.strides.size());
  }
  RETURN_IF_ERROR(CheckPerDimension(slide.strides, slide.format, "strides"));
  if (!slide.dilations.empty()) {
    RETURN_IF_ERROR(CheckPerDimension(slide.dilations, slide.format, "dilations"));
  }
  RETURN_IF_ERROR(slide.CheckExplicit());
  if (conv.batch_dims < 1 || conv.batch_dims > 200) {
    return InvalidArgument("batch_dims must be from 1 to 200, got ", conv.batch_dims);
  }
  if (conv.groups != 1) {
    return Unimplemented("grouped convolution by Conv, as in TensorFlow; Conv2D has it");
  }
  return conv;
}

}  // namespace thalweg
