// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "thalweg/compute/summary/image_bytes.h"
#include "thalweg/compute/summary/png.h"
#include "thalweg/compute/summary/wav.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

Status CheckTag(const Tensor& tag) {
  if (tag.rank() == 0) return OkStatus();
  return InvalidArgument("tag must be a scalar, got shape ", tag.shape());
}

// "tag/image" when at most one is asked for, else "tag/image/3".
std::string TagOf(const Tensor& tag, std::string_view kind, int64_t i, int64_t most) {
  std::string name = StrCat(tag.scalar<std::string>(), "/", kind);
  return most > 1 ? StrCat(name, "/", i) : name;
}

Status Give(Context& ctx, const OwnedMessage& summary) {
  ASSIGN_OR_RETURN(std::string bytes, Serialize(*summary));
  ctx.set_output(0, Tensor::Scalar(std::move(bytes)));
  return OkStatus();
}

class ImageSummary : public Kernel {
 public:
  ImageSummary(int64_t most, Tensor bad_color) : most_(most), bad_color_(std::move(bad_color)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t most, c.Attr<int64_t>("max_images"));
    ASSIGN_OR_RETURN(Tensor bad_color, c.Attr<Tensor>("bad_color"));
    if (bad_color.dtype() != DType::kUint8 || bad_color.rank() != 1) {
      return InvalidArgument("bad_color must be a vector of uint8, got ", bad_color.dtype(),
                             " of shape ", bad_color.shape());
    }
    return std::unique_ptr<Kernel>(std::make_unique<ImageSummary>(most, std::move(bad_color)));
  }
  Status Compute(Context& ctx) override {
    const Tensor &tag = ctx.input(0), &images = ctx.input(1);
    RETURN_IF_ERROR(CheckTag(tag));
    const int64_t channels = images.rank() == 4 ? images.dim(3) : 0;
    if (channels != 1 && channels != 3 && channels != 4) {
      return InvalidArgument("images must be [batch, rows, columns, 1, 3 or 4], got shape ",
                             images.shape());
    }
    if (bad_color_.num_elements() < channels) {
      return InvalidArgument("bad_color must have a value for each of the ", channels,
                             " channels, got ", bad_color_.num_elements());
    }
    const int64_t count = std::min(most_, images.dim(0));
    const auto size = static_cast<size_t>(images.dim(1) * images.dim(2) * channels);
    const std::span<const uint8_t> bad(bad_color_.data<uint8_t>(), static_cast<size_t>(channels));
    OwnedMessage summary(pb::Summary::Descriptor());
    std::vector<uint8_t> bytes(size);
    for (int64_t i = 0; i < count; ++i) {
      const char* from = static_cast<const char*>(images.raw_data()) +
                         static_cast<size_t>(i) * size * DTypeSize(images.dtype());
      RETURN_IF_ERROR(compute::ImageBytes(images.dtype(), from, bad, bytes));
      ASSIGN_OR_RETURN(const std::string file,
                       compute::EncodePng({images.dim(2), images.dim(1), channels}, bytes));
      Message* one = summary->Add(pb::Summary::kValue);
      one->SetString(value::kTag, TagOf(tag, "image", i, most_));
      Message* image = one->Mutable(value::kImage);
      image->SetInt(pb::Summary::Image::kHeight, images.dim(1));
      image->SetInt(pb::Summary::Image::kWidth, images.dim(2));
      image->SetInt(pb::Summary::Image::kColorspace, channels);
      image->SetString(pb::Summary::Image::kEncodedImageString, file);
    }
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
    ASSIGN_OR_RETURN(const int64_t most, c.Attr<int64_t>("max_outputs"));
    float rate = 0;
    if (c.node().num_inputs() == 2) {
      ASSIGN_OR_RETURN(rate, c.Attr<float>("sample_rate"));
    }
    return std::unique_ptr<Kernel>(std::make_unique<AudioSummary>(most, rate));
  }
  Status Compute(Context& ctx) override {
    const Tensor &tag = ctx.input(0), &sound = ctx.input(1);
    RETURN_IF_ERROR(CheckTag(tag));
    if (sound.rank() != 2 && sound.rank() != 3) {
      return InvalidArgument(
          "tensor must be [batch, frames] or [batch, frames, channels], got shape ", sound.shape());
    }
    float rate = rate_;
    if (ctx.num_inputs() == 3) {
      if (ctx.input(2).rank() != 0) {
        return InvalidArgument("sample_rate must be a scalar, got shape ", ctx.input(2).shape());
      }
      rate = ctx.input(2).scalar<float>();
    }
    const int64_t frames = sound.dim(1), channels = sound.rank() == 3 ? sound.dim(2) : 1;
    const auto size = static_cast<size_t>(frames * channels);
    OwnedMessage summary(pb::Summary::Descriptor());
    for (int64_t i = 0; i < std::min(most_, sound.dim(0)); ++i) {
      const std::span<const float> samples(sound.data<float>() + static_cast<size_t>(i) * size,
                                           size);
      ASSIGN_OR_RETURN(const std::string file, compute::EncodeWav16(samples, channels, rate));
      Message* one = summary->Add(pb::Summary::kValue);
      one->SetString(value::kTag, TagOf(tag, "audio", i, most_));
      Message* audio = one->Mutable(value::kAudio);
      audio->SetFloat(pb::Summary::Audio::kSampleRate, rate);
      audio->SetInt(pb::Summary::Audio::kNumChannels, channels);
      audio->SetInt(pb::Summary::Audio::kLengthFrames, frames);
      audio->SetString(pb::Summary::Audio::kEncodedAudioString, file);
      audio->SetString(pb::Summary::Audio::kContentType, "audio/wav");
    }
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
