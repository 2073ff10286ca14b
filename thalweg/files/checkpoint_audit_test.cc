// SPDX-License-Identifier: Apache-2.0
// Checkpoints of both releases and formats are whole; every flipped bit of one is found, where it
// is.
#include "thalweg/files/checkpoint_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_entry.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/slice_file_writer.h"
#include "thalweg/io/table.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

class CheckpointAuditTest : public testing::Test {
 protected:
  static std::string Golden(const std::string& name) {
    return StrCat(THALWEG_GOLDEN_DIR, "/checkpoints/", name);
  }
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  void WriteAt(const std::string& path, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(fs_, path, bytes).ok());
  }
  // A small checkpoint of numbers and strings at Path("m").
  void WriteSmall() {
    auto writer = *BundleWriter::Create(fs_, Path("m"));
    ASSERT_TRUE(writer->Add("s", Tensor::Vector<std::string>({"ab", "", "cde"})).ok());
    ASSERT_TRUE(writer->Add("w", Tensor::Vector<float>({1, 2, 3})).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }

  // A row of an index whose checksum is right for `data`.
  static std::string Entry(DType dtype, int64_t offset, int64_t elements, const std::string& data,
                           const std::vector<TensorSlice>& slices = {}) {
    namespace E = pb::BundleEntryProto;
    OwnedMessage message(E::Descriptor());
    message->SetInt(E::kDtype, static_cast<int64_t>(dtype));
    ShapeToProto(Shape{elements}, message->Mutable(E::kShape));
    message->SetInt(E::kOffset, offset);
    message->SetInt(E::kSize, static_cast<int64_t>(data.size()));
    message->SetUint(E::kCrc32c, MaskCrc32c(Crc32c(data)));
    for (const TensorSlice& slice : slices) slice.ToProto(message->Add(E::kSlices));
    return *Serialize(*message);
  }
  // Puts other rows behind the header of the index at Path("m").
  void WriteRows(const std::map<std::string, std::string>& rows) {
    const std::string path = BundleIndexPath(Path("m"));
    const TableEntries before = *ReadTable(**fs_.OpenForReading(path), path);
    const auto file = *fs_.OpenForWriting(path);
    TableWriter table(*file);
    ASSERT_TRUE(table.Add("", before[0].second).ok());
    for (const auto& [key, value] : rows) ASSERT_TRUE(table.Add(key, value).ok());
    ASSERT_TRUE(table.Finish().ok() && file->Close().ok());
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(CheckpointAuditTest, WhatTheReleasesWroteIsWhole) {
  for (const std::string release : {"1.15", "2.21"}) {
    for (const char* name :
         {"/typed", "/many", "/sharded/model-7", "/partitioned/model-3", "/object/ckpt-2",
          "/v1/model.ckpt", "/v1/typed.ckpt", "/v1/sharded.ckpt-*-of-00003"}) {
      const Result<Audit> audit = AuditCheckpoint(fs_, Golden(release + name));
      ASSERT_TRUE(audit.ok()) << audit.status().ToString();
      EXPECT_EQ(audit->num_damages, 0u) << release << name << ": " << AuditJson(*audit);
      EXPECT_GT(audit->checksums, 2u);
      EXPECT_GT(audit->records, 0u);
    }
  }
}

TEST_F(CheckpointAuditTest, EveryFlippedByteIsFoundWithItsPlace) {
  WriteSmall();
  for (const std::string& path : {BundleIndexPath(Path("m")), BundleDataPath(Path("m"), 0, 1)}) {
    const std::string good = *ReadFile(fs_, path);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      WriteAt(path, bad);
      const Result<Audit> audit = AuditCheckpoint(fs_, Path("m"));
      ASSERT_TRUE(audit.ok()) << audit.status().ToString();
      // The footer's padding says nothing.
      const bool is_padding = path.ends_with(".index") && good[i] == 0 &&
                              i >= good.size() - kTableFooterBytes && i < good.size() - 8;
      if (is_padding) continue;
      ASSERT_GT(audit->num_damages, 0u) << path << " byte " << i;
      EXPECT_EQ(audit->damages[0].file, path);
    }
    WriteAt(path, good);
  }
}

// As an iterator's state is saved.
TEST_F(CheckpointAuditTest, VariantsAreCheckedElementByElement) {
  Tensor two = *Tensor::AllocateHost(DType::kVariant, Shape{2});
  for (const std::string_view bytes : {"\x0a\x01t", "\x0a\x01t\x12\x02me"}) {
    two.mutable_data<Variant>()[bytes.size() > 3] =
        Variant(std::make_shared<const OpaqueVariant>("t", std::string(bytes)));
  }
  auto writer = *BundleWriter::Create(fs_, Path("m"));
  ASSERT_TRUE(writer->Add("v", two).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const Audit whole = *AuditCheckpoint(fs_, Path("m"));
  EXPECT_EQ(whole.num_damages, 0u) << AuditJson(whole);
  EXPECT_EQ(whole.checksums, 6u);  // three blocks of the index; two elements, the whole
  const std::string path = BundleDataPath(Path("m"), 0, 1), good = *ReadFile(fs_, path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    WriteAt(path, bad);
    const Audit audit = *AuditCheckpoint(fs_, Path("m"));
    ASSERT_EQ(audit.num_damages, 1u) << i << AuditJson(audit);
    EXPECT_THAT(audit.damages[0].what, HasSubstr("tensor 'v'"));
  }
  std::string bad = good;
  bad.back() ^= 1;
  WriteAt(path, bad);
  const Audit audit = *AuditCheckpoint(fs_, Path("m"));
  EXPECT_EQ(audit.damages[0].what, "the checksum of element 1 of tensor 'v'");
  EXPECT_EQ(audit.damages[0].offset, 8u);
}

// Nor where an empty tensor stands between the two.
TEST_F(CheckpointAuditTest, NoByteIsOfTwoTensors) {
  WriteSmall();
  const std::string data = *ReadFile(fs_, BundleDataPath(Path("m"), 0, 1));
  WriteRows({{"a", Entry(DType::kFloat, 0, 4, data.substr(0, 16))},
             {"b", Entry(DType::kFloat, 4, 0, "")},
             {"c", Entry(DType::kFloat, 8, 2, data.substr(8, 8))}});
  const Audit audit = *AuditCheckpoint(fs_, Path("m"));
  ASSERT_EQ(audit.num_damages, 1u) << AuditJson(audit);
  EXPECT_EQ(audit.damages[0].what, "tensor 'c' lies over the tensor before it");
}

// Four numbers twice where two pieces of four should be, and a piece of another type.
TEST_F(CheckpointAuditTest, PiecesMakeUpTheirTensor) {
  WriteSmall();
  const std::string data = BundleDataPath(Path("m"), 0, 1);
  WriteAt(data, std::string(32, '\0'));
  const std::string half(16, '\0');
  const TensorSlice head{{{0, 4}}}, middle{{{2, 4}}}, tail{{{4, 4}}};
  const auto audit = [&](const TensorSlice& second, DType dtype) {
    WriteRows({{"w", Entry(DType::kFloat, 0, 8, "", {head, second})},
               {SliceKey("w", head), Entry(DType::kFloat, 0, 4, half)},
               {SliceKey("w", second), Entry(dtype, 16, 4, half)}});
    return *AuditCheckpoint(fs_, Path("m"));
  };
  const Audit whole = audit(tail, DType::kFloat);
  EXPECT_EQ(whole.num_damages, 0u) << AuditJson(whole);
  const Audit overlap = audit(middle, DType::kFloat);
  ASSERT_EQ(overlap.num_damages, 1u) << AuditJson(overlap);
  EXPECT_THAT(overlap.damages[0].what, HasSubstr("slices of tensor 'w' overlap"));
  const Audit other = audit(tail, DType::kInt32);
  ASSERT_EQ(other.num_damages, 1u) << AuditJson(other);
  EXPECT_THAT(other.damages[0].what, HasSubstr("its slice '4,4' of type int32"));
}

// As where a partitioned variable is saved without one of its parts.
TEST_F(CheckpointAuditTest, WhatIsMissingOfATensorInPartIsNamed) {
  WriteSmall();
  WriteAt(BundleDataPath(Path("m"), 0, 1), std::string(16, '\0'));
  const TensorSlice middle{{{2, 4}}};
  WriteRows({{"w", Entry(DType::kFloat, 0, 8, "", {middle})},
             {SliceKey("w", middle), Entry(DType::kFloat, 0, 4, std::string(16, '\0'))}});
  const Audit audit = *AuditCheckpoint(fs_, Path("m"));
  ASSERT_EQ(audit.num_damages, 1u) << AuditJson(audit);
  EXPECT_EQ(audit.damages[0].what,
            "tensor 'w' of shape [8] was saved in part: '0,2', '6,2' are in no slice");
}

TEST_F(CheckpointAuditTest, WhatIsMissingOfATensorInPartIsNamedInFormatV1Too) {
  auto writer = *SliceFileWriter::Create(fs_, Path("old"));
  const TensorSlice head{{{0, 2}, {}}};
  ASSERT_TRUE(
      writer
          ->AddSlice("w", Shape{6, 2}, head, Tensor::Of<float>(std::vector<float>(4), Shape{2, 2}))
          .ok());
  ASSERT_TRUE(writer->Finish().ok());
  const Audit audit = *AuditCheckpoint(fs_, Path("old"));
  ASSERT_EQ(audit.num_damages, 1u) << AuditJson(audit);
  EXPECT_EQ(audit.damages[0].what,
            "tensor 'w' of shape [6,2] was saved in part: '2,4:-' is in no slice");
}

TEST_F(CheckpointAuditTest, StringLengthsAddUpToTheBytes) {
  WriteSmall();
  const std::string path = BundleDataPath(Path("m"), 0, 1);
  for (const uint32_t last : {2u, 3u, 4u}) {
    std::string lengths, stored = {'\2', static_cast<char>(last)};
    for (const uint32_t length : {2u, last}) AppendFixed32(lengths, length);
    AppendFixed32(stored, MaskCrc32c(Crc32c(lengths)));
    stored += "abcde";
    WriteAt(path, stored);
    // The checksum counts the lengths as fixed integers.
    const std::string counted = lengths + stored.substr(2);
    OwnedMessage message(pb::BundleEntryProto::Descriptor());
    ASSERT_TRUE(MergeFromBytes(*message, Entry(DType::kString, 0, 2, counted)).ok());
    message->SetInt(pb::BundleEntryProto::kSize, static_cast<int64_t>(stored.size()));
    WriteRows({{"s", *Serialize(*message)}});
    const Audit audit = *AuditCheckpoint(fs_, Path("m"));
    EXPECT_EQ(audit.num_damages, last == 3 ? 0u : 1u) << AuditJson(audit);
  }
}

TEST_F(CheckpointAuditTest, DamageSaysWhatWasExpectedAndFound) {
  WriteSmall();
  const std::string data = BundleDataPath(Path("m"), 0, 1);
  std::string bytes = *ReadFile(fs_, data);
  bytes[bytes.size() - 1] ^= 1;  // of w, the last
  WriteAt(data, bytes);
  const Audit audit = *AuditCheckpoint(fs_, Path("m"));
  ASSERT_EQ(audit.num_damages, 1u);
  const Damage& damage = audit.damages[0];
  EXPECT_EQ(damage.file, data);
  EXPECT_EQ(damage.offset, bytes.size() - 12);
  EXPECT_EQ(damage.what, "the checksum of tensor 'w'");
  EXPECT_THAT(damage.expected, HasSubstr("crc32c "));
  EXPECT_NE(damage.expected, damage.found);
  EXPECT_THAT(AuditJson(audit),
              HasSubstr("\"offset\": 12, \"what\": \"the checksum of tensor 'w'\""));
}

TEST_F(CheckpointAuditTest, AllDamageIsListed) {
  WriteSmall();
  const std::string data = BundleDataPath(Path("m"), 0, 1);
  std::string bytes = *ReadFile(fs_, data);
  bytes[8] ^= 1;  // of s, behind its lengths and their checksum
  bytes.resize(bytes.size() - 4);
  WriteAt(data, bytes);
  const Audit audit = *AuditCheckpoint(fs_, Path("m"));
  ASSERT_EQ(audit.num_damages, 2u) << AuditJson(audit);
  EXPECT_EQ(audit.damages[0].what, "the checksum of tensor 's'");
  EXPECT_EQ(audit.damages[1].what, "tensor 'w' lies beyond the end of the file");
  EXPECT_EQ(audit.damages[1].found, "20 bytes");
}

TEST_F(CheckpointAuditTest, MissingFilesAreNamed) {
  WriteSmall();
  ASSERT_TRUE(fs_.RemoveFile(BundleDataPath(Path("m"), 0, 1)).ok());
  const Audit audit = *AuditCheckpoint(fs_, Path("m"));
  ASSERT_EQ(audit.num_damages, 1u);
  EXPECT_EQ(audit.damages[0].file, BundleDataPath(Path("m"), 0, 1));
  EXPECT_EQ(AuditCheckpoint(fs_, Path("none")).status().code(), Code::kNotFound);
}

TEST_F(CheckpointAuditTest, OldFormatsDamageIsFound) {
  const std::string good = *ReadFile(fs_, Golden("1.15/v1/model.ckpt"));
  std::string bad = good;
  bad[40] ^= 1;
  WriteAt(Path("v1.ckpt"), bad);
  const Audit audit = *AuditCheckpoint(fs_, Path("v1.ckpt"));
  ASSERT_EQ(audit.num_damages, 1u);
  EXPECT_EQ(audit.damages[0].what, "the checksum of block 0");
  EXPECT_EQ(audit.damages[0].offset, 0u);
  WriteAt(Path("v1.ckpt"), good.substr(0, 100));
  EXPECT_GT(AuditCheckpoint(fs_, Path("v1.ckpt"))->num_damages, 0u);
}

TEST_F(CheckpointAuditTest, StopsWhenItIsTold) {
  WriteSmall();
  const Result<Audit> audit =
      AuditCheckpoint(fs_, Path("m"), [](uint64_t, uint64_t) { return Cancelled("enough"); });
  EXPECT_EQ(audit.status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace thalweg
