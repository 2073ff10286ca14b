// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "thalweg/compute/codec/wav.h"
#include "thalweg/compute/summary/image_bytes.h"
#include "thalweg/compute/summary/png.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

OwnedMessage SummaryOf(const KernelCall& call) {
  auto parsed = ParseMessage(pb::Summary::Descriptor(),
                             std::string_view(call.output(0).scalar<std::string>()));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(*parsed);
}

template <class T>
Tensor Zeros(const Shape& shape) {
  Tensor t = *Tensor::AllocateHost(kDTypeOf<T>, shape);
  std::fill_n(t.mutable_data<T>(), t.num_elements(), T{});
  return t;
}

// A PNG file of one gray pixel of value 7, put together by hand, with zlib's checksums.
TEST(SummaryMediaTest, PngIsThisFile) {
  const uint8_t pixel = 7;
  auto file = compute::EncodePng({1, 1, 1}, {&pixel, 1});
  ASSERT_TRUE(file.ok());
  const std::string expected(
      "\x89PNG\r\n\x1a\n"
      "\0\0\0\x0dIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0\x3a\x7e\x9b\x55"
      "\0\0\0\x0dIDAT\x78\x01\1\2\0\xfd\xff\0\x07\0\x09\0\x08\xb9\xac\x86\x87"
      "\0\0\0\0IEND\xae\x42\x60\x82",
      70);
  EXPECT_EQ(file->substr(0, 58), expected.substr(0, 58));
  EXPECT_EQ(file->substr(58), expected.substr(58));
}

TEST(SummaryMediaTest, PngOfManyBlocksHasItsSize) {
  const std::vector<uint8_t> pixels(size_t{300} * 300 * 4, 9);
  auto file = compute::EncodePng({300, 300, 4}, pixels);
  ASSERT_TRUE(file.ok());
  const size_t rows = size_t{300} * (300 * 4 + 1), blocks = (rows + 65534) / 65535;
  EXPECT_EQ(file->size(), 8U + 25 + 12 + 2 + 4 + 12 + rows + 5 * blocks);
}

