// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_framing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

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
    EXPECT_THAT(status.ToString(),
                HasSubstr(bit < 96 ? "corrupted record at 7: the checksum of its "
                                     "length: expected crc32c "
                                   : "corrupted record at 19: the checksum of "
                                     "its bytes: expected crc32c "));
  }
  // 123456789 is the check value of all catalogs of checksums.
  std::string other = FrameRecord("123456789");
  other[kRecordHeaderBytes + 8] = '8';
  EXPECT_THAT(read(other).status().ToString(),
              HasSubstr("its bytes: expected crc32c e3069283, found crc32c "));
  std::string length = framed.substr(0, 8) + FrameRecord("").substr(8, 4) + framed.substr(12);
  EXPECT_THAT(read(length).status().ToString(),
              EndsWith("expected crc32c 8c28b28a, found crc32c 5c6b4c1e"));
  EXPECT_EQ(RecordLength("short", 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckRecord("xy", 0).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
