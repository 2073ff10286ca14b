// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/devices/gpu/conv_panels.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/image_windows.h"
#include "thalweg/devices/gpu/panels.h"
#include "thalweg/devices/gpu/reduction.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Of cards: a work item for an element of what is made. With NHWC neighbors are neighboring
// channels, so that they read neighboring elements of the filter.
constexpr const char* kConvSource = R"(
__kernel void forward(__global const float* xb, ulong x0, __global const float* fb, ulong f0,
                      __global float* yb, ulong y0, uint n, Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  __global const float* x = xb + x0;
  const Pixel p = pixel(s.channels_first, s.out_rows, s.out_columns, s.out_channels, i);
  float sum = 0.0f;
  for (uint tr = 0; tr < s.size_rows; ++tr) {
    const int row = (int)(p.row * s.stride_rows + tr * s.dilation_rows) - s.pad_rows;
    if (row < 0 || row >= (int)s.in_rows) continue;
    for (uint tc = 0; tc < s.size_columns; ++tc) {
      const int column = (int)(p.column * s.stride_columns + tc * s.dilation_columns) - s.pad_columns;
      if (column < 0 || column >= (int)s.in_columns) continue;
      __global const float* f =
          fb + f0 + (ulong)(tr * s.size_columns + tc) * s.in_channels * s.out_channels + p.channel;
      for (uint k = 0; k < s.in_channels; ++k)
        sum = fma(x[in_place(&s, p.image, row, column, k)], f[k * s.out_channels], sum);
    }
  }
  yb[y0 + i] = sum;
}

__kernel void gradient_of_input(__global const float* gb, ulong g0, __global const float* fb, ulong f0,
                                __global float* xb, ulong x0, uint n, Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const Pixel p = pixel(s.channels_first, s.in_rows, s.in_columns, s.in_channels, i);
  float sum = 0.0f;
  for (uint tr = 0; tr < s.size_rows; ++tr) {
    const int r = (int)p.row + s.pad_rows - (int)(tr * s.dilation_rows);
    if (r < 0 || r % s.stride_rows != 0 || r / s.stride_rows >= s.out_rows) continue;
    for (uint tc = 0; tc < s.size_columns; ++tc) {
      const int c = (int)p.column + s.pad_columns - (int)(tc * s.dilation_columns);
      if (c < 0 || c % s.stride_columns != 0 || c / s.stride_columns >= s.out_columns) continue;
      __global const float* f =
          fb + f0 + ((ulong)(tr * s.size_columns + tc) * s.in_channels + p.channel) * s.out_channels;
      for (uint k = 0; k < s.out_channels; ++k)
        sum = fma(gb[g0 + out_place(&s, p.image, r / s.stride_rows, c / s.stride_columns, k)], f[k], sum);
    }
  }
  xb[x0 + i] = sum;
}

__kernel void gradient_of_filter(__global const float* xb, ulong x0, __global const float* gb, ulong g0,
                                 __global float* fb, ulong f0, uint n, uint part_size, Slide s) {
  const uint i = get_global_id(0), part = get_global_id(1);
  if (i >= n) return;
  uint rest = i;
  const uint out = rest % s.out_channels;
  rest /= s.out_channels;
  const uint in = rest % s.in_channels;
  rest /= s.in_channels;
  const uint tc = rest % s.size_columns, tr = rest / s.size_columns;
  const uint end = min((part + 1) * part_size, s.batch * s.out_rows * s.out_columns);
  float sum = 0.0f;
  for (uint at = part * part_size; at < end; ++at) {
    const uint c = at % s.out_columns, r = at / s.out_columns % s.out_rows;
    const uint image = at / s.out_columns / s.out_rows;
    const int row = (int)(r * s.stride_rows + tr * s.dilation_rows) - s.pad_rows;
    const int column = (int)(c * s.stride_columns + tc * s.dilation_columns) - s.pad_columns;
    if (row < 0 || row >= (int)s.in_rows || column < 0 || column >= (int)s.in_columns) continue;
    sum = fma(xb[x0 + in_place(&s, image, row, column, in)], gb[g0 + out_place(&s, image, r, c, out)], sum);
  }
  fb[f0 + (ulong)part * n + i] = sum;
}
)";

