// SPDX-License-Identifier: Apache-2.0
// What checkpoints of both formats hold.
#include "thalweg/files/checkpoint_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/files/tensor_elements.h"
#include "thalweg/io/bundle_writer.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

std::string GoldenCheckpoint(const std::string& name) {
  return StrCat(THALWEG_GOLDEN_DIR, "/checkpoints/", name);
}

std::string Listed(FileSystem& fs, const std::string& path) {
  return ListCheckpoint(**CheckpointReader::Open(fs, path), path);
}

TEST(CheckpointListingTest, BothFormatsAndSlices) {
  PosixFileSystem fs;
  for (const std::string release : {"1.15", "2.21"}) {
    const std::string v2 = Listed(fs, GoldenCheckpoint(release + "/partitioned/model-3"));
    EXPECT_THAT(v2, HasSubstr("\"format\": \"V2\""));
    EXPECT_THAT(v2, HasSubstr("\"slices\": 3"));
    const std::string v1 = Listed(fs, GoldenCheckpoint(release + "/v1/model.ckpt"));
    EXPECT_THAT(v1, HasSubstr("\"format\": \"V1\""));
    EXPECT_THAT(v1, HasSubstr("\"slices\": 0"));
    const std::string typed = Listed(fs, GoldenCheckpoint(release + "/typed"));
    EXPECT_THAT(typed, HasSubstr("\"bytes\": null"));
  }
}

TEST(CheckpointListingTest, ATensorWithItsValues) {
  PosixFileSystem fs;
  TemporaryDirectory directory;
  auto writer = *BundleWriter::Create(fs, directory.Path("m"));
  ASSERT_TRUE(writer->Add("w", *Tensor::Vector<float>({0, 1, 2, 3}).Reshaped(Shape{2, 2})).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto reader = *CheckpointReader::Open(fs, directory.Path("m"));
  EXPECT_EQ(
      *ShowTensor(*reader, "w", 2),
      "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [2, 2], \"statistics\": "
      "{\"min\": 0, \"max\": 3, \"mean\": 1.5, \"deviation\": 1.118033988749895, \"zeros\": 1, "
      "\"nans\": 0, \"infinities\": 0}, \"values\": [0, 1], \"elements\": 4}");
  EXPECT_THAT(*ShowTensor(*reader, "w", -1), HasSubstr("[0, 1, 2, 3]"));
  EXPECT_EQ(ShowTensor(*reader, "v", -1).status().code(), Code::kNotFound);
}

TEST(TensorElementsTest, StringsThatAreNoTextAreTheirBytes) {
  JsonWriter json;
  json.BeginList();
  const Tensor texts = Tensor::Vector<std::string>({"\xc3\xbf", "\xff", std::string("\0\xfe", 2)});
  for (int64_t i = 0; i < 3; ++i) AppendElementJson(json, texts, i);
  json.EndList();
  EXPECT_EQ(json.Take(), "[\"\xc3\xbf\", {\"b64\": \"/w==\"}, {\"b64\": \"AP4=\"}]");
}

TEST(TensorElementsTest, StatisticsLeaveOutWhatIsNotFinite) {
  const TensorStatistics s =
      StatisticsOf(Tensor::Vector<double>({1e9 + 1, 1e9 + 3, NAN, INFINITY, -INFINITY}));
  EXPECT_EQ(s.numbers, 2);
  EXPECT_EQ(s.mean, 1e9 + 2);
  EXPECT_EQ(s.deviation, 1);
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.infinities, 2);
  EXPECT_EQ(StatisticsOf(Tensor::Vector<std::string>({"ab", "c"})).text_bytes, 3u);
  EXPECT_EQ(ElementNumber(Tensor::Vector<Half>({Half(0.5f)}), 0), 0.5);
  EXPECT_FALSE(ElementNumber(Tensor::Scalar("x"), 0));
}

}  // namespace
}  // namespace thalweg
