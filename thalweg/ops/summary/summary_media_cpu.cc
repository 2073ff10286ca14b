// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/summary/summary_parts.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

Status Give(Context& ctx, const OwnedMessage& summary) {
  ASSIGN_OR_RETURN(std::string bytes, Serialize(*summary));
  ctx.set_output(0, Tensor::Scalar(std::move(bytes)));
  return OkStatus();
}

class ImageSummary : public Kernel {
 public:
  ImageSummary(int64_t most, Tensor bad_color) : most_(most), bad_color_(std::move(bad_color)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t most, Int32Attr(c, "max_images"));
    ASSIGN_OR_RETURN(Tensor bad_color, c.Attr<Tensor>("bad_color"));
    if (bad_color.dtype() != DType::kUint8 || bad_color.rank() != 1) {
      return InvalidArgument("bad_color must be a vector of uint8, got ", bad_color.dtype(),
                             " of shape ", bad_color.shape());
    }
    return std::unique_ptr<Kernel>(std::make_unique<ImageSummary>(most, std::move(bad_color)));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(0)));
    OwnedMessage summary(pb::Summary::Descriptor());
    RETURN_IF_ERROR(AddImages(*summary, tag, ctx.input(1), bad_color_, most_));
    return Give(ctx, summary);
  }

 private:
  const int64_t most_;
  const Tensor bad_color_;
};

// The rate is an attribute, or the third input.
class AudioSummary : public Kernel {
 public:
  AudioSummary(int64_t most, float rate) : most_(most), rate_(rate) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t most, Int32Attr(c, "max_outputs"));
    float rate = 0;
    if (c.node().num_inputs() == 2) {
      ASSIGN_OR_RETURN(rate, c.Attr<float>("sample_rate"));
    }
    return std::unique_ptr<Kernel>(std::make_unique<AudioSummary>(most, rate));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(0)));
    float rate = rate_;
    if (ctx.num_inputs() == 3) {
      if (!IsLegacyScalar(ctx.input(2))) {
        return InvalidArgument("sample_rate must be a scalar, got shape ", ctx.input(2).shape());
      }
      rate = ctx.input(2).scalar<float>();
    }
    OwnedMessage summary(pb::Summary::Descriptor());
    RETURN_IF_ERROR(AddSounds(*summary, tag, ctx.input(1), rate, most_));
    return Give(ctx, summary);
  }

 private:
  const int64_t most_;
  const float rate_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(summary_media, cpu) {
  registry.Add<AudioSummary>("AudioSummary", kCpu);
  registry.Add<AudioSummary>("AudioSummaryV2", kCpu);
  for (DType dtype : {DType::kUint8, DType::kHalf, DType::kFloat, DType::kDouble}) {
    registry.Add<ImageSummary>("ImageSummary", kCpu, {{"T", dtype}});
  }
}
