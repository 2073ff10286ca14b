// SPDX-License-Identifier: Apache-2.0
// How a window slides over NHWC images, from attributes, for shape functions and kernels. Private
// to this family.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for attributes out of range and windows that do not fit, Unimplemented
// for batch and channels.
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

struct SlidingWindow {
  int64_t stride = 1, dilation = 1, before = 0, after = 0;
};

struct WindowAttrs2D {
  SlidingWindow rows, columns;
  std::string padding;  // SAME, VALID or EXPLICIT
};

// Four numbers, 1 for batch and channels, the others positive.
inline Status CheckFour(const std::vector<int64_t>& values, std::string_view what) {
  if (values.size() != 4) {
    return InvalidArgument(what, " must have 4 elements, got ", values.size());
  }
  RETURN_IF_ERROR(CheckInt32(values, what));
  if (values[0] != 1 || values[3] != 1) {
    return Unimplemented(what, " must be 1 in the batch and channel dimensions, got ", values[0],
                         " and ", values[3]);
  }
  if (values[1] > 0 && values[2] > 0) return OkStatus();
  return InvalidArgument(what, " must be positive, got ", values[1], " and ", values[2]);
}

template <class Source>
Result<WindowAttrs2D> ParseWindow2D(const Source& source) {
  WindowAttrs2D window;
  ASSIGN_OR_RETURN(window.padding, source.template Attr<std::string>("padding"));
  ASSIGN_OR_RETURN(const auto strides, source.template Attr<std::vector<int64_t>>("strides"));
  RETURN_IF_ERROR(CheckFour(strides, "strides"));
  window.rows.stride = strides[1];
  window.columns.stride = strides[2];
  if (source.node().FindAttr("dilations") != nullptr) {
    ASSIGN_OR_RETURN(const auto dilations, source.template Attr<std::vector<int64_t>>("dilations"));
    RETURN_IF_ERROR(CheckFour(dilations, "dilations"));
    window.rows.dilation = dilations[1];
    window.columns.dilation = dilations[2];
  }
  if (source.node().FindAttr("padding_list") == nullptr) return window;
  ASSIGN_OR_RETURN(const auto pads, source.template Attr<std::vector<int64_t>>("padding_list"));
  if (pads.empty()) return window;
  if (pads.size() != 8) {
    return InvalidArgument("padding_list must have 8 elements or none, got ", pads.size());
  }
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0 || ((i < 2 || i > 5) && pads[i] != 0)) {
      return InvalidArgument(
          "padding_list must not be negative, and 0 for batch and channels, got ", pads[i]);
    }
  }
  if (window.padding != "VALID") {
    return InvalidArgument("padding_list needs padding VALID, got ", window.padding);
  }
  window.padding = "EXPLICIT";
  window.rows.before = pads[2];
  window.rows.after = pads[3];
  window.columns.before = pads[4];
  window.columns.after = pads[5];
  return window;
}

// What a window of `size` leaves of `input`; -1 when one is not known.
inline Result<int64_t> SlidSize(const WindowAttrs2D& attrs, const SlidingWindow& w, int64_t input,
                                int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (input < 0) return PartialShape::kUnknownDim;
  if (attrs.padding == "SAME") return input / w.stride + (input % w.stride != 0 ? 1 : 0);
  if (size < 0) return PartialShape::kUnknownDim;
  if (size < 1 || size > kMost / w.dilation || input > kMost || w.before > kMost ||
      w.after > kMost) {
    return InvalidArgument("a window of ", size, " over an input of ", input,
                           " is empty or too large");
  }
  const int64_t covered = (size - 1) * w.dilation + 1, padded = input + w.before + w.after;
  if (covered > padded) {
    return InvalidArgument("a window of ", covered, " does not fit into an input of ", padded);
  }
  return (padded - covered) / w.stride + 1;
}

}  // namespace thalweg
