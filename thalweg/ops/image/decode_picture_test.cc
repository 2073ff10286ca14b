// SPDX-License-Identifier: Apache-2.0
// Every bit of many files: python/tests/test_picture_files.py. Damage, claims and limits:
// compute/codec/pictures_test.cc.
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

Tensor Contents(const std::string& file) { return Tensor::Scalar(file); }

// One row of two pixels: red 10, green 20, blue 30; then 40, 50, 60.
std::string SmallBmp() {
  std::string file("BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\1\0\0\0\1\0\x18\0", 30);
  file.resize(54);
  return file + std::string("\x1e\x14\x0a\x3c\x32\x28\0\0", 8);
}

// Two frames of one pixel, white and black.
std::string SmallGif() {
  return std::string(
      "GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0"
      ",\0\0\0\0\1\0\1\0\0\2\2\x44\1\0,\0\0\0\0\1\0\1\0\0\2\2\x4c\1\0;",
      50);
}

TEST(DecodePictureTest, EachTypeIsFullBrightnessOfTheOther) {
  const std::vector<Tensor> file = {Contents(SmallBmp())};
  ExpectOutputs("DecodeBmp", file, {},
                {Numbers<uint8_t>({10, 20, 30, 40, 50, 60}, Shape{1, 2, 3})});
  ExpectOutputs("DecodeBmp", file, {{"channels", int64_t{4}}},
                {Numbers<uint8_t>({10, 20, 30, 255, 40, 50, 60, 255}, Shape{1, 2, 4})});
  ExpectOutputs("DecodeImage", file, {{"dtype", DType::kUint16}},
                {Numbers<uint16_t>({2560, 5120, 7680, 10240, 12800, 15360}, Shape{1, 2, 3})});
  std::vector<float> floats;
  for (const float v : {10.F, 20.F, 30.F, 40.F, 50.F, 60.F}) floats.push_back(v * (1.F / 255.F));
  ExpectOutputs("DecodeImage", file, {{"dtype", DType::kFloat}},
                {Numbers<float>(floats, Shape{1, 2, 3})});
}

TEST(DecodePictureTest, FramesHaveADimensionWhereTheyMay) {
  const std::vector<Tensor> file = {Contents(SmallGif())};
  const std::vector<uint8_t> both = {255, 255, 255, 0, 0, 0};
  ExpectOutputs("DecodeGif", file, {}, {Numbers<uint8_t>(both, Shape{2, 1, 1, 3})});
  ExpectOutputs("DecodeImage", file, {}, {Numbers<uint8_t>(both, Shape{2, 1, 1, 3})});
  ExpectOutputs("DecodeImage", file, {{"expand_animations", false}},
                {Numbers<uint8_t>({255, 255, 255}, Shape{1, 1, 3})});
  ExpectError("DecodePng", file, {}, Code::kInvalidArgument, "Got 2 frames");
}

TEST(DecodePictureTest, Refusals) {
  const std::string jpeg("\xff\xd8\xff\xe0");
  const auto refused = [](std::string_view op, const std::string& file, const AttrMap& attrs,
                          std::string_view why) {
    ExpectError(op, {Contents(file)}, attrs, Code::kInvalidArgument, why);
  };
  refused("DecodeJpeg", "", {}, "Input is empty.");
  refused("DecodeJpeg", "no picture", {}, "Unknown image file format");
  refused("DecodeJpeg", jpeg, {}, "the file ends within its header");
  refused("DecodeJpeg", jpeg, {{"ratio", int64_t{3}}}, "ratio must be 1, 2, 4, or 8, got 3");
  refused("DecodeJpeg", jpeg, {{"channels", int64_t{4}}}, "JPEG does not support 4 channels");
  refused("DecodeJpeg", jpeg, {{"dct_method", std::string("fast")}}, "got 'fast'");
  refused("DecodePng", "", {{"channels", int64_t{2}}}, "`channels` must be 0, 1, 3 or 4 but got 2");
  refused("DecodePng", "", {{"channels", int64_t{-1}}}, "channels must be non-negative, got -1");
  refused("DecodeBmp", jpeg, {}, "Trying to decode JPEG format using DecodeBmp op");
  refused("DecodeBmp", SmallBmp().substr(0, 40), {}, "they differ by -22");
  refused("DecodeImage", SmallGif(), {{"channels", int64_t{1}}}, "channels must be 0 or 3 for GIF");
  refused("ExtractJpegShape", "no picture", {}, "Invalid JPEG data, size 10");
  ExpectError("DecodeJpeg", {Texts({jpeg})}, {}, Code::kInvalidArgument, "");
  const Tensor window = Numbers<int32_t>({0, 0, 2, 2});
  ExpectError("DecodeAndCropJpeg", {Contents(SmallBmp()), window}, {}, Code::kInvalidArgument,
              "Trying to decode BMP format");
  ExpectError("DecodeAndCropJpeg", {Contents(jpeg), Numbers<int32_t>({0, 0, 2})}, {},
              Code::kInvalidArgument, "four elements");
}

// The part of a graph's shapes that is known before it runs.
TEST(DecodePictureTest, ShapesAreKnownAsFarAsTheyCanBe) {
  const auto shape = [](std::string_view op, AttrMap attrs, bool window) {
    Graph graph(AllRegistries().ops);
    GraphBuilder b(&graph);
    std::vector<Output> inputs = {b.Op("Placeholder", {}, {{"dtype", DType::kString}})};
    if (window) inputs.push_back(b.Const(Numbers<int32_t>({1, 2, 30, 40})));
    const Output made = b.Op(op, inputs, std::move(attrs));
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    return made.node->output_shape(0).ToString();
  };
  EXPECT_EQ(shape("DecodeJpeg", {}, false), "[?,?,?]");
  EXPECT_EQ(shape("DecodePng", {{"channels", int64_t{3}}}, false), "[?,?,3]");
  EXPECT_EQ(shape("DecodeAndCropJpeg", {{"channels", int64_t{1}}}, true), "[30,40,1]");
  EXPECT_EQ(shape("DecodeGif", {}, false), "[?,?,?,3]");
  EXPECT_EQ(shape("DecodeImage", {{"expand_animations", false}}, false), "[?,?,?]");
  EXPECT_EQ(shape("ExtractJpegShape", {}, false), "[3]");
}

}  // namespace
}  // namespace thalweg
