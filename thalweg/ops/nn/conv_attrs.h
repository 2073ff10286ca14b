// SPDX-License-Identifier: Apache-2.0
// The attributes of convolutions over planes, rows and columns and of depthwise ones, for shape
// functions and kernels. Private to this family.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument, or Unimplemented where TensorFlow says so, with the attribute's name.
#pragma once

#include "thalweg/graph/graph.h"
#include "thalweg/ops/nn/slide.h"

namespace thalweg {

// Without ksize: that is the filter's. `source`: a ShapeContext or KernelConstruction.
template <class Source>
Result<Slide> ParseConv(const Source& source, int rank) {
  Slide slide;
  slide.format.rank = rank;
  const Node& node = source.node();
  if (node.FindAttr("data_format") != nullptr) {
    ASSIGN_OR_RETURN(const std::string format, source.template Attr<std::string>("data_format"));
    ASSIGN_OR_RETURN(slide.format, ParseSlideFormat(format));
  }
  ASSIGN_OR_RETURN(slide.padding, source.template Attr<std::string>("padding"));
  if (node.FindAttr("explicit_paddings") != nullptr) {
    ASSIGN_OR_RETURN(slide.explicit_paddings,
                     source.template Attr<std::vector<int64_t>>("explicit_paddings"));
  }
  RETURN_IF_ERROR(slide.CheckExplicit());
  ASSIGN_OR_RETURN(slide.strides, source.template Attr<std::vector<int64_t>>("strides"));
  RETURN_IF_ERROR(CheckPerDimension(slide.strides, slide.format, "strides"));
  ASSIGN_OR_RETURN(slide.dilations, source.template Attr<std::vector<int64_t>>("dilations"));
  const bool depthwise = node.op_name() == "DepthwiseConv2dNative";
  RETURN_IF_ERROR(CheckPerDimension(slide.dilations, slide.format, "dilations", false,
                                    depthwise ? BelowOne::kUnimplemented : BelowOne::kInvalid));
  return slide;
}

// The filter's first dimensions as window sizes; -1 for unknown ones.
inline Status SetWindow(const PartialShape& filter, Slide* slide) {
  slide->ksize.assign(static_cast<size_t>(slide->format.rank), 1);
  for (int d = 0; d < slide->format.spatial_count(); ++d) {
    constexpr int64_t kMost = 1 << 20;
    const int64_t size = filter.dim(d);
    if (size > kMost) {
      return InvalidArgument("a filter of ", size, " places along one dimension is too large");
    }
    slide->ksize[static_cast<size_t>(slide->format.spatial(d))] = size;
  }
  return OkStatus();
}

inline constexpr const char* kConvAttrs[] = {"strides", "padding", "explicit_paddings",
                                             "data_format", "dilations"};

// What a convolution and its gradients share.
inline AttrMap SharedConvAttrs(const Node& node) {
  AttrMap attrs;
  for (const char* name : kConvAttrs) {
    const AttrValue* value = node.FindAttr(name);
    if (value != nullptr) attrs.Set(name, *value);
  }
  return attrs;
}

}  // namespace thalweg
