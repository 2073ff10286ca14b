// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/inflate.h"

#include <gmock/gmock.h>

#include "thalweg/io/deflate.h"
#include "thalweg/io/file_parts.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// "a text, a text, a text" of zlib and of gzip (Python's).
const std::string kZlibText(
    "\x78\x9c\x4b\x54\x28\x49\xad\x28\xd1\x51\x48\x44\xa1\x01\x53\x61\x07\x6b", 18);
const std::string kGzipText(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x54\x28\x49\xad\x28\xd1\x51\x48\x44\xa1\x01\x83"
    "\x94\x1c\xda\x16\x00\x00\x00",
    30);

Status Any(uint64_t) { return OkStatus(); }

TEST(InflateTest, BothKinds) {
  EXPECT_EQ(*Inflate(kZlibText, Compression::kZlib, Any), "a text, a text, a text");
  EXPECT_EQ(*Inflate(kGzipText, Compression::kGzip, Any), "a text, a text, a text");
  EXPECT_EQ(*Inflate(kGzipText + kGzipText, Compression::kGzip, Any),
            "a text, a text, a texta text, a text, a text");
  EXPECT_EQ(*Inflate("as it is", Compression::kNone, Any), "as it is");
  EXPECT_EQ(*CompressionNamed("GZIP"), Compression::kGzip);
  EXPECT_EQ(CompressionNamed("LZ").status().code(), Code::kInvalidArgument);
}

TEST(DeflateTest, WhatIsCompressedComesBack) {
  std::string text;  // more than one buffer of what hardly can be compressed, then of what can
  for (uint32_t i = 0, x = 1; i < 300000; ++i)
    text += static_cast<char>((x *= 1664525, x += 1013904223) >> 24);
  text += std::string(1 << 20, 'z');
  for (const Compression kind : {Compression::kNone, Compression::kZlib, Compression::kGzip}) {
    for (const size_t piece : {size_t{1000}, text.size()}) {
      Deflater deflater = *Deflater::Make(kind);
      std::string compressed;
      for (size_t at = 0; at < text.size(); at += piece) {
        ASSERT_TRUE(deflater.Add(text.substr(at, piece), &compressed).ok());
      }
      ASSERT_TRUE(deflater.Finish(&compressed).ok());
      EXPECT_EQ(compressed.size() < text.size() / 2, kind != Compression::kNone);
      EXPECT_TRUE(*Inflate(compressed, kind, Any) == text);
    }
    std::string nothing;
    ASSERT_TRUE(Deflater::Make(kind)->Finish(&nothing).ok());
    EXPECT_EQ(*Inflate(nothing, kind, Any), "");
  }
}

TEST(InflateTest, DamageIsDataLoss) {
  EXPECT_EQ(*Inflate("", Compression::kGzip, Any), "");
  for (size_t length = 1; length < kGzipText.size(); ++length) {
    EXPECT_EQ(Inflate(kGzipText.substr(0, length), Compression::kGzip, Any).status().code(),
              Code::kDataLoss)
        << length;
  }
  std::string flipped = kZlibText;
  flipped.back() ^= 1;
  EXPECT_THAT(Inflate(flipped, Compression::kZlib, Any).status().ToString(),
              HasSubstr("incorrect data check"));
  EXPECT_THAT(Inflate(kZlibText + "x", Compression::kZlib, Any).status().ToString(),
              HasSubstr("bytes follow the end"));
  EXPECT_THAT(Inflate("no gzip at all", Compression::kGzip, Any).status().ToString(),
              HasSubstr("incorrect header check"));
}

TEST(InflateTest, RoomIsAskedForBeforeItIsTaken) {
  uint64_t most = 0;
  const auto little = [&](uint64_t bytes) -> Status {
    most = std::max(most, bytes);
    return bytes > 1000 ? ResourceExhausted("little room") : OkStatus();
  };
  EXPECT_EQ(Inflate(kZlibText, Compression::kZlib, little).status().code(),
            Code::kResourceExhausted);
  EXPECT_GT(most, 1000u);
}

TEST(InflateTest, AFileIsReadInOrder) {
  MemoryFileSystem fs([](const std::string&) { return std::string_view(kGzipText); });
  auto file = OpenInflated(*fs.OpenForReading("f"), "f", Compression::kGzip);
  ASSERT_TRUE(file.ok());
  char buffer[100];
  EXPECT_EQ(*(*file)->Read(0, buffer, 2), 2u);
  EXPECT_EQ((*file)->Read(9, buffer, 1).status().code(), Code::kUnimplemented);
  EXPECT_EQ(*(*file)->Read(2, buffer, 100), 20u);
  EXPECT_EQ(std::string_view(buffer, 20), "text, a text, a text");
  EXPECT_EQ(*(*file)->Read(22, buffer, 100), 0u);
  // No record: the text's beginning is no header.
  auto records = BlockFile::Open(fs, "f", {.compression = Compression::kGzip});
  EXPECT_THAT(NextRecord(*records).status().ToString(),
              HasSubstr("f: corrupted record at 0: the checksum of its length"));
}

}  // namespace
}  // namespace thalweg
