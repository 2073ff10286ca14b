// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

std::string Encoded(const Tensor& audio, int32_t rate) {
  const auto file = RunOp("EncodeWav", {audio, Tensor::Scalar(rate)});
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return file.ok() ? (*file)[0].scalar<std::string>() : std::string();
}

TEST(WavOpTest, WhatIsWrittenIsRead) {
  const std::vector<float> samples = {0, 0.5F, -0.25F, 0.125F, -1, 0.75F};
  const std::string file = Encoded(Numbers<float>(samples, Shape{3, 2}), 44100);
  const auto read = [&](const AttrMap& attrs, const std::vector<float>& expected, Shape shape) {
    ExpectOutputs("DecodeWav", {Tensor::Scalar(file)}, attrs,
                  {Numbers<float>(expected, shape), Tensor::Scalar(int32_t{44100})});
  };
  read({}, samples, {3, 2});
  read({{"desired_channels", int64_t{1}}}, {0, -0.25F, -1}, {3, 1});
  // What is missing is silent; a channel too many is the last one again.
  read({{"desired_samples", int64_t{4}}, {"desired_channels", int64_t{3}}},
       {0, 0.5F, 0.5F, -0.25F, 0.125F, 0.125F, -1, 0.75F, 0.75F, 0, 0, 0}, {4, 3});
  read({{"desired_samples", int64_t{1}}}, {0, 0.5F}, {1, 2});
}

TEST(WavOpTest, Refusals) {
  const std::string file = Encoded(Numbers<float>({0, 0.5F}, Shape{2, 1}), 8000);
  const auto refused = [](const std::string& bytes, std::string_view why, const AttrMap& attrs) {
    ExpectError("DecodeWav", {Tensor::Scalar(bytes)}, attrs, Code::kInvalidArgument, why);
  };
  const auto changed = [&](size_t at, const std::string& bytes) {
    return std::string(file).replace(at, bytes.size(), bytes);
  };
  refused("", "Data too short when trying to read string", {});
  refused(changed(0, "RIFX"), "Header mismatch: Expected RIFF but found RIFX at byte 0", {});
  refused(changed(8, "WAVX"), "Expected WAVE but found WAVX at byte 8", {});
  refused(changed(20, "\3"), "Bad audio format for WAV: Expected 1 (PCM), but got 3", {});
  refused(changed(34, "\x18"), "Can only read 16-bit WAV files, but received 24", {});
  refused(changed(40, "\x7e"), "Data too short when trying to read samples", {});
  refused(changed(40, "\3"), "expected whole frames of 2 bytes", {});
  refused(changed(40, std::string("\xff\xff\xff\xff")), "but the limit is 2147483647", {});
  refused(file, "desired_samples must be non-negative or -1, got -2",
          {{"desired_samples", int64_t{-2}}});
  ExpectError("EncodeWav", {Numbers<float>({0}), Tensor::Scalar(int32_t{1})}, {},
              Code::kInvalidArgument, "");
  ExpectError("EncodeWav", {Numbers<float>({0}, Shape{1, 1}), Tensor::Scalar(int32_t{0})}, {},
              Code::kInvalidArgument, "sample_rate must be positive");
}

}  // namespace
}  // namespace thalweg
