// SPDX-License-Identifier: Apache-2.0
// The attributes and paddings of convolutions of mirrored images, for shape functions and kernels.
// Private to this family.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for paddings that are none, or longer than what they mirror; those of
// ParseWindowAttrs.
#pragma once

#include "thalweg/ops/nn/data_format.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Node: a ShapeContext or a KernelConstruction.
template <class Source>
Result<WindowAttrs> ParsePadConvAttrs(const Source& source) {
  WindowAttrs attrs;  // images are NHWC, without dilations
  ASSIGN_OR_RETURN(const auto strides, source.template Attr<std::vector<int64_t>>("strides"));
  ASSIGN_OR_RETURN(attrs.strides, ParsePerDimension(strides, attrs.format, "strides"));
  ASSIGN_OR_RETURN(attrs.padding, source.template Attr<std::string>("padding"));
  return attrs;
}

// How much is put before and after the rows (0) and columns (1).
struct MirrorPaddings {
  int64_t before[2] = {0, 0}, after[2] = {0, 0};
};
inline Result<MirrorPaddings> ParseMirrorPaddings(const Tensor& tensor) {
  if (tensor.rank() != 2 || tensor.dim(0) != 4 || tensor.dim(1) != 2) {
    return InvalidArgument("paddings must be a matrix of 4 by 2, got shape ", tensor.shape());
  }
  MirrorPaddings paddings;
  for (int d = 0; d < 4; ++d) {
    const int64_t before = IntAt(tensor, 2 * d), after = IntAt(tensor, 2 * d + 1);
    if (before < 0 || after < 0) {
      return InvalidArgument("paddings must be non-negative: ", before, " ", after);
    }
    if (d == 1 || d == 2) {
      paddings.before[d - 1] = before;
      paddings.after[d - 1] = after;
    } else if (before != 0 || after != 0) {
      return InvalidArgument("paddings must be 0 for batch and channels, got ", before, " and ",
                             after);
    }
  }
  return paddings;
}

// The size of a dimension with a mirrored border, which must not be longer than what it mirrors:
// the dimension, with REFLECT less the element at the border.
inline Result<int64_t> MirroredSize(int64_t size, int64_t before, int64_t after, bool reflect) {
  const int64_t longest = size - (reflect ? 1 : 0);
  if (before <= longest && after <= longest) return size + before + after;
  if (before == 0 && after == 0) return size;
  return InvalidArgument("paddings must be no greater than the dimension size",
                         reflect ? " less one" : "", ": ", before, ", ", after, " greater than ",
                         longest);
}

}  // namespace thalweg
