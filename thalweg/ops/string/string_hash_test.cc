// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const Tensor kTexts =
    Texts({"", "a", "hello", "hello world!", std::string("\0\xff", 2), std::string(100, 'x')});
const int64_t kMany = int64_t{1} << 62;

// Recorded with TensorFlow 2.21.
TEST(StringHashTest, Buckets) {
  ExpectOutputs("StringToHashBucket", {kTexts}, {{"num_buckets", kMany}},
                {Numbers<int64_t>({105434511174508091, 2996632905371535868, 1331861223480393034,
                                   488105371118328303, 1751249499085313975, 1482511825497849095})});
  ExpectOutputs(
      "StringToHashBucketFast", {kTexts}, {{"num_buckets", kMany}},
      {Numbers<int64_t>({1936946117179621455, 3694432073954588131, 3786372426573024488,
                         4577883861590986596, 2909837915285000904, 1978794067220662815})});
  const auto strong = [](std::vector<int64_t> key, std::vector<int64_t> expected) {
    ExpectOutputs("StringToHashBucketStrong", {kTexts}, {{"num_buckets", kMany}, {"key", key}},
                  {Numbers(expected)});
  };
  strong({1, 2}, {443797209252341627, 546566331822570742, 2957200328589801622, 4134433662751500283,
                  4467678397361794397, 1638981394980189463});
  strong({-1, 2}, {1959068163120446498, 2621125524705625938, 2602631189352845778,
                   628985161628197616, 179253236637877192, 4135634188275789370});
}

// Recorded with TensorFlow 2.21: byte j of the text of i bytes is 7 i + 13 j + j^2.
TEST(StringHashTest, WideFingerprints) {
  std::vector<std::string> texts;
  for (const int i : {0, 1, 5, 12, 16, 31, 33, 100, 143, 144, 145, 180, 272, 300, 419}) {
    std::string& text = texts.emplace_back();
    for (int j = 0; j < i; ++j) text += static_cast<char>(i * 7 + j * 13 + j * j);
  }
  ExpectOutputs(
      "SdcaFprint", {Texts(texts)}, {},
      {Numbers<int64_t>(
          {4463240938071824939,  4374473821787594281,  3440591818334064547,  -4576426322809168343,
           187688441674150449,   296386172264465952,   -8757386669776267085, 2793748810158758073,
           -6960893934393766480, -7032902110001937657, 4742170594227276570,  602674208086024118,
           3054666753711757752,  5136400977084350998,  -487458425497854545,  7166353558063184526,
           -2160676349320749627, 6284593786991417072,  -6176200984018663913, -7112271667016117742,
           6253707572101839203,  -2761613136320097322, -3643158607865272122, -7599134656106794095,
           -2944740368174639296, 3942605357341876436,  -1619272024315993988, -5137290127366103565,
           4088409655043462841,  5024078622375899825},
          Shape{15, 2})});
  ExpectOutputs("SdcaFprint", {Texts({})}, {}, {Numbers<int64_t>({}, Shape{0, 2})});
}

TEST(StringHashTest, Refusals) {
  ExpectError("SdcaFprint", {Texts({"a"}, Shape{1, 1})}, {}, Code::kInvalidArgument, "");
  ExpectError("StringToHashBucketFast", {kTexts}, {{"num_buckets", int64_t{0}}},
              Code::kInvalidArgument, "num_buckets");
  ExpectError("StringToHashBucketStrong", {kTexts},
              {{"num_buckets", int64_t{2}}, {"key", std::vector<int64_t>{1}}},
              Code::kInvalidArgument, "Key must have 2 elements");
}

}  // namespace
}  // namespace thalweg
