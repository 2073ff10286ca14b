// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/summary/summary_parts.h"

#include <algorithm>
#include <vector>

#include "thalweg/compute/codec/wav.h"
#include "thalweg/compute/summary/histogram.h"
#include "thalweg/compute/summary/image_bytes.h"
#include "thalweg/compute/summary/png.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

std::string PartTag(std::string_view tag, std::string_view kind, int64_t i, int64_t most) {
  std::string name = StrCat(tag, "/", kind);
  return most > 1 ? StrCat(name, "/", i) : name;
}

}  // namespace

Result<std::string_view> SummaryTag(const Tensor& tag) {
  if (tag.rank() == 0) return std::string_view(tag.scalar<std::string>());
  return InvalidArgument("tag must be a scalar, got shape ", tag.shape());
}

Status AddHistogram(const compute::Work& work, Message& summary, std::string_view tag,
                    const Tensor& values, std::string_view where) {
  const DType dtype = values.dtype() == DType::kBool ? DType::kUint8 : values.dtype();
  auto counted = compute::HistogramOf(work, dtype, values.raw_data(), values.num_elements());
  if (!counted.ok()) {
    return Status(counted.status().code(), StrCat(counted.status().message(), " for: ", where));
  }
  Message* one = summary.Add(pb::Summary::kValue);
  one->SetString(value::kTag, tag);
  Message* histogram = one->Mutable(value::kHisto);
  histogram->SetDouble(pb::HistogramProto::kMin, counted->min);
  histogram->SetDouble(pb::HistogramProto::kMax, counted->max);
  histogram->SetDouble(pb::HistogramProto::kNum, counted->num);
  histogram->SetDouble(pb::HistogramProto::kSum, counted->sum);
  histogram->SetDouble(pb::HistogramProto::kSumSquares, counted->sum_squares);
  histogram->Append<double>(pb::HistogramProto::kBucketLimit, counted->limits);
  histogram->Append<double>(pb::HistogramProto::kBucket, counted->counts);
  return OkStatus();
}

Status AddImages(Message& summary, std::string_view tag, const Tensor& images,
                 const Tensor& bad_color, int64_t most) {
  const int64_t channels = images.rank() == 4 ? images.dim(3) : 0;
  if (channels != 1 && channels != 3 && channels != 4) {
    return InvalidArgument("Tensor must be 4-D with last dim 1, 3, or 4, not ", images.shape());
  }
  if (bad_color.rank() != 1) {
    return InvalidArgument("bad_color must be a vector, got shape ", bad_color.shape());
  }
  if (bad_color.num_elements() < channels) {
    return InvalidArgument("bad_color must have a value for each of the ", channels,
                           " channels, got ", bad_color.num_elements());
  }
  const int64_t count = std::min(most, images.dim(0));
  const auto size = static_cast<size_t>(images.dim(1) * images.dim(2) * channels);
  const std::span<const uint8_t> bad(bad_color.data<uint8_t>(), static_cast<size_t>(channels));
  std::vector<uint8_t> bytes(size);
  for (int64_t i = 0; i < count; ++i) {
    const char* from = static_cast<const char*>(images.raw_data()) +
                       static_cast<size_t>(i) * size * DTypeSize(images.dtype());
    RETURN_IF_ERROR(compute::ImageBytes(images.dtype(), from, bad, bytes));
    ASSIGN_OR_RETURN(const std::string file,
                     compute::EncodePng({images.dim(2), images.dim(1), channels}, bytes));
    Message* one = summary.Add(pb::Summary::kValue);
    one->SetString(value::kTag, PartTag(tag, "image", i, most));
    Message* image = one->Mutable(value::kImage);
    image->SetInt(pb::Summary::Image::kHeight, images.dim(1));
    image->SetInt(pb::Summary::Image::kWidth, images.dim(2));
    image->SetInt(pb::Summary::Image::kColorspace, channels);
    image->SetString(pb::Summary::Image::kEncodedImageString, file);
  }
  return OkStatus();
}

Status AddSounds(Message& summary, std::string_view tag, const Tensor& sounds, float rate,
                 int64_t most) {
  if (sounds.rank() != 2 && sounds.rank() != 3) {
    return InvalidArgument(
        "tensor must be [batch, frames] or [batch, frames, channels], got shape ", sounds.shape());
  }
  const int64_t frames = sounds.dim(1), channels = sounds.rank() == 3 ? sounds.dim(2) : 1;
  const auto size = static_cast<size_t>(frames * channels);
  for (int64_t i = 0; i < std::min(most, sounds.dim(0)); ++i) {
    const std::span<const float> samples(sounds.data<float>() + static_cast<size_t>(i) * size,
                                         size);
    ASSIGN_OR_RETURN(const std::string file, compute::EncodeWav16(samples, channels, rate));
    Message* one = summary.Add(pb::Summary::kValue);
    one->SetString(value::kTag, PartTag(tag, "audio", i, most));
    Message* audio = one->Mutable(value::kAudio);
    audio->SetFloat(pb::Summary::Audio::kSampleRate, rate);
    audio->SetInt(pb::Summary::Audio::kNumChannels, channels);
    audio->SetInt(pb::Summary::Audio::kLengthFrames, frames);
    audio->SetString(pb::Summary::Audio::kEncodedAudioString, file);
    audio->SetString(pb::Summary::Audio::kContentType, "audio/wav");
  }
  return OkStatus();
}

}  // namespace thalweg
