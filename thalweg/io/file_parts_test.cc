// SPDX-License-Identifier: Apache-2.0
// Record files of both releases, and damaged ones.
#include "thalweg/io/file_parts.h"

#include <gtest/gtest.h>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/fixed_int.h"

namespace thalweg {
namespace {

class FilePartsTest : public testing::Test {
 protected:
  static std::string Golden(const std::string& release, const std::string& kind) {
    return StrCat(THALWEG_GOLDEN_DIR, "/records/", release, "/example.", kind, ".tfrecord");
  }
  // The records before the end or the first error.
  Status ReadAll(const std::string& path, Compression kind = Compression::kNone) {
    records_.clear();
    ASSIGN_OR_RETURN(BlockFile file, BlockFile::Open(fs_, path, {.compression = kind}));
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> record, NextRecord(file));
      if (!record) return OkStatus();
      records_.emplace_back(*record);
    }
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
  std::vector<std::string> records_;
};

TEST_F(FilePartsTest, WhatTheReleasesWrote) {
  for (const char* release : {"1.15", "2.21"}) {
    const Status status = ReadAll(Golden(release, "plain"));
    ASSERT_TRUE(status.ok()) << status.ToString();
    uint64_t bytes = 0;
    for (const std::string& record : records_) bytes += record.size() + 16;
    EXPECT_EQ(bytes, ReadFile(fs_, Golden(release, "plain"))->size());
    EXPECT_EQ(records_.size(), 22u);
    EXPECT_EQ(records_[0].size(), 93u);
  }
}

TEST_F(FilePartsTest, CompressedFiles) {
  for (const char* release : {"1.15", "2.21"}) {
    ASSERT_TRUE(ReadAll(Golden(release, "plain")).ok());
    const std::vector<std::string> plain = records_;
    EXPECT_TRUE(ReadAll(Golden(release, "gzip"), Compression::kGzip).ok());
    EXPECT_EQ(records_, plain);
    EXPECT_TRUE(ReadAll(Golden(release, "zlib"), Compression::kZlib).ok());
    EXPECT_EQ(records_, plain);
  }
  const Status cut = ReadAll(Golden("2.21", "gzip_truncated"), Compression::kGzip);
  EXPECT_EQ(cut.code(), Code::kDataLoss);
  EXPECT_NE(cut.ToString().find("the compressed bytes end too early"), std::string::npos)
      << cut.ToString();
}

TEST_F(FilePartsTest, DamagedFilesEndWhereTensorFlowEndsThem) {
  for (const char* kind :
       {"corrupt_length", "corrupt_payload", "truncated_footer", "truncated_payload"}) {
    EXPECT_EQ(ReadAll(Golden("2.21", kind)).code(), Code::kDataLoss) << kind;
    EXPECT_EQ(records_.size(), 10u) << kind;
  }
  EXPECT_TRUE(ReadAll(Golden("2.21", "truncated_header")).ok());
  EXPECT_EQ(records_.size(), 10u);
}

TEST_F(FilePartsTest, EmptyLargeAndForged) {
  const auto write = [&](const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomically(fs_, directory_.Path("file"), bytes).ok());
    return ReadAll(directory_.Path("file"));
  };
  const auto header = [](uint64_t length) {
    std::string bytes;
    AppendFixed64(bytes, length);
    AppendFixed32(bytes, MaskCrc32c(Crc32c(bytes)));
    return bytes;
  };
  EXPECT_TRUE(write("").ok());
  EXPECT_TRUE(records_.empty());
  const std::string large(700'000, 'x');
  std::string bytes;
  for (const std::string& record : {std::string(), large, std::string("end")}) {
    bytes += header(record.size()) + record;
    AppendFixed32(bytes, MaskCrc32c(Crc32c(record)));
  }
  EXPECT_TRUE(write(bytes).ok());
  EXPECT_EQ(records_, (std::vector<std::string>{"", large, "end"}));
  EXPECT_EQ(write(header(UINT64_MAX) + "abcdefgh").code(), Code::kDataLoss);
  EXPECT_EQ(write(header(4) + "abc").code(), Code::kDataLoss);
  EXPECT_EQ(ReadAll(directory_.Path("absent")).code(), Code::kNotFound);
}

}  // namespace
}  // namespace thalweg
