// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/image_windows.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// What lies outside of the image does not count. A gradient goes to the first of equal maxima.
constexpr const char* kPoolSource = R"(
__kernel void max_pool(__global const float* xb, ulong x0, __global float* yb, ulong y0, uint n,
                       Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const Pixel p = pixel(s.channels_first, s.out_rows, s.out_columns, s.out_channels, i);
  const int row0 = (int)(p.row * s.stride_rows) - s.pad_rows;
  const int column0 = (int)(p.column * s.stride_columns) - s.pad_columns;
  float most = -INFINITY;
  for (int r = max(row0, 0); r < min(row0 + (int)s.size_rows, (int)s.in_rows); ++r)
    for (int c = max(column0, 0); c < min(column0 + (int)s.size_columns, (int)s.in_columns); ++c) {
      const float x = xb[x0 + in_place(&s, p.image, r, c, p.channel)];
      most = x > most || x != x ? x : most;
    }
  yb[y0 + i] = most;
}

__kernel void average_pool(__global const float* xb, ulong x0, __global float* yb, ulong y0, uint n,
                           Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const Pixel p = pixel(s.channels_first, s.out_rows, s.out_columns, s.out_channels, i);
  const int row0 = (int)(p.row * s.stride_rows) - s.pad_rows;
  const int column0 = (int)(p.column * s.stride_columns) - s.pad_columns;
  float sum = 0.0f;
  int count = 0;
  for (int r = max(row0, 0); r < min(row0 + (int)s.size_rows, (int)s.in_rows); ++r)
    for (int c = max(column0, 0); c < min(column0 + (int)s.size_columns, (int)s.in_columns); ++c) {
      sum += xb[x0 + in_place(&s, p.image, r, c, p.channel)];
      ++count;
    }
  yb[y0 + i] = sum / count;
}

int is_first_maximum(__global const float* x, const Slide* s, Pixel p, int row0, int column0,
                     float most) {
  for (int r = max(row0, 0); r < min(row0 + (int)s->size_rows, (int)s->in_rows); ++r)
    for (int c = max(column0, 0); c < min(column0 + (int)s->size_columns, (int)s->in_columns); ++c)
      if (x[in_place(s, p.image, r, c, p.channel)] == most)
        return r == (int)p.row && c == (int)p.column;
  return 0;
}

__kernel void max_pool_gradient(__global const float* xb, ulong x0, __global const float* yb, ulong y0,
                                __global const float* gb, ulong g0, __global float* db, ulong d0,
                                uint n, Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const Pixel p = pixel(s.channels_first, s.in_rows, s.in_columns, s.in_channels, i);
  float sum = 0.0f;
  for (uint tr = 0; tr < s.size_rows; ++tr) {
    const int r = (int)p.row + s.pad_rows - (int)tr;
    if (r < 0 || r % s.stride_rows != 0 || r / s.stride_rows >= s.out_rows) continue;
    for (uint tc = 0; tc < s.size_columns; ++tc) {
      const int c = (int)p.column + s.pad_columns - (int)tc;
      if (c < 0 || c % s.stride_columns != 0 || c / s.stride_columns >= s.out_columns) continue;
      const uint at = out_place(&s, p.image, r / s.stride_rows, c / s.stride_columns, p.channel);
      if (is_first_maximum(xb + x0, &s, p, r - s.pad_rows, c - s.pad_columns, yb[y0 + at]))
        sum += gb[g0 + at];
    }
  }
  db[d0 + i] = sum;
}

__kernel void average_pool_gradient(__global const float* gb, ulong g0, __global float* db, ulong d0,
                                    uint n, Slide s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const Pixel p = pixel(s.channels_first, s.in_rows, s.in_columns, s.in_channels, i);
  float sum = 0.0f;
  for (uint tr = 0; tr < s.size_rows; ++tr) {
    const int r = (int)p.row + s.pad_rows - (int)tr;
    if (r < 0 || r % s.stride_rows != 0 || r / s.stride_rows >= s.out_rows) continue;
    for (uint tc = 0; tc < s.size_columns; ++tc) {
      const int c = (int)p.column + s.pad_columns - (int)tc;
      if (c < 0 || c % s.stride_columns != 0 || c / s.stride_columns >= s.out_columns) continue;
      const int row0 = r - s.pad_rows, column0 = c - s.pad_columns;
      const int rows = min(row0 + (int)s.size_rows, (int)s.in_rows) - max(row0, 0);
      const int columns = min(column0 + (int)s.size_columns, (int)s.in_columns) - max(column0, 0);
      sum += gb[g0 + out_place(&s, p.image, r / s.stride_rows, c / s.stride_columns, p.channel)] /
             (rows * columns);
    }
  }
  db[d0 + i] = sum;
}
)";

