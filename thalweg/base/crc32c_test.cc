// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace thalweg {
namespace {

// RFC 3720, section B.4.
TEST(Crc32cTest, KnownAnswers) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising(32, '\0');
  for (int i = 0; i < 32; ++i) rising[i] = static_cast<char>(i);
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, TableAndInstructionAgreeAtEveryLengthAndOffset) {
  std::string data;
  for (int i = 0; i < 200; ++i) data.push_back(static_cast<char>(i * 37 + 11));
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t n = 0; begin + n <= data.size(); ++n) {
      const std::string_view part = std::string_view(data).substr(begin, n);
      ASSERT_EQ(Crc32c(part), ExtendCrc32cByTable(0, part)) << begin << " " << n;
    }
  }
}

TEST(Crc32cTest, LongDataInSeveralStreamsAreTheSame) {
  std::string data;
  for (uint32_t i = 0, x = 1; i < 50000; ++i, x = x * 1664525 + 1013904223) {
    data.push_back(static_cast<char>(x >> 24));
  }
  for (const size_t n : {767, 768, 769, 1010, 1535, 1536, 12287, 12288, 12289, 13056, 24575, 24576,
                         24583, 40000, 49999}) {
    for (const size_t begin : {0, 1}) {
      const std::string_view part = std::string_view(data).substr(begin, n);
      ASSERT_EQ(Crc32c(part), ExtendCrc32cByTable(0, part)) << begin << " " << n;
      ASSERT_EQ(ExtendCrc32c(12345, part), ExtendCrc32cByTable(12345, part)) << begin << " " << n;
    }
  }
}

TEST(Crc32cTest, ExtendIsConcatenation) {
  EXPECT_EQ(ExtendCrc32c(Crc32c("hello "), "world"), Crc32c("hello world"));
}

TEST(Crc32cTest, MaskIsInvertibleAndNotIdentity) {
  const uint32_t crc = Crc32c("foo");
  EXPECT_NE(MaskCrc32c(crc), crc);
  EXPECT_EQ(UnmaskCrc32c(MaskCrc32c(crc)), crc);
  EXPECT_EQ(MaskCrc32c(0), 0xa282ead8u);
}

}  // namespace
}  // namespace thalweg
