// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"

namespace thalweg {
namespace {

// Images are (outer, channels, inner); a pixel is a place of outer and inner. Sums over the pixels
// are made in parts, one after another within a part, so that their bits depend on shapes alone.
constexpr const char* kBatchNormSource = R"(
typedef struct {
  uint outer, channels, inner, parts, part_size, training;
  float epsilon, average;
} Norm;

uint at(const Norm* s, uint pixel, uint channel) {
  return (pixel / s->inner * s->channels + channel) * s->inner + pixel % s->inner;
}

// The sum of a channel's values in a part, of what they are beyond a shift, squared or not.
#define PARTS(NAME, TERM)                                                                      \
__kernel void NAME(__global const float* xb, ulong x0, __global const float* shifts, ulong s0, \
                   __global float* pb, ulong p0, Norm s) {                                     \
  const uint c = get_global_id(0), part = get_global_id(1);                                    \
  if (c >= s.channels || part >= s.parts) return;                                              \
  const uint end = min((part + 1) * s.part_size, s.outer * s.inner);                           \
  const float shift = shifts[s0 + c];                                                          \
  float sum = 0.0f;                                                                            \
  for (uint i = part * s.part_size; i < end; ++i) {                                            \
    const float x = xb[x0 + at(&s, i, c)];                                                     \
    sum += TERM;                                                                               \
  }                                                                                            \
  pb[p0 + part * s.channels + c] = sum;                                                        \
}
PARTS(parts_of_sum, x)
PARTS(parts_of_square, (x - shift) * (x - shift))

float sum_of(__global const float* parts, uint c, uint step, uint count) {
  float sum = 0.0f;
  for (uint p = 0; p < count; ++p) sum += parts[p * step + c];
  return sum;
}

__kernel void divide(__global const float* pb, ulong p0, __global float* mb, ulong m0, Norm s) {
  const uint c = get_global_id(0);
  if (c >= s.channels) return;
  mb[m0 + c] = sum_of(pb + p0, c, s.channels, s.parts) / max(s.outer * s.inner, 1u);
}

// What is kept and what normalizes; `old` are the running moments so far, or those to use.
__kernel void moments(__global const float* pb, ulong p0, __global const float* scales, ulong sc0,
                      __global const float* offsets, ulong of0, __global const float* old_means, ulong om0,
                      __global const float* old_variances, ulong ov0, __global float* means, ulong m0,
                      __global float* variances, ulong v0, __global float* saved_means, ulong sm0,
                      __global float* saved_variances, ulong sv0, __global float* fb, ulong f0, Norm s) {
  const uint c = get_global_id(0);
  if (c >= s.channels) return;
  const float count = (float)(s.outer * s.inner);
  float mean, variance, running_mean, running_variance;
  if (s.training) {
    mean = saved_means[sm0 + c];
    variance = sum_of(pb + p0, c, s.channels, s.parts) / max(count, 1.0f);
    running_mean = count == 0.0f ? NAN : mean;  // a mean of nothing
    running_variance = count == 0.0f ? NAN : variance * (count / max(count - 1.0f, 1.0f));
    if (s.average != 1.0f) {
      running_mean = s.average * running_mean + (1.0f - s.average) * old_means[om0 + c];
      running_variance = s.average * running_variance + (1.0f - s.average) * old_variances[ov0 + c];
    }
  } else {
    running_mean = mean = old_means[om0 + c];
    running_variance = variance = old_variances[ov0 + c];
  }
  means[m0 + c] = running_mean;
  variances[v0 + c] = running_variance;
  saved_means[sm0 + c] = mean;
  saved_variances[sv0 + c] = variance;
  const float factor = scales[sc0 + c] / sqrt(variance + s.epsilon);
  fb[f0 + c] = factor;
  fb[f0 + s.channels + c] = offsets[of0 + c] - mean * factor;
}

__kernel void scale_channels(__global const float* xb, ulong x0, __global const float* fb, ulong f0,
                        __global float* yb, ulong y0, uint n, Norm s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const uint c = i / s.inner % s.channels;
  yb[y0 + i] = fma(xb[x0 + i], fb[f0 + c], fb[f0 + s.channels + c]);
}

// Of a part: the sum of the gradient, and of its products with what x is beyond the mean.
__kernel void parts_of_gradient(__global const float* gb, ulong g0, __global const float* xb, ulong x0,
                                __global const float* means, ulong m0, __global float* pb, ulong p0, Norm s) {
  const uint c = get_global_id(0), part = get_global_id(1);
  if (c >= s.channels || part >= s.parts) return;
  const uint end = min((part + 1) * s.part_size, s.outer * s.inner);
  const float mean = means[m0 + c];
  float sum = 0.0f, product = 0.0f;
  for (uint i = part * s.part_size; i < end; ++i) {
    const uint place = at(&s, i, c);
    const float g = gb[g0 + place];
    sum += g;
    product = fma(g, xb[x0 + place] - mean, product);
  }
  pb[p0 + 2 * part * s.channels + c] = sum;
  pb[p0 + (2 * part + 1) * s.channels + c] = product;
}

__kernel void gradients(__global const float* pb, ulong p0, __global const float* scales, ulong sc0,
                        __global const float* variances, ulong v0, __global float* scale_gradients, ulong sg0,
                        __global float* offset_gradients, ulong og0, __global float* fb, ulong f0, Norm s) {
  const uint c = get_global_id(0);
  if (c >= s.channels) return;
  const float sum = sum_of(pb + p0, c, 2 * s.channels, s.parts);
  const float product = sum_of(pb + p0 + s.channels, c, 2 * s.channels, s.parts);
  const float power = variances[v0 + c] + s.epsilon, count = max((float)(s.outer * s.inner), 1.0f);
  scale_gradients[sg0 + c] = product / sqrt(power);
  offset_gradients[og0 + c] = sum;
  fb[f0 + c] = scales[sc0 + c] / sqrt(power);
  fb[f0 + s.channels + c] = s.training ? sum / count : 0.0f;
  fb[f0 + 2 * s.channels + c] = s.training ? product / count / power : 0.0f;
}

__kernel void gradient_of_input(__global const float* gb, ulong g0, __global const float* xb, ulong x0,
                                __global const float* means, ulong m0, __global const float* fb, ulong f0,
                                __global float* yb, ulong y0, uint n, Norm s) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const uint c = i / s.inner % s.channels;
  const float x = xb[x0 + i] - means[m0 + c];
  yb[y0 + i] = fb[f0 + c] * (gb[g0 + i] - fb[f0 + s.channels + c] - x * fb[f0 + 2 * s.channels + c]);
}
)";