class PoolGpu : public Kernel {
 public:
  PoolGpu(GpuFunction kernel, WindowAttributes attributes)
      : kernel_(kernel), attributes_(std::move(attributes)) {}
  template <class K>
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(WindowAttributes attributes, WindowAttributes::Read(c));
    const std::string_view op = c.node().op_name();
    const char* const name = op == "MaxPool"       ? "max_pool"
                             : op == "MaxPoolGrad" ? "max_pool_gradient"
                             : op == "AvgPool"     ? "average_pool"
                                                   : "average_pool_gradient";
    ASSIGN_OR_RETURN(const GpuFunction kernel,
                     Compile(c, StrCat(kImageWindowsSource, kPoolSource), name));
    return std::unique_ptr<Kernel>(std::make_unique<K>(kernel, std::move(attributes)));
  }

 protected:
  Result<ImageWindows> WindowsOver(const Shape& image) const {
    ASSIGN_OR_RETURN(const ImageWindows windows, attributes_.Pooled(image));
    RETURN_IF_ERROR(IndexOf(windows.In().num_elements()).status());
    RETURN_IF_ERROR(IndexOf(windows.Out().num_elements()).status());
    return windows;
  }
  // One work item for each element of `out`, the last tensor of the launch.
  Status Run(Context& ctx, GpuLaunch& launch, const ImageWindows& windows,
             const Tensor& out) const {
    const auto n = static_cast<uint32_t>(out.num_elements());
    launch.Add(out).Value(n).Value(windows);
    return RunLine(GpuOf(ctx).queue(), launch, n);
  }
  GpuLaunch Launch() const { return GpuLaunch(kernel_); }

 private:
  const GpuFunction kernel_;
  const WindowAttributes attributes_;
};

class PoolForward : public PoolGpu {
 public:
  using PoolGpu::PoolGpu;
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOver(x.shape()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), windows.Out()));
    GpuLaunch launch = Launch();
    launch.Add(x);
    return Run(ctx, launch, windows, *y);
  }
};

class MaxPoolGradient : public PoolGpu {
 public:
  using PoolGpu::PoolGpu;
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &y = ctx.input(1), &gradient = ctx.input(2);
    ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOver(x.shape()));
    if (y.shape() != windows.Out() || gradient.shape() != windows.Out()) {
      return InvalidArgument("orig_output and grad must have the shape of the output, ",
                             windows.Out(), ", got ", y.shape(), " and ", gradient.shape());
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    GpuLaunch launch = Launch();
    launch.Add(x).Add(y).Add(gradient);
    return Run(ctx, launch, windows, *dx);
  }
};

class AveragePoolGradient : public PoolGpu {
 public:
  using PoolGpu::PoolGpu;
  Status Compute(Context& ctx) override {
    const Tensor& gradient = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape image, ShapeOf(ctx.input(0), "orig_input_shape"));
    ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOver(image));
    if (gradient.shape() != windows.Out()) {
      return InvalidArgument("grad must have the shape of the output, ", windows.Out(), ", got ",
                             gradient.shape());
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, gradient.dtype(), image));
    GpuLaunch launch = Launch();
    launch.Add(gradient);
    return Run(ctx, launch, windows, *dx);
  }
};

}  // namespace

void AddPoolKernels(KernelAdder& adder) {
  const std::pair<std::string, DType> of_float = {"T", DType::kFloat};
  adder.AddLimited<PoolGpu::Make<PoolForward>>("MaxPool", {of_float});
  adder.AddLimited<PoolGpu::Make<PoolForward>>("AvgPool", {of_float});
  adder.AddLimited<PoolGpu::Make<MaxPoolGradient>>("MaxPoolGrad", {of_float});
  adder.AddLimited<PoolGpu::Make<AveragePoolGradient>>("AvgPoolGrad", {of_float},
                                                       {"orig_input_shape"});
}

}  // namespace thalweg
