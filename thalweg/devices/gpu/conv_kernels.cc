// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "thalweg/devices/gpu/conv_library.h"
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
  const uint inner = s.in_channels / s.groups;
  const uint first = p.channel / (s.out_channels / s.groups) * inner;
  float sum = 0.0f;
  for (uint tr = 0; tr < s.size_rows; ++tr) {
    const int row = (int)(p.row * s.stride_rows + tr * s.dilation_rows) - s.pad_rows;
    if (row < 0 || row >= (int)s.in_rows) continue;
    for (uint tc = 0; tc < s.size_columns; ++tc) {
      const int column = (int)(p.column * s.stride_columns + tc * s.dilation_columns) - s.pad_columns;
      if (column < 0 || column >= (int)s.in_columns) continue;
      __global const float* f =
          fb + f0 + (ulong)(tr * s.size_columns + tc) * inner * s.out_channels + p.channel;
      for (uint k = 0; k < inner; ++k)
        sum = fma(x[in_place(&s, p.image, row, column, first + k)], f[k * s.out_channels], sum);
    }
  }
  yb[y0 + i] = sum;
}

__kernel void gradient_of_input(__global const float* gb, ulong g0, __global const float* fb, ulong f0,
                                __global float* xb, ulong x0, uint n, Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const Pixel p = pixel(s.channels_first, s.in_rows, s.in_columns, s.in_channels, i);
  const uint inner = s.in_channels / s.groups, outer = s.out_channels / s.groups;
  const uint first = p.channel / inner * outer;
  float sum = 0.0f;
  for (uint tr = 0; tr < s.size_rows; ++tr) {
    const int r = (int)p.row + s.pad_rows - (int)(tr * s.dilation_rows);
    if (r < 0 || r % s.stride_rows != 0 || r / s.stride_rows >= s.out_rows) continue;
    for (uint tc = 0; tc < s.size_columns; ++tc) {
      const int c = (int)p.column + s.pad_columns - (int)(tc * s.dilation_columns);
      if (c < 0 || c % s.stride_columns != 0 || c / s.stride_columns >= s.out_columns) continue;
      __global const float* f =
          fb + f0 + ((ulong)(tr * s.size_columns + tc) * inner + p.channel % inner) * s.out_channels + first;
      for (uint k = 0; k < outer; ++k)
        sum = fma(gb[g0 + out_place(&s, p.image, r / s.stride_rows, c / s.stride_columns, first + k)], f[k],
                  sum);
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
  const uint inner = s.in_channels / s.groups;
  const uint in = out / (s.out_channels / s.groups) * inner + rest % inner;
  rest /= inner;
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

// Which of the operations a kernel is for.
struct ConvNode {
  WindowAttributes attributes;
  GpuConvolved makes = GpuConvolved::kOutput;
  bool depthwise = false;
  bool panels = false;  // computes by conv_panels.h
};

Result<GpuFunction> CompileConv(const KernelConstruction& c, const ConvNode& node) {
  const bool of_filter = node.makes == GpuConvolved::kFilterGradient;
  const bool of_image = node.makes == GpuConvolved::kImageGradient;
  if (node.panels) {
    const std::string source = StrCat("#define BACKWARD ", of_image ? 1 : 0, "\n",
                                      kImageWindowsSource, kPanelsSource, kConvPanelsSource);
    return Compile(c, source, of_filter ? "gradient_of_filter" : "make_pixels");
  }
  return Compile(c, StrCat(kImageWindowsSource, kConvSource),
                 of_image    ? "gradient_of_input"
                 : of_filter ? "gradient_of_filter"
                             : "forward");
}

// What the kernels below share: the driver's library computes what it can, they do the rest.
class ConvKernel : public Kernel {
 public:
  ConvKernel(ConvNode node, GpuFunction kernel, std::optional<ConvLibrary> library)
      : node_(std::move(node)), kernel_(kernel), library_(library) {}

 protected:
  struct Sizes {
    ImageWindows windows;
    Shape filter;  // a depthwise convolution's as one of groups of a channel each
  };
  Result<Sizes> SizesOf(const Shape& image, const Shape& filter) const {
    if (filter.rank() != 4) return InvalidArgument("filter must be 4-dimensional: ", filter);
    ASSIGN_OR_RETURN(const Shape own, node_.depthwise ? OfGroups(filter) : filter);
    ASSIGN_OR_RETURN(ImageWindows windows,
                     node_.attributes.Over(image, own.dim(0), own.dim(1), own.dim(3)));
    const int64_t in = windows.in_channels, of_group = own.dim(2);
    if (node_.depthwise && filter.dim(2) != in) {
      return InvalidArgument("input and filter must have the same depth: ", in, " vs ",
                             filter.dim(2), " channels");
    }
    if (of_group != in) {
      const bool are_groups =
          of_group > 0 && in > 0 && in % of_group == 0 && own.dim(3) % (in / of_group) == 0;
      if (!are_groups || node_.panels) {
        return Unimplemented("a filter that expects ", of_group, " channels of an image with ", in,
                             " has no kernel on devices of type GPU");
      }
      windows.groups = static_cast<uint32_t>(in / of_group);
    }
    for (const int64_t n : {windows.In().num_elements(), windows.Out().num_elements(),
                            own.num_elements(), own.dim(3)}) {
      RETURN_IF_ERROR(IndexOf(n).status());
    }
    return Sizes{windows, own};
  }
  // Whether the library has done it; else kernels do.
  Result<bool> DoneByLibrary(Context& ctx, const Sizes& sizes, const Tensor& image,
                             const Tensor& filter, const Tensor& output) const {
    if (!library_) return false;
    ASSIGN_OR_RETURN(Tensor of_library, filter.Reshaped(sizes.filter));
    return library_->Run(
        GpuOf(ctx), node_.makes, sizes.windows,
        {.image = image, .filter = std::move(of_library), .output = output, .workspace = {}});
  }

  const ConvNode node_;
  const GpuFunction kernel_;

 private:
  static Result<Shape> OfGroups(const Shape& filter) {
    int64_t out = 0;
    if (__builtin_mul_overflow(filter.dim(2), filter.dim(3), &out)) {
      return InvalidArgument("too many output channels: ", filter.dim(2), " times ", filter.dim(3));
    }
    return Shape::Make(
        Dims{filter.dim(0), filter.dim(1), std::min<int64_t>(filter.dim(2), 1), out});
  }

  const std::optional<ConvLibrary> library_;
};

template <class K, GpuConvolved makes, bool depthwise>
Result<std::unique_ptr<Kernel>> CreateConv(const KernelConstruction& c) {
  // Those of processors have no groups.
  ConvNode node = {.attributes = {},
                   .makes = makes,
                   .depthwise = depthwise,
                   .panels = GpuOf(c).computes_by_panels() && !depthwise};
  ASSIGN_OR_RETURN(node.attributes, WindowAttributes::Read(c));
  ASSIGN_OR_RETURN(const GpuFunction kernel, CompileConv(c, node));
  ASSIGN_OR_RETURN(const std::optional<ConvLibrary> library, ConvLibrary::Find(GpuOf(c)));
  return K::Make(c, std::move(node), kernel, library);
}

Status CheckGradient(const ImageWindows& windows, const Shape& gradient) {
  if (gradient == windows.Out()) return OkStatus();
  return InvalidArgument("out_backprop must have the shape of the output, ", windows.Out(),
                         ", got ", gradient);
}

// The output, or the gradient of the input: each pixel of it is made of a window of `from`.
class ConvPixels : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& /*c*/, ConvNode node,
                                              GpuFunction kernel,
                                              std::optional<ConvLibrary> library) {
    return std::unique_ptr<Kernel>(std::make_unique<ConvPixels>(std::move(node), kernel, library));
  }
  Status Compute(Context& ctx) override {
    const bool forward = node_.makes == GpuConvolved::kOutput;
    const Tensor &from = ctx.input(forward ? 0 : 2), &filter = ctx.input(1);
    Shape image = ctx.input(0).shape();
    if (!forward) {
      ASSIGN_OR_RETURN(image, ShapeOf(ctx.input(0), "input_sizes"));
    }
    ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(image, filter.shape()));
    const ImageWindows& windows = sizes.windows;
    if (!forward) RETURN_IF_ERROR(CheckGradient(windows, from.shape()));
    ASSIGN_OR_RETURN(Tensor * to,
                     ctx.AllocateOutput(0, filter.dtype(), forward ? windows.Out() : image));
    ASSIGN_OR_RETURN(const bool done,
                     DoneByLibrary(ctx, sizes, forward ? from : *to, filter, forward ? *to : from));
    if (done) return OkStatus();
    const auto n = static_cast<uint32_t>(to->num_elements());
    GpuDevice& device = GpuOf(ctx);
    GpuLaunch launch(kernel_);
    launch.Add(from).Add(filter).Add(*to);
    if (!node_.panels) {
      return RunLine(device.queue(), launch.Value(n).Value(windows), n);
    }
    const int64_t channels = forward ? windows.out_channels : windows.in_channels;
    if (n == 0) return OkStatus();
    const PanelGrid grid =
        PanelGrid::Of({.rows = n / channels, .columns = channels}, device.traits().units);
    return device.queue().Run(launch.Value(grid.rows).Value(windows), grid.items, kPanelGroup);
  }
};

