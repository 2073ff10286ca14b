// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/compute/move/gather.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/pool_kernel.h"

namespace thalweg {
namespace {

class MaxPoolCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor& image = ctx.input(0);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image.shape(), true));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, p.format, image));
    return WriteOutput(ctx, p.format, 0, dtype, p.output, [&](void* out) {
      return compute::MaxPool(ctx.work(), dtype, p.sizes, last.raw_data(), out);
    });
  }
};

class AvgPoolCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor& image = ctx.input(0);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image.shape()));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, p.format, image));
    return WriteOutput(ctx, p.format, 0, dtype, p.output, [&](void* out) {
      return compute::AvgPool(ctx.work(), dtype, p.sizes, last.raw_data(), out);
    });
  }
};

// In a volume, every place that has the maximum gets it, as TensorFlow's own kernel has it.
template <auto kGradient>
class MaxPoolGradCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image.shape()));
    RETURN_IF_ERROR(CheckOutputShape(p, ctx.input(1), "orig_output"));
    RETURN_IF_ERROR(CheckOutputShape(p, grad, "grad"));
    ASSIGN_OR_RETURN(const Tensor image_last, ChannelsLast(ctx, p.format, image));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, p.format, grad));
    return WriteOutput(ctx, p.format, 0, dtype, image.shape(), [&](void* out) {
      return kGradient(ctx.work(), dtype, p.sizes, image_last.raw_data(), grad_last.raw_data(),
                       out);
    });
  }
};

// The elements of grad, which has the shape of the image, at the places of the largest elements.
class MaxPoolGradGradCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image.shape()));
    RETURN_IF_ERROR(CheckOutputShape(p, ctx.input(1), "orig_output"));
    if (grad.shape() != image.shape()) {
      return InvalidArgument("grad must have the shape of orig_input, ", image.shape(), ", got ",
                             grad.shape());
    }
    ASSIGN_OR_RETURN(const Tensor image_last, ChannelsLast(ctx, p.format, image));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, p.format, grad));
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemporary(DType::kInt64, p.output));
    RETURN_IF_ERROR(compute::MaxPoolPlaces(ctx.work(), dtype, p.sizes, true, image_last.raw_data(),
                                           nullptr, places.mutable_data<int64_t>()));
    return WriteOutput(ctx, p.format, 0, dtype, p.output, [&](void* out) {
      const compute::GatherShape gather{.rows = image.num_elements(),
                                        .count = p.output.num_elements()};
      return compute::GatherRows(ctx.work(), dtype, gather, grad_last.raw_data(),
                                 places.data<int64_t>(), out);
    });
  }
};

class AvgPoolGradCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor& grad = ctx.input(1);
    const DType dtype = grad.dtype();
    ASSIGN_OR_RETURN(const Shape image, ShapeOf(ctx.input(0), "orig_input_shape"));
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image));
    RETURN_IF_ERROR(CheckOutputShape(p, grad, "grad"));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, p.format, grad));
    return WriteOutput(ctx, p.format, 0, dtype, image, [&](void* out) {
      return compute::AvgPoolGrad(ctx.work(), dtype, p.sizes, grad_last.raw_data(), out);
    });
  }
};

class MaxPoolWithArgmaxCpu : public PoolKernel {
 public:
  Status Read(const KernelConstruction& c) {
    RETURN_IF_ERROR(PoolKernel::Read(c));
    ASSIGN_OR_RETURN(include_batch_, c.Attr<bool>("include_batch_in_index"));
    over_channels_ = slide_;
    slide_ = WithoutChannels(slide_);
    return OkStatus();
  }

 private:
  Status Compute(Context& ctx) override {
    const Tensor& image = ctx.input(0);
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image.shape()));
    const int64_t channels = image.dim(slide_.format.channels());
    RETURN_IF_ERROR(PooledChannels(over_channels_, channels).status());
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.dtype(), p.output));
    if (places_type_ == DType::kInt64) {
      ASSIGN_OR_RETURN(Tensor * places, ctx.AllocateOutput(1, DType::kInt64, p.output));
      return Find(ctx, p, out, places->mutable_data<int64_t>());
    }
    if (image.num_elements() > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("argmax of type int32 cannot count ", image.num_elements(),
                             " elements");
    }
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kInt64, p.output));
    RETURN_IF_ERROR(Find(ctx, p, out, wide.mutable_data<int64_t>()));
    ASSIGN_OR_RETURN(Tensor * places, ctx.AllocateOutput(1, DType::kInt32, p.output));
    for (int64_t i = 0; i < wide.num_elements(); ++i) {
      places->mutable_data<int32_t>()[i] = static_cast<int32_t>(wide.data<int64_t>()[i]);
    }
    return OkStatus();
  }
  Status Find(Context& ctx, const Pooling& p, Tensor* out, int64_t* places) const {
    const Tensor& image = ctx.input(0);
    return compute::MaxPoolPlaces(ctx.work(), image.dtype(), p.sizes, include_batch_,
                                  image.raw_data(), out->mutable_raw_data(), places);
  }

 protected:
  Slide over_channels_;  // as asked for
  bool include_batch_ = false;
  DType places_type_ = DType::kInt64;
};

