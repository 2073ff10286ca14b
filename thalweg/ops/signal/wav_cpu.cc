// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/wav.h"
#include "thalweg/compute/interruptible.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {
namespace {

class DecodeWavCpu : public Kernel {
 public:
  DecodeWavCpu(int64_t channels, int64_t samples) : channels_(channels), samples_(samples) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t channels, Int32Attr(c, "desired_channels"));
    ASSIGN_OR_RETURN(const int64_t samples, Int32Attr(c, "desired_samples"));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeWavCpu>(channels, samples));
  }

  Status Compute(Context& ctx) override {
    if (ctx.input(0).rank() != 0) {
      return InvalidArgument("contents must be scalar, got shape ", ctx.input(0).shape());
    }
    ASSIGN_OR_RETURN(const compute::WavSound sound,
                     compute::ReadWav16(ctx.input(0).scalar<std::string>()));
    const int64_t channels = channels_ == -1 ? sound.channels : channels_;
    const int64_t frames = samples_ == -1 ? sound.frames : samples_;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{frames, channels}));
    ASSIGN_OR_RETURN(Tensor * samples, ctx.AllocateOutput(0, DType::kFloat, shape));
    RETURN_IF_ERROR(compute::Interruptibly(ctx.work(), [&] {
      compute::WavSamples(sound, frames, channels, samples->mutable_data<float>());
    }));
    ctx.set_output(1, Tensor::Scalar(static_cast<int32_t>(sound.rate)));
    return OkStatus();
  }

 private:
  const int64_t channels_, samples_;
};

class EncodeWavCpu : public Kernel {
 public:
  Status Compute(Context& ctx) override {
    const Tensor &audio = ctx.input(0), &rate = ctx.input(1);
    if (audio.rank() != 2) {
      return InvalidArgument("audio must be 2-dimensional, got shape ", audio.shape());
    }
    if (rate.rank() != 0) {
      return InvalidArgument("sample_rate must be a scalar, got shape ", rate.shape());
    }
    HeapCharge charge;  // until the executor charges the output
    RETURN_IF_ERROR(charge.Set(ctx.allocator(), static_cast<size_t>(audio.num_elements()) * 2));
    ASSIGN_OR_RETURN(
        std::string file,
        compute::EncodeWav16({audio.data<float>(), static_cast<size_t>(audio.num_elements())},
                             audio.dim(1), rate.scalar<int32_t>()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape{}));
    out->mutable_data<std::string>()[0] = std::move(file);
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(wav, cpu) {
  registry.Add<DecodeWavCpu>("DecodeWav", kCpu);
  registry.Add<EncodeWavCpu>("EncodeWav", kCpu);
}