// As the source has it.
struct Norm {
  uint32_t outer = 0, channels = 0, inner = 0, parts = 0, part_size = 0, training = 0;
  float epsilon = 0, average = 1;
};

Status CheckVector(const Tensor& v, uint32_t channels, const char* name) {
  if (v.rank() != 1) return InvalidArgument(name, " must be 1-dimensional, got ", v.shape());
  if (v.dim(0) == channels) return OkStatus();
  return InvalidArgument(name, " must have the same number of elements as the channels of x, got ",
                         v.dim(0), " and ", channels);
}

class BatchNormGpu : public Kernel {
 protected:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(format_, c.Attr<std::string>("data_format"));
    ASSIGN_OR_RETURN(norm_.epsilon, c.Attr<float>("epsilon"));
    ASSIGN_OR_RETURN(const bool training, c.Attr<bool>("is_training"));
    norm_.training = training ? 1 : 0;
    if (c.node().FindAttr("exponential_avg_factor") != nullptr) {
      ASSIGN_OR_RETURN(norm_.average, c.Attr<float>("exponential_avg_factor"));
    }
    return OkStatus();
  }
  static Result<GpuFunction> Find(const KernelConstruction& c, const char* name) {
    return Compile(c, kBatchNormSource, name);
  }

  Result<Norm> NormOf(const Tensor& x) const {
    const int rank = static_cast<int>(format_.size());
    if (x.rank() != rank) {
      return InvalidArgument("input must be ", rank, "-dimensional, got ", x.shape());
    }
    RETURN_IF_ERROR(IndexOf(x.num_elements()).status());
    const bool first = format_[1] == 'C';
    int64_t places = 1;
    for (int d = first ? 2 : 1; d < (first ? rank : rank - 1); ++d) places *= x.dim(d);
    Norm norm = norm_;
    norm.outer = static_cast<uint32_t>(first ? x.dim(0) : x.dim(0) * places);
    norm.channels = static_cast<uint32_t>(x.dim(first ? 1 : rank - 1));
    norm.inner = static_cast<uint32_t>(first ? places : 1);
    constexpr uint32_t kPixelsOfAPart = 256;
    constexpr uint32_t kMostParts = 128;
    const uint32_t pixels = norm.outer * norm.inner;
    norm.parts = std::clamp(pixels / kPixelsOfAPart, uint32_t{1}, kMostParts);
    norm.part_size = (pixels + norm.parts - 1) / norm.parts;
    norm.inner = std::max(norm.inner, uint32_t{1});  // it divides
    return norm;
  }
  static Status RunParts(GpuQueue& queue, const GpuLaunch& launch, const Norm& norm) {
    return queue.Run(launch, {norm.channels, norm.parts, 1}, {32, 1, 1});
  }
  static Result<Tensor> Vectors(GpuDevice& device, int64_t count, const Norm& norm) {
    return device.Allocate(DType::kFloat, Shape{count, norm.channels});
  }

  Norm norm_;  // without sizes
  std::string format_;
};

