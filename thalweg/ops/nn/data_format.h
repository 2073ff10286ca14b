// SPDX-License-Identifier: Apache-2.0
// ImageFormat: which dimension of an image tensor is which. Shared by the shape functions and
// kernels of this family; private to it.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for attributes out of range, Unimplemented for formats and dimensions
// without a kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/attr_value.h"
#include "thalweg/graph/narrow_attr.h"

namespace thalweg {

struct ImageFormat {
  bool channels_first = false;
  int rows() const { return channels_first ? 2 : 1; }
  int columns() const { return channels_first ? 3 : 2; }
  int channels() const { return channels_first ? 1 : 3; }
};

inline Result<ImageFormat> ParseImageFormat(std::string_view text) {
  if (text == "NHWC") return ImageFormat{false};
  if (text == "NCHW") return ImageFormat{true};
  return Unimplemented("data_format ", text, " has no kernel here; NHWC and NCHW have");
}

// Strides, dilations, window sizes: four numbers in the order of the format, 1 for batch and
// channels.
struct PerDimension {
  int64_t rows = 1, columns = 1;
};
inline Result<PerDimension> ParsePerDimension(const std::vector<int64_t>& values,
                                              ImageFormat format, std::string_view what) {
  if (values.size() != 4) {
    return InvalidArgument(what, " must have 4 elements, got ", values.size());
  }
  RETURN_IF_ERROR(CheckInt32(values, what));
  if (values[0] != 1 || values[format.channels()] != 1) {
    return Unimplemented(what, " must be 1 in the batch and channel dimensions, got ", values[0],
                         " and ", values[format.channels()]);
  }
  const PerDimension found{values[format.rows()], values[format.columns()]};
  if (found.rows < 1 || found.columns < 1) {
    const int64_t least = found.rows < found.columns ? found.rows : found.columns;
    return InvalidArgument(
        what == "strides" ? StrCat("Stride must be > 0, but got ", least, "; ") : "", what,
        " must be positive, got ", found.rows, " and ", found.columns);
  }
  return found;
}

// Padding before and after rows and columns, of padding EXPLICIT.
struct ExplicitPadding {
  int64_t rows_before = 0, rows_after = 0, columns_before = 0, columns_after = 0;
};
inline Result<ExplicitPadding> ParseExplicitPadding(const std::vector<int64_t>& values,
                                                    ImageFormat format) {
  if (values.size() != 8) {
    return InvalidArgument("explicit_paddings must have 8 elements with padding EXPLICIT, got ",
                           values.size());
  }
  for (int64_t value : values) {
    if (value < 0) return InvalidArgument("explicit_paddings must not be negative, got ", value);
  }
  const auto c = 2 * static_cast<size_t>(format.channels());
  if (values[0] != 0 || values[1] != 0 || values[c] != 0 || values[c + 1] != 0) {
    return InvalidArgument("explicit_paddings must be 0 in the batch and channel dimensions");
  }
  const auto r = 2 * static_cast<size_t>(format.rows());
  const auto w = 2 * static_cast<size_t>(format.columns());
  return ExplicitPadding{values[r], values[r + 1], values[w], values[w + 1]};
}

// The groups of a convolution: a filter that expects a part of the input's channels.
inline Result<int64_t> GroupsOf(int64_t in, int64_t expected, int64_t out) {
  if (in == expected) return int64_t{1};
  if (expected <= 0 || in % expected != 0) {
    return InvalidArgument("input depth must be evenly divisible by filter depth: ", in, " vs ",
                           expected, " channels");
  }
  if (in == 0) return InvalidArgument("the input has 0 channels, the filter expects ", expected);
  if (out % (in / expected) != 0) {
    return InvalidArgument("the number of groups, ", in / expected,
                           ", must divide the output channels, ", out);
  }
  return in / expected;
}

// How a window slides over an image, from the attributes of a node.
struct WindowAttrs {
  ImageFormat format;
  PerDimension strides;
  PerDimension dilations;
  std::string padding;
  ExplicitPadding explicit_padding;
};

// Node: something with Attr<T>(name): a ShapeContext, a KernelConstruction, a Node.
template <class Source>
Result<WindowAttrs> ParseWindowAttrs(const Source& source, bool has_dilations, bool has_explicit) {
  WindowAttrs attrs;
  ASSIGN_OR_RETURN(const std::string format, source.template Attr<std::string>("data_format"));
  ASSIGN_OR_RETURN(attrs.format, ParseImageFormat(format));
  ASSIGN_OR_RETURN(const auto strides, source.template Attr<std::vector<int64_t>>("strides"));
  ASSIGN_OR_RETURN(attrs.strides, ParsePerDimension(strides, attrs.format, "strides"));
  if (has_dilations) {
    ASSIGN_OR_RETURN(const auto dilations, source.template Attr<std::vector<int64_t>>("dilations"));
    ASSIGN_OR_RETURN(attrs.dilations, ParsePerDimension(dilations, attrs.format, "dilations"));
  }
  ASSIGN_OR_RETURN(attrs.padding, source.template Attr<std::string>("padding"));
  if (attrs.padding == "EXPLICIT" && has_explicit) {
    ASSIGN_OR_RETURN(const auto paddings,
                     source.template Attr<std::vector<int64_t>>("explicit_paddings"));
    ASSIGN_OR_RETURN(attrs.explicit_padding, ParseExplicitPadding(paddings, attrs.format));
  }
  return attrs;
}

}  // namespace thalweg
