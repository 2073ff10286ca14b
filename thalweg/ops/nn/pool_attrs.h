// SPDX-License-Identifier: Apache-2.0
// The attributes of pooling operations, for shape functions and kernels. Private to this family.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument or Unimplemented, as TensorFlow has it of each operation.
#pragma once

#include "thalweg/graph/graph.h"
#include "thalweg/ops/nn/slide.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

// The code of a size or stride below 1 for the batch or the channels is TensorFlow's, which looks
// at them in an order of its own in each operation.
inline BelowOne BelowOneOf(std::string_view op, bool strides) {
  if (op == "AvgPoolGrad" || op == "MaxPoolGradGrad") {
    return strides ? BelowOne::kInvalid : BelowOne::kUnimplemented;
  }
  for (std::string_view name : {"AvgPool3D", "AvgPool3DGrad", "MaxPool3D", "MaxPoolV2"}) {
    if (op == name) return strides ? BelowOne::kUnimplemented : BelowOne::kInvalid;
  }
  for (std::string_view name : {"MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradGradV2",
                                "MaxPool3DGrad", "MaxPool3DGradGrad"}) {
    if (op == name) return BelowOne::kUnimplemented;
  }
  return BelowOne::kInvalid;
}

// Window sizes and strides, in attributes or, of the V2 operations, in inputs. A window over the
// channels must be the only one and reach from stride to stride; only some operations have it.
inline Status CheckPoolSizes(const Slide& slide, std::string_view op) {
  RETURN_IF_ERROR(
      CheckPerDimension(slide.ksize, slide.format, "ksize", true, BelowOneOf(op, false)));
  RETURN_IF_ERROR(
      CheckPerDimension(slide.strides, slide.format, "strides", true, BelowOneOf(op, true)));
  const auto c = static_cast<size_t>(slide.format.channels());
  if (slide.ksize[c] == 1 && slide.strides[c] == 1) return OkStatus();
  for (int d = 0; d < slide.format.spatial_count(); ++d) {
    if (slide.ksize[static_cast<size_t>(slide.format.spatial(d))] == 1) continue;
    return Unimplemented("pooling works over the channels or over space, not over both");
  }
  if (slide.ksize[c] == slide.strides[c]) return OkStatus();
  return Unimplemented("pooling over channels needs a window as wide as its stride, got ",
                       slide.ksize[c], " and ", slide.strides[c]);
}

inline bool PoolsOverChannels(const Slide& slide) {
  return slide.ksize[static_cast<size_t>(slide.format.channels())] != 1;
}

inline Status RefuseChannels(const Slide& slide) {
  if (!PoolsOverChannels(slide)) return OkStatus();
  return Unimplemented("this operation does not pool over channels");
}

// The channels that pooling leaves; -1 for unknown.
inline Result<int64_t> PooledChannels(const Slide& slide, int64_t channels) {
  const int64_t k = slide.ksize[static_cast<size_t>(slide.format.channels())];
  if (channels < 0 || k == 1) return channels;
  if (channels % k == 0) return channels / k;
  return Unimplemented("a window of ", k, " must evenly divide the ", channels, " channels");
}

// MaxPoolWithArgmax checks its window over channels and, as in TensorFlow, does not pool with it.
inline Slide WithoutChannels(Slide slide) {
  const auto c = static_cast<size_t>(slide.format.channels());
  slide.ksize[c] = slide.strides[c] = 1;
  return slide;
}

// Everything but ksize and strides where those are inputs. Source: ShapeContext or
// KernelConstruction.
template <class Source>
Result<Slide> ParsePool(const Source& source) {
  Slide slide;
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
  if (node.FindAttr("ksize") == nullptr) return slide;
  ASSIGN_OR_RETURN(slide.ksize, source.template Attr<std::vector<int64_t>>("ksize"));
  ASSIGN_OR_RETURN(slide.strides, source.template Attr<std::vector<int64_t>>("strides"));
  RETURN_IF_ERROR(CheckPoolSizes(slide, node.op_name()));
  return slide;
}

// ksize and strides from the tensors of a V2 operation, whatever their shape.
inline Status SetPoolSizes(const Tensor& ksize, const Tensor& strides, std::string_view op,
                           Slide* slide) {
  for (int64_t i = 0; i < ksize.num_elements(); ++i) slide->ksize.push_back(IntAt(ksize, i));
  for (int64_t i = 0; i < strides.num_elements(); ++i) slide->strides.push_back(IntAt(strides, i));
  return CheckPoolSizes(*slide, op);
}

}  // namespace thalweg