TEST(SummaryMediaTest, PngRefusesWhatItIsNotFor) {
  const std::vector<uint8_t> pixels(4);
  EXPECT_EQ(compute::EncodePng({1, 1, 2}, pixels).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(compute::EncodePng({0, 1, 1}, pixels).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(compute::EncodePng({int64_t{1} << 62, int64_t{1} << 62, 4}, pixels).status().code(),
            Code::kInvalidArgument);
}

std::vector<int> Scaled(const std::vector<float>& image, std::vector<uint8_t> bad_color) {
  std::vector<uint8_t> bytes(image.size());
  EXPECT_TRUE(compute::ImageBytes(DType::kFloat, image.data(), bad_color, bytes).ok());
  return {bytes.begin(), bytes.end()};
}

// What TensorFlow 2.21 shows.
TEST(SummaryMediaTest, ImagesAreScaledAsRecorded) {
  using Ints = std::vector<int>;
  EXPECT_EQ(Scaled({0, 1, 2, -4, HUGE_VALF, 8}, {255, 0, 0}), (Ints{0, 127, 255, 255, 0, 0}));
  EXPECT_EQ(Scaled({.5, 1, 2, -4}, {0, 0, 0, 0}), (Ints{143, 159, 191, 1}));
  EXPECT_EQ(Scaled({.5, 1, 2, 3}, {0, 0, 0, 0}), (Ints{42, 85, 170, 255}));
  EXPECT_EQ(Scaled({0, 0}, {9}), (Ints{0, 0}));
  const float nan = std::nanf("");
  EXPECT_EQ(Scaled({nan, nan, nan, nan}, {255, 0, 0, 255}), (Ints{255, 0, 0, 255}));
}

TEST(SummaryMediaTest, WavIsThisFile) {
  const std::vector<float> samples = {.1F, -.1F, .99999F, -.99999F, .3F, std::nanf("")};
  auto file = compute::EncodeWav16(samples, 1, 8000.4F);
  ASSERT_TRUE(file.ok());
  const std::string expected(
      "RIFF\x30\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
      "data\x0c\0\0\0\xcd\x0c\x33\xf3\xff\x7f\0\x80\x66\x26\0\0",
      56);
  EXPECT_EQ(*file, expected);
  EXPECT_EQ(compute::EncodeWav16(samples, 0, 8000).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(compute::EncodeWav16(samples, 1, -1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(compute::EncodeWav16(samples, 1, 1e30F).status().code(), Code::kInvalidArgument);
}

TEST(SummaryMediaTest, TheFirstImagesHaveTags) {
  KernelCall call("ImageSummary", {Tensor::Scalar("i"), Zeros<uint8_t>({4, 2, 5, 3})});
  ASSERT_TRUE(call.Run().ok());
  const OwnedMessage summary = SummaryOf(call);
  ASSERT_EQ(summary->Size(pb::Summary::kValue), 3U);
  const Message& last = *summary->Messages(pb::Summary::kValue)[2];
  EXPECT_EQ(last.GetString(value::kTag), "i/image/2");
  EXPECT_EQ(last.GetMessage(value::kImage).GetInt(pb::Summary::Image::kWidth), 5);
  EXPECT_EQ(last.GetMessage(value::kImage).GetInt(pb::Summary::Image::kHeight), 2);

  KernelCall one("ImageSummary", {Tensor::Scalar("i"), Zeros<Half>({4, 1, 1, 1})},
                 {{"max_images", 1}});
  ASSERT_TRUE(one.Run().ok());
  EXPECT_EQ(SummaryOf(one)->Messages(pb::Summary::kValue)[0]->GetString(value::kTag), "i/image");
}

TEST(SummaryMediaTest, NoImagesNoValues) {
  KernelCall call("ImageSummary", {Tensor::Scalar("i"), Zeros<float>({0, 1, 1, 3})});
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(call.output(0).scalar<std::string>(), "");
}

TEST(SummaryMediaTest, ImagesOfOtherShapes) {
  for (const Shape& shape : {Shape{1, 1, 1, 2}, Shape{1, 0, 1, 3}, Shape{1, 1, 3}}) {
    KernelCall call("ImageSummary", {Tensor::Scalar("i"), Zeros<float>(shape)});
    EXPECT_EQ(call.Run().code(), Code::kInvalidArgument) << shape.ToString();
  }
  KernelCall tags("ImageSummary",
                  {Tensor::Vector<std::string>({"a", "b"}), Zeros<float>({1, 1, 1, 1})});
  EXPECT_EQ(tags.Run().code(), Code::kInvalidArgument);
}

TEST(SummaryMediaTest, SoundsOfBothVersions) {
  KernelCall old("AudioSummary", {Tensor::Scalar("a"), Zeros<float>({1, 3})},
                 {{"sample_rate", 8000.0F}});
  ASSERT_TRUE(old.Run().ok());
  const OwnedMessage first = SummaryOf(old);
  EXPECT_EQ(first->Messages(pb::Summary::kValue)[0]->GetString(value::kTag), "a/audio/0");
  KernelCall call("AudioSummaryV2",
                  {Tensor::Scalar("a"), Zeros<float>({4, 3, 2}), Tensor::Scalar(8000.0F)},
                  {{"max_outputs", 1}});
  ASSERT_TRUE(call.Run().ok());
  const OwnedMessage second = SummaryOf(call);
  ASSERT_EQ(second->Size(pb::Summary::kValue), 1U);
  const Message& audio = second->Messages(pb::Summary::kValue)[0]->GetMessage(value::kAudio);
  EXPECT_EQ(audio.GetInt(pb::Summary::Audio::kNumChannels), 2);
  EXPECT_EQ(audio.GetInt(pb::Summary::Audio::kLengthFrames), 3);
  for (const Shape& shape : {Shape{3}, Shape{1, 3, 2, 2}, Shape{1, 3, 0}}) {
    KernelCall bad("AudioSummaryV2",
                   {Tensor::Scalar("a"), Zeros<float>(shape), Tensor::Scalar(1.F)});
    EXPECT_EQ(bad.Run().code(), Code::kInvalidArgument) << shape.ToString();
  }
}

}  // namespace
}  // namespace thalweg
