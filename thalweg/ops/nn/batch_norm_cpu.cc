// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "thalweg/compute/norm/batch_norm.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/slide.h"

namespace thalweg {
namespace {

class BatchNormKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string format, c.Attr<std::string>("data_format"));
    ASSIGN_OR_RETURN(format_, ParseSlideFormat(format));
    ASSIGN_OR_RETURN(epsilon_, c.Attr<float>("epsilon"));
    ASSIGN_OR_RETURN(training_, c.Attr<bool>("is_training"));
    if (c.node().FindAttr("exponential_avg_factor") != nullptr) {
      ASSIGN_OR_RETURN(average_, c.Attr<float>("exponential_avg_factor"));
    }
    if (c.node().FindAttr("activation_mode") == nullptr) return OkStatus();
    ASSIGN_OR_RETURN(side_inputs_, c.Attr<int64_t>("num_side_inputs"));
    ASSIGN_OR_RETURN(const std::string activation, c.Attr<std::string>("activation_mode"));
    if (activation != "Identity" && activation != "Relu") {
      return InvalidArgument("activation_mode must be Identity or Relu, got ", activation);
    }
    if (side_inputs_ > 1) {
      return InvalidArgument("num_side_inputs must be 0 or 1, got ", side_inputs_);
    }
    relu_ = activation == "Relu";
    return OkStatus();
  }

 protected:
  Result<compute::ChannelShape> ShapeOf(const Tensor& x) const {
    if (x.rank() != format_.rank) {
      return InvalidArgument("input must be ", format_.rank, "-dimensional", x.shape());
    }
    compute::ChannelShape s;
    s.channels = x.dim(format_.channels());
    int64_t pixels = 1;
    for (int d = 0; d < format_.spatial_count(); ++d) pixels *= x.dim(format_.spatial(d));
    s.outer = format_.channels_first ? x.dim(0) : x.dim(0) * pixels;
    s.inner = format_.channels_first ? pixels : 1;
    return s;
  }
  static Status CheckVector(const Tensor& v, int64_t channels, const char* name) {
    if (v.rank() != 1) return InvalidArgument(name, " must be 1-dimensional", v.shape());
    if (v.dim(0) == channels) return OkStatus();
    return InvalidArgument(name,
                           " must have the same number of elements as the channels of x, got ",
                           v.dim(0), " and ", channels);
  }
  // Normalizing as a factor and a term of each channel. From moments that are rounded to float, so
  // that a gradient finds the same.
  struct Affine {
    std::vector<float> factor, term;
  };
  Affine AffineOf(int64_t n, const Tensor& scale, const Tensor& offset, const float* mean,
                  const float* variance) const {
    Affine a{std::vector<float>(static_cast<size_t>(n)),
             std::vector<float>(static_cast<size_t>(n))};
    for (int64_t c = 0; c < n; ++c) {
      const double f =
          scale.data<float>()[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon_);
      a.factor[c] = static_cast<float>(f);
      a.term[c] = static_cast<float>(offset.data<float>()[c] - mean[c] * f);
    }
    return a;
  }
  static Result<float*> Vector(Context& ctx, int output, int64_t n) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(output, DType::kFloat, Shape{n}));
    return t->mutable_data<float>();
  }

  SlideFormat format_;
  float epsilon_ = 0;
  float average_ = 1;
  bool training_ = true;
  bool relu_ = false;  // of _FusedBatchNormEx and its gradient, as is the next
  int64_t side_inputs_ = 0;
};

template <class K>
struct MadeNorm : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MadeNorm<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

class BatchNormCpu : public BatchNormKernel {
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &scale = ctx.input(1), &offset = ctx.input(2);
    ASSIGN_OR_RETURN(const compute::ChannelShape s, ShapeOf(x));
    const int64_t n = s.channels;
    RETURN_IF_ERROR(CheckVector(scale, n, "scale"));
    RETURN_IF_ERROR(CheckVector(offset, n, "offset"));
    for (int i : {3, 4}) {
      if (ctx.input(i).rank() == 1) continue;
      return InvalidArgument(i == 3 ? "mean" : "variance", " must be a vector, got shape ",
                             ctx.input(i).shape());
    }
    const bool needs_moments = !training_ || average_ != 1;
    if (needs_moments) {
      RETURN_IF_ERROR(CheckVector(ctx.input(3), n, "mean"));
      RETURN_IF_ERROR(CheckVector(ctx.input(4), n, "variance"));
    }
    std::vector<double> mean(static_cast<size_t>(n)), variance(static_cast<size_t>(n));
    if (training_) {
      RETURN_IF_ERROR(compute::ChannelMoments(ctx.work(), x.dtype(), s, x.raw_data(), mean.data(),
                                              variance.data()));
    } else {
      std::copy_n(ctx.input(3).data<float>(), n, mean.begin());
      std::copy_n(ctx.input(4).data<float>(), n, variance.begin());
    }
    ASSIGN_OR_RETURN(const Moments rounded, WriteMoments(ctx, s, mean, variance));
    const Affine affine = AffineOf(n, scale, offset, rounded.mean, rounded.variance);
    if (ctx.num_outputs() == 6) RETURN_IF_ERROR(Vector(ctx, 5, 0).status());
    compute::AfterScale after{.side = nullptr, .relu = relu_};
    if (side_inputs_ == 1) {
      const Tensor& side = ctx.input(5);
      if (side.shape() != x.shape()) {
        return InvalidArgument("side_input must have the shape of x, ", x.shape(), ", got ",
                               side.shape());
      }
      after.side = side.raw_data();
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::ScaleChannels(ctx.work(), x.dtype(), s, x.raw_data(), affine.factor.data(),
                                  affine.term.data(), y->mutable_raw_data(), after);
  }

