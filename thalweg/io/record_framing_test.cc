// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_framing.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(RecordFramingTest, NoFlippedBitIsOverlooked) {
  const std::string text = "some bytes", framed = FrameRecord(text);
  ASSERT_EQ(framed.size(), kRecordHeaderBytes + text.size() + kRecordFooterBytes);
  const auto read = [](std::string_view bytes) -> Result<std::string> {
    ASSIGN_OR_RETURN(const uint64_t length, RecordLength(bytes.substr(0, kRecordHeaderBytes), 7));
    const std::string_view rest = bytes.substr(kRecordHeaderBytes);
    RETURN_IF_ERROR(CheckRecord(rest, 7));
    return std::string(rest.substr(0, static_cast<size_t>(length)));
  };
  EXPECT_EQ(*read(framed), text);
  for (size_t bit = 0; bit < 8 * framed.size(); ++bit) {
    std::string damaged = framed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const Status status = read(damaged).status();
    EXPECT_EQ(status.code(), Code::kDataLoss) << bit;
    EXPECT_NE(status.message().find(bit < 96 ? "corrupted record at 7" : "corrupted record at 19"),
              std::string_view::npos)
        << status.ToString();
  }
  EXPECT_EQ(RecordLength("short", 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckRecord("xy", 0).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
