// SPDX-License-Identifier: Apache-2.0
// ImageWindows: how windows slide over images, as kernels of the device take it: the struct that
// their sources know as Slide, made from the attributes of a node and shapes.
//
//   ASSIGN_OR_RETURN(const WindowAttributes attributes, WindowAttributes::Read(c));
//   ASSIGN_OR_RETURN(const ImageWindows windows, attributes.Over(image, rows, columns, channels));
//
// Ownership: values.
// Threads: any.
// Errors: InvalidArgument for sizes that fit no window, Unimplemented for what has no kernel.
#pragma once

#include <string>
#include <vector>

#include "thalweg/compute/conv/window.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// As kImageWindowsSource has it.
struct ImageWindows {
  uint32_t batch = 0, in_rows = 0, in_columns = 0, in_channels = 0;
  uint32_t out_rows = 0, out_columns = 0, out_channels = 0;
  uint32_t size_rows = 0, size_columns = 0, stride_rows = 0, stride_columns = 0;
  uint32_t dilation_rows = 0, dilation_columns = 0;
  int32_t pad_rows = 0, pad_columns = 0;
  uint32_t channels_first = 0;
  uint32_t groups = 1;  // parts of the input's channels, each of which makes one of the output's

  Shape Out() const { return Image(out_rows, out_columns, out_channels); }
  Shape In() const { return Image(in_rows, in_columns, in_channels); }
  uint32_t Positions() const { return batch * out_rows * out_columns; }

 private:
  Shape Image(int64_t rows, int64_t columns, int64_t channels) const {
    return channels_first != 0 ? Shape{batch, channels, rows, columns}
                               : Shape{batch, rows, columns, channels};
  }
};

// In front of the sources that use it: Slide, the place of a pixel, and the pixel of a place.
extern const char* const kImageWindowsSource;

struct WindowAttributes {
  std::vector<int64_t> strides, dilations, ksize, explicit_paddings;
  std::string padding;
  bool channels_first = false;

  static Result<WindowAttributes> Read(const KernelConstruction& c);
  // Windows of so many rows and columns over an image of rank 4.
  Result<ImageWindows> Over(const Shape& image, int64_t rows, int64_t columns,
                            int64_t out_channels) const;
  // Windows of ksize.
  Result<ImageWindows> Pooled(const Shape& image) const;

  size_t rows() const { return channels_first ? 2 : 1; }
  size_t columns() const { return channels_first ? 3 : 2; }
  size_t channels() const { return channels_first ? 1 : 3; }
};

}  // namespace thalweg