class MaxPoolWithSmallArgmaxCpu : public MaxPoolWithArgmaxCpu {
 public:
  MaxPoolWithSmallArgmaxCpu() { places_type_ = DType::kInt32; }
};

class MaxPoolGradWithArgmaxCpu : public PoolKernel {
 public:
  Status Read(const KernelConstruction& c) {
    RETURN_IF_ERROR(PoolKernel::Read(c));
    ASSIGN_OR_RETURN(include_batch_, c.Attr<bool>("include_batch_in_index"));
    return OkStatus();
  }

 private:
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(1), &places = ctx.input(2);
    ASSIGN_OR_RETURN(const Pooling p, PoolingOf(ctx, image.shape()));
    RETURN_IF_ERROR(CheckOutputShape(p, grad, "grad"));
    RETURN_IF_ERROR(CheckOutputShape(p, places, "argmax"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.dtype(), image.shape()));
    return compute::MaxPoolGradOfPlaces(ctx.work(), image.dtype(), p.sizes, include_batch_,
                                        places.data<int64_t>(), grad.raw_data(),
                                        out->mutable_raw_data());
  }
  bool include_batch_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(pool, cpu) {
  for (DType dtype : kReals) {
    // The schemas of MaxPool and MaxPoolV2 know no unsigned numbers of 32 and 64 bits.
    if (dtype != DType::kUint32 && dtype != DType::kUint64) {
      registry.Add<Made<MaxPoolCpu>>("MaxPool", kCpu, {{"T", dtype}});
      registry.Add<Made<MaxPoolCpu>>("MaxPoolV2", kCpu, {{"T", dtype}});
    }
    for (const char* version : {"", "V2"}) {
      registry.Add<Made<MaxPoolGradCpu<compute::MaxPoolGrad>>>(StrCat("MaxPoolGrad", version), kCpu,
                                                               {{"T", dtype}});
      registry.Add<Made<MaxPoolGradGradCpu>>(StrCat("MaxPoolGradGrad", version), kCpu,
                                             {{"T", dtype}});
    }
    registry.Add<Made<MaxPoolWithArgmaxCpu>>("MaxPoolWithArgmax", kCpu,
                                             {{"T", dtype}, {"Targmax", DType::kInt64}});
    registry.Add<Made<MaxPoolWithSmallArgmaxCpu>>("MaxPoolWithArgmax", kCpu,
                                                  {{"T", dtype}, {"Targmax", DType::kInt32}});
    registry.Add<Made<MaxPoolGradWithArgmaxCpu>>("MaxPoolGradWithArgmax", kCpu,
                                                 {{"T", dtype}, {"Targmax", DType::kInt64}});
  }
  for (DType dtype : kFloats) {
    registry.Add<Made<AvgPoolCpu>>("AvgPool", kCpu, {{"T", dtype}});
    registry.Add<Made<AvgPoolGradCpu>>("AvgPoolGrad", kCpu, {{"T", dtype}});
    registry.Add<Made<AvgPoolCpu>>("AvgPool3D", kCpu, {{"T", dtype}});
    registry.Add<Made<AvgPoolGradCpu>>("AvgPool3DGrad", kCpu, {{"T", dtype}});
  }
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBfloat16}) {
    registry.Add<Made<MaxPoolCpu>>("MaxPool3D", kCpu, {{"T", dtype}});
    registry.Add<Made<MaxPoolGradCpu<compute::MaxPoolGradOfEquals>>>(
        "MaxPool3DGrad", kCpu, {{"T", dtype}, {"TInput", dtype}});
    registry.Add<Made<MaxPoolGradGradCpu>>("MaxPool3DGradGrad", kCpu, {{"T", dtype}});
  }
}