  struct Moments {
    const float *mean, *variance;
  };

  // Outputs 1 and 2: the running moments (the variance over n - 1); 3 and 4: those for the
  // gradient, which are returned.
  Result<Moments> WriteMoments(Context& ctx, const compute::ChannelShape& s,
                               const std::vector<double>& mean,
                               const std::vector<double>& variance) const {
    const auto count = static_cast<double>(s.per_channel());
    const double unbiased = training_ ? count / std::max(1.0, count - 1) : 1;
    const double none = training_ && count == 0 ? std::nan("") : 0;  // a mean of nothing
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(out[i], Vector(ctx, i + 1, s.channels));
    }
    const bool blends = training_ && average_ != 1;
    for (int64_t c = 0; c < s.channels; ++c) {
      double running_mean = mean[c] + none, running_variance = variance[c] * unbiased + none;
      if (blends) {
        running_mean = average_ * running_mean + (1 - average_) * ctx.input(3).data<float>()[c];
        running_variance =
            average_ * running_variance + (1 - average_) * ctx.input(4).data<float>()[c];
      }
      out[0][c] = static_cast<float>(running_mean);
      out[1][c] = static_cast<float>(running_variance);
      out[2][c] = static_cast<float>(mean[c]);
      out[3][c] = static_cast<float>(variance[c]);
    }
    return Moments{out[2], out[3]};
  }
};

class BatchNormGradCpu : public BatchNormKernel {
  Status Compute(Context& ctx) override {
    const Tensor &dy = ctx.input(0), &x = ctx.input(1), &scale = ctx.input(2);
    ASSIGN_OR_RETURN(const compute::ChannelShape s, ShapeOf(x));
    if (dy.shape() != x.shape()) {
      return InvalidArgument("y_backprop must have the shape of x, ", x.shape(), ", got ",
                             dy.shape());
    }
    const int64_t n = s.channels;
    const char* names[] = {"scale", "reserve_space_1", "reserve_space_2"};
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(CheckVector(ctx.input(i + 2), n, names[i]));
    const float* mean = ctx.input(3).data<float>();
    const float* variance = ctx.input(4).data<float>();
    if (side_inputs_ > 0) {
      return Unimplemented("the gradient of a side input has no kernel here");
    }
    Affine forward;  // where its result is above 0, dy has passed the relu
    compute::ScaledRelu relu;
    if (relu_) {
      RETURN_IF_ERROR(CheckVector(ctx.input(6), n, "offset"));
      forward = AffineOf(n, scale, ctx.input(6), mean, variance);
      relu = {forward.factor.data(), forward.term.data()};
    }
    std::vector<double> sum(static_cast<size_t>(n)), dot(static_cast<size_t>(n));
    RETURN_IF_ERROR(compute::ChannelGradSums(ctx.work(), x.dtype(), s, dy.raw_data(), x.raw_data(),
                                             mean, sum.data(), dot.data(), relu));
    ASSIGN_OR_RETURN(float* const scale_grad, Vector(ctx, 1, n));
    ASSIGN_OR_RETURN(float* const offset_grad, Vector(ctx, 2, n));
    for (int i : {3, 4}) RETURN_IF_ERROR(Vector(ctx, i, 0).status());
    std::vector<float> factor(static_cast<size_t>(n)), term(factor), slope(factor);
    const auto count = static_cast<double>(std::max<int64_t>(1, s.per_channel()));
    for (int64_t c = 0; c < n; ++c) {
      const double power = variance[c] + static_cast<double>(epsilon_);
      const double deviation = 1 / std::sqrt(power);
      scale_grad[c] = static_cast<float>(dot[c] * deviation);
      offset_grad[c] = static_cast<float>(sum[c]);
      factor[c] = static_cast<float>(scale.data<float>()[c] * deviation);
      if (training_) {
        term[c] = static_cast<float>(sum[c] / count);
        slope[c] = static_cast<float>(dot[c] / count / power);
      }
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::CenteredGrad(ctx.work(), x.dtype(), s, dy.raw_data(), x.raw_data(), mean,
                                 factor.data(), term.data(), slope.data(), dx->mutable_raw_data(),
                                 relu);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(batch_norm, cpu) {
  registry.Add<MadeNorm<BatchNormCpu>>("FusedBatchNorm", kCpu, {{"T", DType::kFloat}});
  registry.Add<MadeNorm<BatchNormGradCpu>>("FusedBatchNormGrad", kCpu, {{"T", DType::kFloat}});
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBfloat16}) {
    for (const char* version : {"V2", "V3"}) {
      registry.Add<MadeNorm<BatchNormCpu>>(StrCat("FusedBatchNorm", version), kCpu,
                                           {{"T", dtype}, {"U", DType::kFloat}});
      registry.Add<MadeNorm<BatchNormGradCpu>>(StrCat("FusedBatchNormGrad", version), kCpu,
                                               {{"T", dtype}, {"U", DType::kFloat}});
    }
    registry.Add<MadeNorm<BatchNormCpu>>("_FusedBatchNormEx", kCpu,
                                         {{"T", dtype}, {"U", DType::kFloat}});
  }
  registry.Add<MadeNorm<BatchNormGradCpu>>("_FusedBatchNormGradEx", kCpu,
                                           {{"T", DType::kFloat}, {"U", DType::kFloat}});
}
