// SPDX-License-Identifier: Apache-2.0
// The shape of a convolution's output. Private to this family.
// Ownership: the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument for channels that do not fit; those of the attributes and of the window.
#pragma once

#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/window_shape.h"

namespace thalweg {

inline Status Conv2DShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ParseWindowAttrs(c, true, true));
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.InputWithRank(1, 4));
  const int64_t in = image.dim(attrs.format.channels()), expected = filter.dim(2);
  if (in >= 0 && expected >= 0 && filter.dim(3) >= 0) {
    if (expected > 0 && in % expected != 0) {
      return InvalidArgument("Depth of input (", in,
                             ") is not a multiple of input depth of filter (", expected,
                             "): their channels");
    }
    RETURN_IF_ERROR(GroupsOf(in, expected, filter.dim(3)).status());
  }
  ASSIGN_OR_RETURN(const PartialShape out,
                   SlidShape(attrs, image, {filter.dim(0), filter.dim(1)}, filter.dim(3)));
  c.set_output(0, out);
  return OkStatus();
}

}  // namespace thalweg