class ConvFilterGradient : public ConvKernel {
 public:
  ConvFilterGradient(ConvNode node, GpuFunction kernel, std::optional<ConvLibrary> library,
                     GpuReduction sum)
      : ConvKernel(std::move(node), kernel, library), sum_(sum) {}
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c, ConvNode node,
                                              GpuFunction kernel,
                                              std::optional<ConvLibrary> library) {
    ASSIGN_OR_RETURN(const GpuReduction sum, GpuReduction::Make(GpuOf(c), ReduceTo::kSum));
    return std::unique_ptr<Kernel>(
        std::make_unique<ConvFilterGradient>(std::move(node), kernel, library, sum));
  }
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &gradient = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape filter, ShapeOf(ctx.input(1), "filter_sizes"));
    ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(x.shape(), filter));
    RETURN_IF_ERROR(CheckGradient(sizes.windows, gradient.shape()));
    ASSIGN_OR_RETURN(Tensor * df, ctx.AllocateOutput(0, x.dtype(), filter));
    ASSIGN_OR_RETURN(const bool done, DoneByLibrary(ctx, sizes, x, *df, gradient));
    return done ? OkStatus() : ByKernel(ctx, sizes.windows, x, gradient, *df);
  }

 private:
  Status ByKernel(Context& ctx, const ImageWindows& windows, const Tensor& x,
                  const Tensor& gradient, const Tensor& df) const {
    const auto n = static_cast<uint32_t>(df.num_elements());
    if (n == 0) return OkStatus();
    GpuDevice& device = GpuOf(ctx);
    const bool panels = node_.panels;
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
    Tensor sums = df;
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
    return parts > 1 ? sum_.Run(device, sums, Dims{0}, df) : OkStatus();
  }

  const GpuReduction sum_;
};

}  // namespace

