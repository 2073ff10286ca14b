// SPDX-License-Identifier: Apache-2.0
// Text that is cut short, too large, or none: base64, numbers, encodings, hashes of every length.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "thalweg/compute/text/base64.h"
#include "thalweg/compute/text/hashes.h"
#include "thalweg/compute/text/numbers.h"
#include "thalweg/compute/text/unicode.h"
#include "thalweg/compute/text/utf8.h"
#include "thalweg/compute/text/value_text.h"

namespace thalweg::compute {
namespace {

TEST(Base64Test, EveryLengthComesBack) {
  std::string bytes;
  for (int n = 0; n < 10; ++n, bytes.push_back(static_cast<char>(0xff - n))) {
    for (const bool pad : {false, true}) EXPECT_EQ(DecodeBase64(EncodeBase64(bytes, pad)), bytes);
  }
  EXPECT_EQ(DecodeBase64(""), "");
  for (const char* bad : {"A", "A===", "AA=A", "AA+A", "A A A", "=", "AAAAA"}) {
    EXPECT_FALSE(DecodeBase64(bad).has_value()) << bad;
  }
}

TEST(NumbersTest, TheLastThatFits) {
  int32_t small;
  uint32_t natural;
  int64_t large;
  EXPECT_TRUE(ParseNumber(" -2147483648\n", &small));
  EXPECT_EQ(small, std::numeric_limits<int32_t>::min());
  EXPECT_FALSE(ParseNumber("2147483648", &small));
  EXPECT_TRUE(ParseNumber("4294967295", &natural));
  EXPECT_FALSE(ParseNumber("4294967296", &natural));
  EXPECT_FALSE(ParseNumber("-1", &natural));
  EXPECT_TRUE(ParseNumber("-9223372036854775808", &large));
  EXPECT_FALSE(ParseNumber("9223372036854775808", &large));
}

TEST(NumbersTest, FloatsThatDoNotFitAndTextThatIsNone) {
  float x;
  double y;
  EXPECT_TRUE(ParseNumber("1e39", &x));
  EXPECT_EQ(x, INFINITY);
  EXPECT_TRUE(ParseNumber("-1e-400", &y));
  EXPECT_EQ(y, 0);
  EXPECT_TRUE(ParseNumber("0x1.8p1", &y));
  EXPECT_EQ(y, 3);
  EXPECT_TRUE(ParseNumber("-inf", &y));
  EXPECT_EQ(y, -INFINITY);
  for (const char* bad : {"", " ", "1 2", "1e", "--1", "0x", "1,5", "e5"}) {
    EXPECT_FALSE(ParseNumber(bad, &y)) << bad;
  }
}

std::vector<int32_t> Decoded(const std::string& encoding, std::string_view bytes) {
  const auto decoder = TextDecoder::Make(encoding);
  EXPECT_TRUE(decoder.ok());
  std::vector<int32_t> characters;
  decoder->Decode(bytes, [&](int32_t character, int64_t) { characters.push_back(character); });
  return characters;
}

TEST(UnicodeTest, EveryEncodingBringsItsCharactersBack) {
  const std::vector<int32_t> characters{0,      'a',    0x7f,   0x80,    0x7ff,   0x800,
                                        0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
  for (const char* name : {"UTF-8", "UTF-16-BE", "UTF-32-BE"}) {
    const auto encoding = OutputEncoding(name);
    ASSERT_TRUE(encoding.ok());
    std::string text;
    for (const int32_t c : characters) AppendCharacter(*encoding, c, text);
    EXPECT_EQ(Decoded(name, text), characters) << name;
  }
  EXPECT_FALSE(OutputEncoding("UTF-7").ok());
}

// Cut short, a surrogate, longer than needed, beyond the last: none holds a character.
TEST(UnicodeTest, BadSequencesAreNoCharacters) {
  for (const char* bad : {"\xe2\x82", "\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80", "\x80"}) {
    for (const int32_t c : Decoded("UTF-8", bad)) EXPECT_EQ(c, -1) << bad;
    EXPECT_FALSE(Decoded("UTF-8", bad).empty());
  }
  EXPECT_EQ(Decoded("UTF-16-BE", std::string_view("\xd8\x00\x00", 3)).front(), -1);
  EXPECT_FALSE(IsCharacter(0xd800));
  EXPECT_FALSE(IsCharacter(0x110000));
  EXPECT_FALSE(IsCharacter(-1));
  EXPECT_EQ(Utf8Length("\x80\x80"), 0);
}

TEST(HashesTest, EveryTailOfABlockCounts) {
  std::set<uint64_t> murmur, sip;
  const std::string text(20, 'x');
  for (size_t n = 0; n <= text.size(); ++n) {
    murmur.insert(Murmur64(std::string_view(text).substr(0, n)));
    sip.insert(SipHash(1, 2, std::string_view(text).substr(0, n)));
  }
  EXPECT_EQ(murmur.size(), text.size() + 1);
  EXPECT_EQ(sip.size(), text.size() + 1);
  // The example of the paper: key 00 .. 0f, bytes 00 .. 0e.
  const std::string bytes("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ(SipHash(0x0706050403020100, 0x0f0e0d0c0b0a0908, bytes), 0xa129ca6149be45e5);
}

// H3: a text of 80 MB would be made although a megabyte is allowed, and nobody could stop it.
TEST(ValueTextTest, AsksBeforeItGrowsAndStops) {
  constexpr size_t kAllowed = 1 << 20;
  const auto may_grow = [](size_t bytes) -> Status {
    return bytes <= kAllowed ? OkStatus() : ResourceExhausted("no room for ", bytes, " bytes");
  };
  const std::vector<std::string> texts(1000, std::string(80'000, 'y'));
  const std::vector<int64_t> numbers(1 << 20, -1'000'000'000'000);
  for (const Tensor& tensor : {Tensor::Of<std::string>(texts, Shape{10, 100}),
                               Tensor::Of<int64_t>(numbers, Shape{1 << 10, 1 << 10})}) {
    for (const auto summarize : {SummarizeFirst, SummarizeEnds}) {
      std::string out = "before";
      EXPECT_EQ(summarize(tensor, -1, out, may_grow).code(), Code::kResourceExhausted);
      EXPECT_LE(out.size(), kAllowed);
      out = "before";
      EXPECT_TRUE(summarize(tensor, 1, out, may_grow).ok());
      EXPECT_GT(out.size(), 10u);
    }
  }
}

}  // namespace
}  // namespace thalweg::compute
