// SPDX-License-Identifier: Apache-2.0
// What is read of a checkpoint, of either format and of either release, is what was written, or an
// error: every bit is flipped once.
#include "thalweg/io/checkpoint_reader.h"

#include <gtest/gtest.h>

#include <map>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/test_memory_files.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// Name -> value, type and shape, as bytes.
using Values = std::map<std::string, std::string>;

// The files of the disk, but for one that is read from memory.
class OneDamagedFile : public PosixFileSystem {
 public:
  Result<std::unique_ptr<RandomAccessFile>> OpenForReading(const std::string& path) override {
    if (path != damaged_path) return PosixFileSystem::OpenForReading(path);
    return std::unique_ptr<RandomAccessFile>(new MemoryFile(damaged));
  }

  std::string damaged_path, damaged;
};

class CheckpointReaderTest : public testing::Test {
 protected:
  static std::string Golden(const std::string& release, const std::string& name) {
    return StrCat(THALWEG_GOLDEN_DIR, "/checkpoints/", release, "/", name);
  }
  Result<Values> ReadAll(const std::string& prefix) {
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(fs_, prefix));
    Values values;
    for (const CheckpointReader::Entry& entry : reader->tensors()) {
      EXPECT_EQ(reader->Find(entry.name), &entry);
      ASSIGN_OR_RETURN(const Tensor value, reader->Read(entry.name, *allocator_));
      EXPECT_EQ(value.dtype(), entry.dtype);
      EXPECT_EQ(value.shape(), entry.shape);
      OwnedMessage proto(pb::TensorProto::Descriptor());
      RETURN_IF_ERROR(TensorToProto(value, &*proto));
      ASSIGN_OR_RETURN(values[entry.name], Serialize(*proto));
    }
    return values;
  }
  // How many flipped bits of the files of a checkpoint made no difference.
  int FlipEveryBit(const std::string& prefix, const std::vector<std::string>& suffixes) {
    const Result<Values> right = ReadAll(prefix);
    EXPECT_TRUE(right.ok()) << right.status().ToString();
    int harmless = 0;
    for (const std::string& suffix : suffixes) {
      const std::string bytes = *ReadFile(fs_, prefix + suffix);
      fs_.damaged_path = prefix + suffix;
      fs_.damaged = bytes;
      for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        fs_.damaged[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        const Result<Values> found = ReadAll(prefix);
        fs_.damaged[bit / 8] = bytes[bit / 8];
        if (!found.ok()) continue;
        EXPECT_EQ(*found, *right) << suffix << ", bit " << bit;
        ++harmless;
      }
    }
    fs_.damaged_path.clear();
    return harmless;
  }

  OneDamagedFile fs_;
  AllocatorPtr allocator_ = MakeCpuAllocator();
  TemporaryDirectory directory_;
};

// The footer of a table has 40 bytes for two short handles: most of them mean nothing.
constexpr int kPaddingBits = 40 * 8;

TEST_F(CheckpointReaderTest, NoFlippedBitChangesAValueOfFormatV2) {
  for (const std::string release : {"1.15", "2.21"}) {
    const int harmless =
        FlipEveryBit(Golden(release, "partitioned/model-2"), {".index", ".data-00000-of-00001"});
    EXPECT_GT(harmless, 0);
    EXPECT_LE(harmless, kPaddingBits);
  }
}

TEST_F(CheckpointReaderTest, NoFlippedBitChangesAValueOfFormatV1) {
  for (const std::string release : {"1.15", "2.21"}) {
    EXPECT_LE(FlipEveryBit(Golden(release, "v1/model.ckpt"), {""}), kPaddingBits);
  }
}

TEST_F(CheckpointReaderTest, NoFlippedBitChangesAString) {
  auto writer = *BundleWriter::Create(fs_, directory_.Path("text"));
  ASSERT_TRUE(writer->Add("s", Tensor::Vector<std::string>({"one", "", "three"})).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_LE(FlipEveryBit(directory_.Path("text"), {".index", ".data-00000-of-00001"}),
            kPaddingBits);
}

TEST_F(CheckpointReaderTest, AnIndexAloneTellsWhatThereIs) {
  const std::string index = *ReadFile(fs_, Golden("1.15", "partitioned/model-2.index"));
  ASSERT_TRUE(WriteFileAtomically(fs_, directory_.Path("m.index"), index).ok());
  const auto reader = CheckpointReader::Open(fs_, directory_.Path("m"));
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  ASSERT_FALSE((*reader)->tensors().empty());
  const Status status = (*reader)->Read((*reader)->tensors()[0].name, *allocator_).status();
  EXPECT_EQ(status.code(), Code::kNotFound) << status.ToString();
  EXPECT_EQ((*reader)->Find("none of them"), nullptr);
}

TEST_F(CheckpointReaderTest, WhatIsNotThere) {
  const Status status = CheckpointReader::Open(fs_, directory_.Path("none")).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("Failed to find any matching files for"), std::string_view::npos)
      << status.ToString();
}

}  // namespace
}  // namespace thalweg