enum class Conv { kForward, kInputGradient, kFilterGradient };

Result<GpuFunction> CompileConv(const KernelConstruction& c, Conv conv) {
  if (GpuOf(c).computes_by_panels()) {
    const int backward = conv == Conv::kInputGradient ? 1 : 0;
    const std::string source = StrCat("#define BACKWARD ", backward, "\n", kImageWindowsSource,
                                      kPanelsSource, kConvPanelsSource);
    return Compile(c, source, conv == Conv::kFilterGradient ? "gradient_of_filter" : "make_pixels");
  }
  return Compile(c, StrCat(kImageWindowsSource, kConvSource),
                 conv == Conv::kForward         ? "forward"
                 : conv == Conv::kInputGradient ? "gradient_of_input"
                                                : "gradient_of_filter");
}

Result<ImageWindows> WindowsOf(const WindowAttributes& attributes, const Shape& image,
                               const Shape& filter) {
  if (filter.rank() != 4) return InvalidArgument("filter must be 4-dimensional: ", filter);
  ASSIGN_OR_RETURN(const ImageWindows windows,
                   attributes.Over(image, filter.dim(0), filter.dim(1), filter.dim(3)));
  if (filter.dim(2) != windows.in_channels) {
    return Unimplemented("a filter that expects ", filter.dim(2), " channels of an image with ",
                         windows.in_channels, " has no kernel on devices of type GPU");
  }
  for (const int64_t n :
       {windows.In().num_elements(), windows.Out().num_elements(), filter.num_elements()}) {
    RETURN_IF_ERROR(IndexOf(n).status());
  }
  return windows;
}

Status CheckGradient(const ImageWindows& windows, const Shape& gradient) {
  if (gradient == windows.Out()) return OkStatus();
  return InvalidArgument("out_backprop must have the shape of the output, ", windows.Out(),
                         ", got ", gradient);
}

// The output, or the gradient of the input: each pixel of it is made of a window of `from`.
class ConvPixels : public Kernel {
 public:
  ConvPixels(GpuFunction kernel, WindowAttributes attributes, Conv conv)
      : kernel_(kernel), attributes_(std::move(attributes)), conv_(conv) {}
  template <Conv conv>
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(WindowAttributes attributes, WindowAttributes::Read(c));
    ASSIGN_OR_RETURN(const GpuFunction kernel, CompileConv(c, conv));
    return std::unique_ptr<Kernel>(
        std::make_unique<ConvPixels>(kernel, std::move(attributes), conv));
  }
  Status Compute(Context& ctx) override {
    const bool forward = conv_ == Conv::kForward;
    const Tensor &from = ctx.input(forward ? 0 : 2), &filter = ctx.input(1);
    Shape image = ctx.input(0).shape();
    if (!forward) {
      ASSIGN_OR_RETURN(image, ShapeOf(ctx.input(0), "input_sizes"));
    }
    ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOf(attributes_, image, filter.shape()));
    if (!forward) RETURN_IF_ERROR(CheckGradient(windows, from.shape()));
    ASSIGN_OR_RETURN(Tensor * to,
                     ctx.AllocateOutput(0, filter.dtype(), forward ? windows.Out() : image));
    const auto n = static_cast<uint32_t>(to->num_elements());
    GpuDevice& device = GpuOf(ctx);
    GpuLaunch launch(kernel_);
    launch.Add(from).Add(filter).Add(*to);
    if (!device.computes_by_panels()) {
      return RunLine(device.queue(), launch.Value(n).Value(windows), n);
    }
    const int64_t channels = forward ? windows.out_channels : windows.in_channels;
    if (n == 0) return OkStatus();
    const PanelGrid grid =
        PanelGrid::Of({.rows = n / channels, .columns = channels}, device.traits().units);
    return device.queue().Run(launch.Value(grid.rows).Value(windows), grid.items, kPanelGroup);
  }

 private:
  const GpuFunction kernel_;
  const WindowAttributes attributes_;
  const Conv conv_;
};

