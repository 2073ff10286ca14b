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

TEST(StringHashTest, Refusals) {
  ExpectError("StringToHashBucketFast", {kTexts}, {{"num_buckets", int64_t{0}}},
              Code::kInvalidArgument, "num_buckets");
  ExpectError("StringToHashBucketStrong", {kTexts},
              {{"num_buckets", int64_t{2}}, {"key", std::vector<int64_t>{1}}},
              Code::kInvalidArgument, "Key must have 2 elements");
}

}  // namespace
}  // namespace thalweg
