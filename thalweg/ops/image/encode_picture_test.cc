// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

Tensor Ramp(const Shape& shape) {
  std::vector<uint8_t> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 3);
  return Tensor::Of<uint8_t>(values, shape);
}

TEST(EncodePictureTest, PngFilesOfABatchAreReadAgain) {
  const Tensor pictures = Ramp({2, 3, 4, 3});
  const auto files = RunOp("EncodePng", {pictures});
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  ASSERT_EQ((*files)[0].shape(), Shape{2});
  for (int64_t i = 0; i < 2; ++i) {
    const uint8_t* const from = pictures.data<uint8_t>() + 36 * i;
    ExpectOutputs("DecodePng", {Tensor::Scalar((*files)[0].data<std::string>()[i])}, {},
                  {Numbers<uint8_t>({from, from + 36}, Shape{3, 4, 3})});
  }
}

TEST(EncodePictureTest, OptionsAreWrittenDown) {
  const auto file = [](const AttrMap& attrs) {
    const auto made = RunOp("EncodeJpeg", {Ramp({16, 16, 3})}, attrs);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? (*made)[0].scalar<std::string>() : std::string();
  };
  const std::string plain = file({});
  // JFIF 1.1, 300 dots an inch.
  EXPECT_EQ(plain.substr(6, 12), std::string("JFIF\0\1\1\1\1\x2c\1\x2c", 12));
  EXPECT_NE(plain.find("\xff\xc0"), std::string::npos);
  EXPECT_NE(file({{"progressive", true}}).find("\xff\xc2"), std::string::npos);
  EXPECT_LT(file({{"optimize_size", true}}).size(), plain.size());
  EXPECT_GT(file({{"chroma_downsampling", false}}).size(), plain.size());
  EXPECT_LT(file({{"quality", int64_t{20}}}).size(), plain.size());
  EXPECT_EQ(file({{"density_unit", std::string("cm")}, {"x_density", int64_t{7}}}).substr(13, 3),
            std::string("\2\0\7", 3));
  EXPECT_NE(file({{"xmp_metadata", std::string("<x/>")}})
                .find(std::string("http://ns.adobe.com/xap/1.0/\0<x/>", 33)),
            std::string::npos);
  const auto variable =
      RunOp("EncodeJpegVariableQuality", {Ramp({16, 16, 3}), Tensor::Scalar(int32_t{20})});
  ASSERT_TRUE(variable.ok());
  EXPECT_EQ((*variable)[0].scalar<std::string>(), file({{"quality", int64_t{20}}}));
}

TEST(EncodePictureTest, Refusals) {
  const auto refused = [](std::string_view op, std::vector<Tensor> inputs, const AttrMap& attrs,
                          std::string_view why) {
    ExpectError(op, inputs, attrs, Code::kInvalidArgument, why);
  };
  refused("EncodeJpeg", {Ramp({2, 2})}, {}, "");
  refused("EncodeJpeg", {Ramp({2, 2, 4})}, {}, "image must have 1 or 3 channels");
  refused("EncodeJpeg", {Ramp({2, 2, 3})}, {{"format", std::string("grayscale")}},
          "format grayscale expects 1 channels");
  refused("EncodeJpeg", {Ramp({2, 2, 3})}, {{"quality", int64_t{101}}},
          "quality must be in [0,100]");
  refused("EncodeJpegVariableQuality", {Ramp({2, 2, 3}), Tensor::Scalar(int32_t{-1})}, {},
          "quality must be in [0,100], got -1");
  refused("EncodePng", {Ramp({2, 2, 5})}, {}, "image must have 1, 2, 3, or 4 channels");
  refused("EncodePng", {Ramp({2, 2, 3})}, {{"compression", int64_t{10}}},
          "compression should be in [-1,9]");
  ExpectError("EncodePng", {Ramp({0, 2, 3})}, {}, Code::kInternal, "PNG encoding failed");
  ExpectError("EncodeJpeg", {Ramp({0, 2, 3})}, {}, Code::kInternal, "JPEG encoding failed");
}

}  // namespace
}  // namespace thalweg
