// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "aaaa..." of 40 letters, by zlib.
const std::string kFortyLetters("\x78\x9c\x4b\x4c\x24\x0e\x00\x00\x36\xeb\x0f\x29", 12);

TEST(DecodeCompressedTest, EachElement) {
  const Tensor two = Tensor::Vector<std::string>({kFortyLetters, kFortyLetters});
  const auto out = RunOp("DecodeCompressed", {two}, {{"compression_type", "ZLIB"}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<std::string>(),
              ElementsAre(std::string(40, 'a'), std::string(40, 'a')));
  EXPECT_EQ((*RunOp("DecodeCompressed", {two}))[0].data<std::string>()[1], kFortyLetters);
}

TEST(DecodeCompressedTest, Errors) {
  const auto error = [](const std::string& text, const char* kind) {
    return RunOp("DecodeCompressed", {Tensor::Vector<std::string>({text})},
                 {{"compression_type", kind}})
        .status();
  };
  EXPECT_EQ(error("no zlib", "ZLIB").code(), Code::kDataLoss);
  EXPECT_THAT(error(kFortyLetters.substr(0, 5), "ZLIB").ToString(),
              HasSubstr("element 0: the compressed bytes end too early"));
  EXPECT_THAT(error("", "XX").ToString(), HasSubstr("Only ZLIB, GZIP or NONE are supported"));
}

}  // namespace
}  // namespace thalweg