class BatchNormForward : public BatchNormGpu {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<BatchNormForward>();
    RETURN_IF_ERROR(kernel->Read(c));
    ASSIGN_OR_RETURN(kernel->sum_, Find(c, "parts_of_sum"));
    ASSIGN_OR_RETURN(kernel->square_, Find(c, "parts_of_square"));
    ASSIGN_OR_RETURN(kernel->mean_, Find(c, "divide"));
    ASSIGN_OR_RETURN(kernel->moments_, Find(c, "moments"));
    ASSIGN_OR_RETURN(kernel->normalize_, Find(c, "scale_channels"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &scale = ctx.input(1), &offset = ctx.input(2);
    ASSIGN_OR_RETURN(const Norm norm, NormOf(x));
    const char* names[] = {"scale", "offset", "mean", "variance"};
    const bool needs_moments = norm.training == 0 || norm.average != 1;
    for (int i = 0; i < (needs_moments ? 4 : 2); ++i) {
      RETURN_IF_ERROR(CheckVector(ctx.input(i + 1), norm.channels, names[i]));
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    Tensor* kept[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(kept[i], ctx.AllocateOutput(i + 1, DType::kFloat, Shape{norm.channels}));
    }
    if (ctx.num_outputs() == 6) {
      RETURN_IF_ERROR(ctx.AllocateOutput(5, DType::kFloat, Shape{0}).status());
    }
    if (norm.channels == 0) return OkStatus();
    GpuDevice& device = GpuOf(ctx);
    GpuQueue& queue = device.queue();
    ASSIGN_OR_RETURN(const Tensor parts, Vectors(device, norm.parts, norm));
    ASSIGN_OR_RETURN(const Tensor factors, Vectors(device, 2, norm));
    const Tensor& saved_mean = *kept[2];
    const Tensor& pixels = x.num_elements() == 0 ? parts : x;  // none of which is read
    if (norm.training != 0) {
      GpuLaunch sum(sum_), mean(mean_), square(square_);
      sum.Add(pixels).Add(scale).Add(parts).Value(norm);
      mean.Add(parts).Add(saved_mean).Value(norm);
      square.Add(pixels).Add(saved_mean).Add(parts).Value(norm);
      RETURN_IF_ERROR(RunParts(queue, sum, norm));
      RETURN_IF_ERROR(RunLine(queue, mean, norm.channels));
      RETURN_IF_ERROR(RunParts(queue, square, norm));
    }
    GpuLaunch moments(moments_), normalize(normalize_);
    moments.Add(parts).Add(scale).Add(offset);
    moments.Add(needs_moments ? ctx.input(3) : scale).Add(needs_moments ? ctx.input(4) : scale);
    for (const Tensor* vector : kept) moments.Add(*vector);
    RETURN_IF_ERROR(RunLine(queue, moments.Add(factors).Value(norm), norm.channels));
    const auto n = static_cast<uint32_t>(x.num_elements());
    if (n == 0) return OkStatus();
    return RunLine(queue, normalize.Add(x).Add(factors).Add(*y).Value(n).Value(norm), n);
  }

 private:
  GpuFunction sum_ = nullptr, square_ = nullptr, mean_ = nullptr, moments_ = nullptr,
              normalize_ = nullptr;
};

class BatchNormGradient : public BatchNormGpu {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<BatchNormGradient>();
    RETURN_IF_ERROR(kernel->Read(c));
    ASSIGN_OR_RETURN(kernel->parts_, Find(c, "parts_of_gradient"));
    ASSIGN_OR_RETURN(kernel->gradients_, Find(c, "gradients"));
    ASSIGN_OR_RETURN(kernel->input_, Find(c, "gradient_of_input"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    const Tensor &dy = ctx.input(0), &x = ctx.input(1), &scale = ctx.input(2);
    const Tensor &mean = ctx.input(3), &variance = ctx.input(4);
    ASSIGN_OR_RETURN(const Norm norm, NormOf(x));
    if (dy.shape() != x.shape()) {
      return InvalidArgument("y_backprop must have the shape of x, ", x.shape(), ", got ",
                             dy.shape());
    }
    const char* names[] = {"scale", "reserve_space_1", "reserve_space_2"};
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(CheckVector(ctx.input(i + 2), norm.channels, names[i]));
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    ASSIGN_OR_RETURN(Tensor * dscale, ctx.AllocateOutput(1, DType::kFloat, scale.shape()));
    ASSIGN_OR_RETURN(Tensor * doffset, ctx.AllocateOutput(2, DType::kFloat, scale.shape()));
    for (int i : {3, 4}) {
      RETURN_IF_ERROR(ctx.AllocateOutput(i, DType::kFloat, Shape{0}).status());
    }
    if (norm.channels == 0) return OkStatus();
    GpuDevice& device = GpuOf(ctx);
    GpuQueue& queue = device.queue();
    ASSIGN_OR_RETURN(const Tensor sums, Vectors(device, 2 * norm.parts, norm));
    ASSIGN_OR_RETURN(const Tensor factors, Vectors(device, 3, norm));
    const bool none = x.num_elements() == 0;  // no pixel is read
    GpuLaunch parts(parts_), gradients(gradients_), input(input_);
    parts.Add(none ? scale : dy).Add(none ? scale : x).Add(mean).Add(sums).Value(norm);
    gradients.Add(sums).Add(scale).Add(variance).Add(*dscale).Add(*doffset).Add(factors);
    RETURN_IF_ERROR(RunParts(queue, parts, norm));
    RETURN_IF_ERROR(RunLine(queue, gradients.Value(norm), norm.channels));
    const auto n = static_cast<uint32_t>(x.num_elements());
    if (none) return OkStatus();
    input.Add(dy).Add(x).Add(mean).Add(factors).Add(*dx).Value(n).Value(norm);
    return RunLine(queue, input, n);
  }

 private:
  GpuFunction parts_ = nullptr, gradients_ = nullptr, input_ = nullptr;
};

}  // namespace

void AddBatchNormKernels(KernelAdder& adder) {
  const std::pair<std::string, DType> of_float = {"T", DType::kFloat};
  for (const char* version : {"", "V2", "V3"}) {
    KernelAdder::TypeList types = {of_float};
    if (*version != '\0') types.emplace_back("U", DType::kFloat);
    adder.AddLimited<BatchNormForward::Create>(StrCat("FusedBatchNorm", version), types);
    adder.AddLimited<BatchNormGradient::Create>(StrCat("FusedBatchNormGrad", version), types);
  }
}

}  // namespace thalweg
