// SPDX-License-Identifier: Apache-2.0
// From the attributes of a node to the windows of compute/. Private to this family.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for a window that does not fit.
#pragma once

#include "thalweg/compute/conv/window.h"
#include "thalweg/ops/nn/data_format.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

struct Windows {
  compute::Window rows, columns;
};

// `image` has 4 dimensions.
inline Result<Windows> MakeWindows(const WindowAttrs& attrs, const Shape& image,
                                   PerDimension window) {
  using compute::Padding;
  const Padding padding = attrs.padding == "SAME"    ? Padding::kSame
                          : attrs.padding == "VALID" ? Padding::kValid
                                                     : Padding::kExplicit;
  const ExplicitPadding& pad = attrs.explicit_padding;
  Windows made;
  ASSIGN_OR_RETURN(made.rows, compute::MakeWindow(image.dim(attrs.format.rows()), window.rows,
                                                  attrs.strides.rows, attrs.dilations.rows, padding,
                                                  pad.rows_before, pad.rows_after));
  ASSIGN_OR_RETURN(
      made.columns,
      compute::MakeWindow(image.dim(attrs.format.columns()), window.columns, attrs.strides.columns,
                          attrs.dilations.columns, padding, pad.columns_before, pad.columns_after));
  return made;
}

}  // namespace thalweg
