// SPDX-License-Identifier: Apache-2.0
// The attributes of Dilation2D and its gradients. Private to them.
// Ownership: a value.
// Threads: any; no state.
// Errors: InvalidArgument, or Unimplemented where TensorFlow says so, with the attribute's name.
#pragma once

#include "thalweg/ops/nn/slide.h"

namespace thalweg {

// Without ksize: that is the filter's.
template <class Source>
Result<Slide> ParseDilation(const Source& source) {
  Slide slide;
  ASSIGN_OR_RETURN(slide.padding, source.template Attr<std::string>("padding"));
  ASSIGN_OR_RETURN(slide.strides, source.template Attr<std::vector<int64_t>>("strides"));
  RETURN_IF_ERROR(
      CheckPerDimension(slide.strides, slide.format, "strides", false, BelowOne::kUnimplemented));
  ASSIGN_OR_RETURN(slide.dilations, source.template Attr<std::vector<int64_t>>("rates"));
  RETURN_IF_ERROR(
      CheckPerDimension(slide.dilations, slide.format, "rates", false, BelowOne::kUnimplemented));
  return slide;
}

}  // namespace thalweg
