// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

AttrMap Decoding(const char* encoding, const char* errors = "replace", bool control = false) {
  return {{"input_encoding", std::string(encoding)},
          {"errors", std::string(errors)},
          {"replace_control_characters", control}};
}

void ExpectDecoded(const std::string& text, const AttrMap& attrs, std::vector<int32_t> characters,
                   std::vector<int64_t> starts) {
  const auto n = static_cast<int64_t>(characters.size());
  ExpectOutputs("UnicodeDecodeWithOffsets", {Texts({text})}, attrs,
                {Numbers<int64_t>({0, n}), Numbers(characters), Numbers(starts)});
}

// Recorded with TensorFlow 2.21.
TEST(UnicodeTest, Decodes) {
  const AttrMap utf8 = Decoding("UTF-8"), ignore = Decoding("UTF-8", "ignore");
  constexpr int32_t kBad = 65533;
  ExpectDecoded("a\u00e9\u65e5\U0001f600", utf8, {97, 233, 26085, 128512}, {0, 1, 3, 6});
  ExpectDecoded(
      "a\xff"
      "b",
      utf8, {97, kBad, 98}, {0, 1, 2});
  ExpectDecoded(
      "a\xff"
      "b",
      ignore, {97, 98}, {0, 2});
  ExpectDecoded("\xe6\x97", utf8, {kBad}, {0});
  ExpectDecoded("\xed\xa0\x80x", utf8, {kBad, kBad, kBad, 120}, {0, 1, 2, 3});
  ExpectDecoded("\xf0\x9f\x98", utf8, {kBad}, {0});
  ExpectDecoded("\xc0\x80", utf8, {kBad, kBad}, {0, 1});
  ExpectDecoded("\xf4\x90\x80\x80", utf8, {kBad, kBad, kBad, kBad}, {0, 1, 2, 3});
  ExpectDecoded("\xe0\x80\x80", utf8, {kBad, kBad, kBad}, {0, 1, 2});
  const std::string control(
      "a\0\x01"
      "b",
      4);
  ExpectDecoded(control, utf8, {97, 0, 1, 98}, {0, 1, 2, 3});
  ExpectDecoded(control, Decoding("UTF-8", "strict", true), {97, kBad, kBad, 98}, {0, 1, 2, 3});
  ExpectDecoded(control, Decoding("UTF-8", "ignore", true), {97, 98}, {0, 3});
  ExpectDecoded(std::string("\0a\xd8\x3d\xde\0", 6), Decoding("UTF-16-BE"), {97, 128512}, {0, 2});
  ExpectDecoded(std::string("\0a\xde\0\0b", 6), Decoding("UTF-16-BE"), {97, kBad, 98}, {0, 2, 4});
  ExpectDecoded(std::string("\xd8\x3d\0a", 4), Decoding("UTF-16-BE"), {kBad, 97}, {0, 2});
  ExpectDecoded(std::string("\0a\0", 3), Decoding("UTF-16-BE"), {97, kBad}, {0, 2});
  ExpectDecoded(std::string("\0\x11\0\0\0\0\0a", 8), Decoding("UTF-32-BE"), {kBad, 97}, {0, 4});
  ExpectDecoded(std::string("\0\0\xd8\0", 4), Decoding("UTF-32-BE"), {kBad}, {0});
  ExpectOutputs("UnicodeDecode", {Texts({"a", "bc", "", "d"}, Shape{2, 2})}, utf8,
                {Numbers<int64_t>({0, 1, 3, 3, 4}), Numbers<int32_t>({97, 98, 99, 100})});
  ExpectError("UnicodeDecode", {Texts({"\xff"})}, Decoding("UTF-8", "strict"),
              Code::kInvalidArgument, "Invalid formatting");
}

// Recorded with TensorFlow 2.21.
TEST(UnicodeTest, OtherEncodings) {
  const auto script =
      RunOp("UnicodeScript", {Numbers<int32_t>({97, 0x65e5, 0x3b1, 0x110000, -5, 32, 0xd800})});
  ASSERT_TRUE(script.ok()) << script.status().ToString();
  ASSERT_TRUE(script.ok());
  EXPECT_EQ(BitDifference((*script)[0], Numbers<int32_t>({25, 17, 14, -1, -1, 0, 103})), "");
  ExpectDecoded("a\xe9", Decoding("latin1"), {97, 233}, {0, 1});
  ExpectDecoded(
      "a\xe9"
      "b",
      Decoding("US-ASCII"), {97, 65533, 98}, {0, 1, 2});
  ExpectDecoded("\x82\xa0\x82\xff\x82", Decoding("SHIFT_JIS"), {12354, 65533, 65533, 65533},
                {0, 2, 3, 4});
  ExpectError("UnicodeDecode", {Texts({"a"})}, Decoding("nonsense"), Code::kInvalidArgument,
              "nonsense");
}

// Recorded with TensorFlow 2.21.
TEST(UnicodeTest, Encodes) {
  const Tensor characters = Numbers<int32_t>({97, 0xd800, 0x1f600, 0x110000, -1});
  const Tensor splits = Numbers<int64_t>({0, 2, 5});
  const auto attrs = [](const char* encoding, const char* errors) {
    return AttrMap{{"output_encoding", std::string(encoding)}, {"errors", std::string(errors)}};
  };
  ExpectOutputs("UnicodeEncode", {characters, splits}, attrs("UTF-8", "replace"),
                {Texts({"a\ufffd", "\U0001f600\ufffd\ufffd"})});
  ExpectOutputs("UnicodeEncode", {characters, splits}, attrs("UTF-16-BE", "ignore"),
                {Texts({std::string("\0a", 2), std::string("\xd8\x3d\xde\0", 4)})});
  ExpectError("UnicodeEncode", {characters, splits}, attrs("UTF-8", "strict"),
              Code::kInvalidArgument, "surrogate");
  for (const std::vector<int64_t>& bad :
       std::vector<std::vector<int64_t>>{{}, {0, 6}, {1, 5}, {0, 5, 1}, {0, 1}, {0, -1, 5}}) {
    ExpectError("UnicodeEncode", {characters, Numbers(bad)}, attrs("UTF-8", "replace"),
                Code::kInvalidArgument, "nput_splits");
  }
}

TEST(UnicodeTest, Transcodes) {
  AttrMap attrs = Decoding("UTF-8");
  attrs.Set("output_encoding", std::string("UTF-16-BE"));
  ExpectOutputs("UnicodeTranscode", {Texts({"a\u00e9\U0001f600\xff"})}, attrs,
                {Texts({std::string("\0a\0\xe9\xd8\x3d\xde\0\xff\xfd", 10)})});
  AttrMap strict = Decoding("UTF-8", "strict", true);
  strict.Set("output_encoding", std::string("UTF-8"));
  ExpectError("UnicodeTranscode", {Texts({"\x01"})}, strict, Code::kInvalidArgument,
              "Invalid formatting");
}

}  // namespace
}  // namespace thalweg