class ConvFilterGradient : public Kernel {
 public:
  ConvFilterGradient(GpuFunction kernel, WindowAttributes attributes, GpuReduction sum)
      : kernel_(kernel), attributes_(std::move(attributes)), sum_(sum) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(WindowAttributes attributes, WindowAttributes::Read(c));
    ASSIGN_OR_RETURN(const GpuFunction kernel, CompileConv(c, Conv::kFilterGradient));
    ASSIGN_OR_RETURN(const GpuReduction sum, GpuReduction::Make(GpuOf(c), ReduceTo::kSum));
    return std::unique_ptr<Kernel>(
        std::make_unique<ConvFilterGradient>(kernel, std::move(attributes), sum));
  }
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &gradient = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape filter, ShapeOf(ctx.input(1), "filter_sizes"));
    ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOf(attributes_, x.shape(), filter));
    RETURN_IF_ERROR(CheckGradient(windows, gradient.shape()));
    ASSIGN_OR_RETURN(Tensor * df, ctx.AllocateOutput(0, x.dtype(), filter));
    const auto n = static_cast<uint32_t>(df->num_elements());
    if (n == 0) return OkStatus();
    GpuDevice& device = GpuOf(ctx);
    const bool panels = device.computes_by_panels();
    const uint32_t pixels = windows.Positions();
    // A small filter over many pixels: parts of the pixels, whose sums are added.
    const PanelGrid grid = PanelGrid::Of(
        {.rows = windows.out_channels, .columns = n / windows.out_channels}, device.traits().units);
    const size_t items = panels ? grid.items[0] * grid.items[1] : n;
    const size_t enough =
        panels ? static_cast<size_t>(PanelGrid::kItemsOfAUnit * device.traits().units) : 1 << 14;
    const uint32_t least_pixels = panels ? 512 : 64;
    const auto most_parts = static_cast<uint32_t>(
        std::clamp<size_t>(enough / items, 1, std::max<uint32_t>(pixels / least_pixels, 1)));
    const uint32_t part_size = std::max((pixels + most_parts - 1) / most_parts, uint32_t{1});
    const uint32_t parts =
        std::max((pixels + part_size - 1) / part_size, uint32_t{1});  // none empty
    Tensor sums = *df;
    if (parts > 1) {
      ASSIGN_OR_RETURN(sums, device.Allocate(x.dtype(), Shape{parts, n}));
    }
    GpuLaunch launch(kernel_);
    launch.Add(x).Add(gradient).Add(sums);
    if (panels) {
      launch.Value(part_size).Value(grid.rows).Value(windows);
      RETURN_IF_ERROR(
          device.queue().Run(launch, {grid.items[0], grid.items[1], parts}, kPanelGroup));
    } else {
      launch.Value(n).Value(part_size).Value(windows);
      RETURN_IF_ERROR(device.queue().Run(launch, {n, parts, 1}, {kLine, 1, 1}));
    }
    return parts > 1 ? sum_.Run(device, sums, Dims{0}, *df) : OkStatus();
  }

 private:
  const GpuFunction kernel_;
  const WindowAttributes attributes_;
  const GpuReduction sum_;
};

}  // namespace

void AddConvKernels(KernelAdder& adder) {
  const std::pair<std::string, DType> of_float = {"T", DType::kFloat};
  adder.AddLimited<ConvPixels::Create<Conv::kForward>>("Conv2D", {of_float});
  adder.AddLimited<ConvPixels::Create<Conv::kInputGradient>>("Conv2DBackpropInput", {of_float},
                                                             {"input_sizes"});
  adder.AddLimited<ConvFilterGradient::Create>("Conv2DBackpropFilter", {of_float},
                                               {"filter_sizes"});
}

}  // namespace thalweg
