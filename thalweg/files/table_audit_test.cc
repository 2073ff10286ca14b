// SPDX-License-Identifier: Apache-2.0
// Tables that lie, compressed tables.
#include "thalweg/files/table_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/files/checkpoint_audit.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/table.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

std::string HandleBytes(uint64_t offset, uint64_t size) {
  std::string bytes;
  AppendVarint(bytes, offset);
  AppendVarint(bytes, size);
  return bytes;
}

class TableAuditTest : public testing::Test {
 protected:
  // Appends a block with its checksum; its handle.
  std::string AddBlock(const std::string& block, char compression = 0) {
    std::string handle = HandleBytes(bytes_.size(), block.size());
    bytes_ += block + compression;
    const uint32_t crc = Crc32c(block + compression);
    AppendFixed32(bytes_, MaskCrc32c(crc));
    return handle;
  }
  // A table of the blocks so far, of which the index says `handles`.
  std::string Write(const std::vector<std::string>& handles) {
    TableBlockBuilder index(1);
    for (size_t i = 0; i < handles.size(); ++i) index.Add(StrCat("k", i), handles[i]);
    std::string footer = AddBlock(TableBlockBuilder(16).Finish());
    footer += AddBlock(index.Finish());
    footer.resize(kTableFooterBytes - 8, '\0');
    const std::string golden = *ReadFile(fs_, THALWEG_GOLDEN_DIR "/checkpoints/2.21/typed.index");
    bytes_ += footer + golden.substr(golden.size() - 8);  // the magic number
    EXPECT_TRUE(WriteFileAtomically(fs_, directory_.Path("t"), bytes_).ok());
    return directory_.Path("t");
  }
  static std::string OneRow() {
    TableBlockBuilder block(16);
    block.Add("a", "value");
    return block.Finish();
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
  std::string bytes_;
};

TEST_F(TableAuditTest, NoBlockIsReadTwice) {
  const std::string block = AddBlock(OneRow());
  const uint64_t end = bytes_.size();
  const std::string path = Write({block, HandleBytes(end, UINT64_MAX - end + 1), block, block});
  Audit audit;
  Progress progress({}, 0);
  int rows = 0;
  ASSERT_TRUE(AuditTable(fs_, path, audit, progress, [&](auto, auto, auto) { ++rows; }).ok());
  ASSERT_EQ(audit.num_damages, 2u) << AuditJson(audit);
  EXPECT_THAT(audit.damages[0].what, HasSubstr("block 1: "));
  EXPECT_EQ(audit.damages[1].what, "the index block: block 2 lies over the one before it");
  EXPECT_EQ(rows, 1);
}

TEST_F(TableAuditTest, WhatLiesOutsideHidesNothing) {
  const std::string block = AddBlock(OneRow());
  const std::string path = Write({HandleBytes(0, uint64_t{1} << 40), block});
  Audit audit;
  Progress progress({}, 0);
  int rows = 0;
  ASSERT_TRUE(AuditTable(fs_, path, audit, progress, [&](auto, auto, auto) { ++rows; }).ok());
  EXPECT_EQ(audit.num_damages, 1u) << AuditJson(audit);
  EXPECT_EQ(rows, 1);
}

TEST_F(TableAuditTest, CompressionIsNoDamage) {
  const std::string path = Write({AddBlock("snappy's bytes", 1)});
  const Status status = AuditCheckpoint(fs_, path).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.ToString(), HasSubstr("block 0, at byte 0, is compressed (type 1)"));
}

// The bytes of the file are told also where damage ends the check before its values are read.
TEST_F(TableAuditTest, ProgressIsToldAndAsked) {
  const std::string block = AddBlock(OneRow());
  bytes_[0] ^= 1;
  const std::string path = Write({block});
  uint64_t seen = 0, of = 0;
  const ProgressFn tell = [&](uint64_t done, uint64_t total) {
    seen = done;
    of = total;
    return Cancelled("enough");
  };
  EXPECT_EQ(AuditCheckpoint(fs_, path, tell).status().code(), Code::kCancelled);
  EXPECT_GT(seen, 0u);
  EXPECT_GE(of, bytes_.size());
}

}  // namespace
}  // namespace thalweg
