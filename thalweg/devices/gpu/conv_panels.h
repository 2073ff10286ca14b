// SPDX-License-Identifier: Apache-2.0
// Convolutions on processors: products of panels.h, whose factors are taken from images where the
// windows are. Rows are pixels, columns channels; of the filter's gradient rows are channels of the
// output and columns elements of the filter.
//
// Ownership: a text of the program's.
// Threads: any.
// Errors: none.
#pragma once

namespace thalweg {

// Kernels `make_pixels` (of the output, or where BACKWARD is 1 of the input's gradient) and
// `gradient_of_filter`; behind kImageWindowsSource, kPanelsSource and a definition of BACKWARD.
extern const char* const kConvPanelsSource;

}  // namespace thalweg
