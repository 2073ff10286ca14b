// SPDX-License-Identifier: Apache-2.0
// Windows that slide over two or three spatial dimensions, for shape functions: formats, sizes per
// dimension, output shapes. Private to this family; conv2d and its kin, which know two dimensions
// only, use window_shape.h.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for numbers out of range, Unimplemented for formats and dimensions
// without a kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/ops/nn/window_shape.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

struct SlideFormat {
  int rank = 4;  // batch, channels, and the spatial dimensions
  bool channels_first = false;
  int spatial_count() const { return rank - 2; }
  int spatial(int d) const { return (channels_first ? 2 : 1) + d; }
  int channels() const { return channels_first ? 1 : rank - 1; }
};

inline Result<SlideFormat> ParseSlideFormat(std::string_view text) {
  if (text == "NHWC") return SlideFormat{4, false};
  if (text == "NCHW") return SlideFormat{4, true};
  if (text == "NDHWC") return SlideFormat{5, false};
  if (text == "NCDHW") return SlideFormat{5, true};
  return Unimplemented("data_format ", text, " has no kernel here");
}

// What is said of a number below 1 for the batch or the channels: as of any other dimension, or
// that only 1 is supported there.
enum class BelowOne { kInvalid, kUnimplemented };

// Strides, window sizes ...: one positive number for each dimension, 1 for the batch, and for the
// channels unless `over_channels`.
inline Status CheckPerDimension(const std::vector<int64_t>& values, const SlideFormat& format,
                                std::string_view what, bool over_channels = false,
                                BelowOne below = BelowOne::kInvalid) {
  if (static_cast<int>(values.size()) != format.rank) {
    return InvalidArgument(what, " must have ", format.rank, " elements, got ", values.size());
  }
  RETURN_IF_ERROR(CheckInt32(values, what));
  const int64_t channels = values[static_cast<size_t>(format.channels())];
  const bool outside = values[0] < 1 || channels < 1;
  for (int64_t value : values) {
    if (outside && below == BelowOne::kUnimplemented) break;
    if (value < 1) return InvalidArgument(what, " must be positive, got ", value);
  }
  if (outside || values[0] != 1 || (channels != 1 && !over_channels)) {
    return Unimplemented(what, " must be 1 in the batch and channel dimensions, got ", values[0],
                         " and ", channels);
  }
  return OkStatus();
}

// How a window slides: all in the order of the format. Empty dilations: 1 everywhere. Empty
// explicit_paddings: none; else two numbers for each dimension.
struct Slide {
  SlideFormat format;
  std::string padding;
  std::vector<int64_t> ksize, strides, dilations, explicit_paddings;

  int64_t dilation(int dim) const {
    return dilations.empty() ? 1 : dilations[static_cast<size_t>(dim)];
  }
  int64_t pad(int dim, bool after) const {
    if (padding != "EXPLICIT") return 0;
    return explicit_paddings[2 * static_cast<size_t>(dim) + (after ? 1 : 0)];
  }
  Status CheckExplicit() const {
    if (padding != "EXPLICIT") return OkStatus();
    if (static_cast<int>(explicit_paddings.size()) != 2 * format.rank) {
      return InvalidArgument("explicit_paddings must have ", 2 * format.rank,
                             " elements with padding EXPLICIT, got ", explicit_paddings.size());
    }
    for (int64_t value : explicit_paddings) {
      if (value < 0) return InvalidArgument("explicit_paddings must not be negative, got ", value);
    }
    for (int dim : {0, format.channels()}) {
      if (pad(dim, false) != 0 || pad(dim, true) != 0) {
        return InvalidArgument("explicit_paddings must be 0 in the batch and channel dimensions");
      }
    }
    return OkStatus();
  }
};

// The shape of the output; ksize may hold -1 for what is not known.
inline Result<PartialShape> SlidShape(const Slide& slide, const PartialShape& image,
                                      int64_t channels) {
  PartialShape out = image;
  for (int d = 0; d < slide.format.spatial_count(); ++d) {
    const int dim = slide.format.spatial(d);
    const auto at = static_cast<size_t>(dim);
    ASSIGN_OR_RETURN(
        const int64_t size,
        WindowOutput(image.dim(dim), slide.ksize[at], slide.strides[at], slide.dilation(dim),
                     slide.padding, slide.pad(dim, false), slide.pad(dim, true)));
    out.set_dim(dim, size);
  }
  out.set_dim(slide.format.channels(), channels);
  return out;
}

}  // namespace thalweg