void AddConvKernels(KernelAdder& adder) {
  const KernelAdder::TypeList of_float = {{"T", DType::kFloat}};
  constexpr auto kOutput = GpuConvolved::kOutput;
  constexpr auto kImage = GpuConvolved::kImageGradient;
  constexpr auto kFilter = GpuConvolved::kFilterGradient;
  adder.AddLimited<CreateConv<ConvPixels, kOutput, false>>("Conv2D", of_float);
  adder.AddLimited<CreateConv<ConvPixels, kImage, false>>("Conv2DBackpropInput", of_float,
                                                          {"input_sizes"});
  adder.AddLimited<CreateConv<ConvFilterGradient, kFilter, false>>("Conv2DBackpropFilter", of_float,
                                                                   {"filter_sizes"});
  adder.AddLimited<CreateConv<ConvPixels, kOutput, true>>("DepthwiseConv2dNative", of_float);
  adder.AddLimited<CreateConv<ConvPixels, kImage, true>>("DepthwiseConv2dNativeBackpropInput",
                                                         of_float, {"input_sizes"});
  adder.AddLimited<CreateConv<ConvFilterGradient, kFilter, true>>(
      "DepthwiseConv2dNativeBackpropFilter", of_float, {"filter_sizes"});
}

}  // namespace thalweg
