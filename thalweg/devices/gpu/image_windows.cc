// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/image_windows.h"

namespace thalweg {
namespace {

Status CheckFour(const std::vector<int64_t>& values, const WindowAttributes& attributes,
                 std::string_view what) {
  if (values.size() != 4) {
    return InvalidArgument(what, " must have 4 elements, got ", values.size());
  }
  if (values[0] != 1 || values[attributes.channels()] != 1) {
    return Unimplemented(what, " must be 1 in the batch and channel dimensions, got ", values[0],
                         " and ", values[attributes.channels()]);
  }
  return OkStatus();
}

Result<std::vector<int64_t>> ListOrOnes(const KernelConstruction& c, std::string_view name) {
  if (c.node().FindAttr(name) == nullptr) return std::vector<int64_t>(4, 1);
  return c.Attr<std::vector<int64_t>>(name);
}

}  // namespace

const char* const kImageWindowsSource = R"(
typedef struct {
  uint batch, in_rows, in_columns, in_channels;
  uint out_rows, out_columns, out_channels;
  uint size_rows, size_columns, stride_rows, stride_columns;
  uint dilation_rows, dilation_columns;
  int pad_rows, pad_columns;
  uint channels_first, groups;
} Slide;

typedef struct { uint image, row, column, channel; } Pixel;

uint place(uint first, uint rows, uint columns, uint channels, uint image, uint row, uint column,
           uint channel) {
  return first ? ((image * channels + channel) * rows + row) * columns + column
               : ((image * rows + row) * columns + column) * channels + channel;
}

Pixel pixel(uint first, uint rows, uint columns, uint channels, uint i) {
  Pixel p;
  if (!first) { p.channel = i % channels; i /= channels; }
  p.column = i % columns;
  i /= columns;
  p.row = i % rows;
  i /= rows;
  if (first) { p.channel = i % channels; i /= channels; }
  p.image = i;
  return p;
}

uint in_place(const Slide* s, uint image, uint row, uint column, uint channel) {
  return place(s->channels_first, s->in_rows, s->in_columns, s->in_channels, image, row, column,
               channel);
}

uint out_place(const Slide* s, uint image, uint row, uint column, uint channel) {
  return place(s->channels_first, s->out_rows, s->out_columns, s->out_channels, image, row, column,
               channel);
}
)";

Result<WindowAttributes> WindowAttributes::Read(const KernelConstruction& c) {
  WindowAttributes attributes;
  const Result<std::string> format = c.Attr<std::string>("data_format");
  if (!format.ok()) return format.status();
  if (*format != "NHWC" && *format != "NCHW") {
    return Unimplemented("data_format ", *format, " has no kernel here; NHWC and NCHW have");
  }
  attributes.channels_first = *format == "NCHW";
  ASSIGN_OR_RETURN(attributes.strides, c.Attr<std::vector<int64_t>>("strides"));
  ASSIGN_OR_RETURN(attributes.dilations, ListOrOnes(c, "dilations"));
  ASSIGN_OR_RETURN(attributes.ksize, ListOrOnes(c, "ksize"));
  RETURN_IF_ERROR(CheckFour(attributes.strides, attributes, "strides"));
  RETURN_IF_ERROR(CheckFour(attributes.dilations, attributes, "dilations"));
  RETURN_IF_ERROR(CheckFour(attributes.ksize, attributes, "ksize"));
  ASSIGN_OR_RETURN(attributes.padding, c.Attr<std::string>("padding"));
  if (attributes.padding == "EXPLICIT") {
    ASSIGN_OR_RETURN(attributes.explicit_paddings,
                     c.Attr<std::vector<int64_t>>("explicit_paddings"));
    if (attributes.explicit_paddings.size() != 8) {
      return InvalidArgument("explicit_paddings must have 8 elements with padding EXPLICIT, got ",
                             attributes.explicit_paddings.size());
    }
  }
  return attributes;
}

Result<ImageWindows> WindowAttributes::Over(const Shape& image, int64_t rows_of_window,
                                            int64_t columns_of_window, int64_t out_channels) const {
  if (image.rank() != 4) return InvalidArgument("images must be 4-dimensional, got ", image);
  const auto window = [&](size_t d, int64_t size) {
    const bool is_explicit = padding == "EXPLICIT";
    const compute::Padding kind = is_explicit         ? compute::Padding::kExplicit
                                  : padding == "SAME" ? compute::Padding::kSame
                                                      : compute::Padding::kValid;
    return compute::MakeWindow(image.dim(static_cast<int>(d)), size, strides[d], dilations[d], kind,
                               is_explicit ? explicit_paddings[2 * d] : 0,
                               is_explicit ? explicit_paddings[2 * d + 1] : 0);
  };
  ASSIGN_OR_RETURN(const compute::Window r, window(rows(), rows_of_window));
  ASSIGN_OR_RETURN(const compute::Window c, window(columns(), columns_of_window));
  for (const compute::Window& w : {r, c}) {
    // Kernels count places, also those beside the image, in 32 bits.
    if (w.pad_before + w.output * w.stride + w.size * w.dilation < (int64_t{1} << 31)) continue;
    return Unimplemented("windows of size ", w.size, " with dilation ", w.dilation, ", stride ",
                         w.stride, " and padding ", w.pad_before,
                         " have no kernel on devices of type GPU");
  }
  const auto number = [](int64_t n) { return static_cast<uint32_t>(n); };
  ImageWindows made;
  made.batch = number(image.dim(0));
  made.in_rows = number(r.input);
  made.in_columns = number(c.input);
  made.in_channels = number(image.dim(static_cast<int>(channels())));
  made.out_rows = number(r.output);
  made.out_columns = number(c.output);
  made.out_channels = number(out_channels);
  made.size_rows = number(r.size);
  made.size_columns = number(c.size);
  made.stride_rows = number(r.stride);
  made.stride_columns = number(c.stride);
  made.dilation_rows = number(r.dilation);
  made.dilation_columns = number(c.dilation);
  made.pad_rows = static_cast<int32_t>(r.pad_before);
  made.pad_columns = static_cast<int32_t>(c.pad_before);
  made.channels_first = channels_first ? 1 : 0;
  return made;
}

Result<ImageWindows> WindowAttributes::Pooled(const Shape& image) const {
  if (image.rank() != 4) return InvalidArgument("images must be 4-dimensional, got ", image);
  return Over(image, ksize[rows()], ksize[columns()], image.dim(static_cast<int>(channels())));
}

}  // namespace thalweg
