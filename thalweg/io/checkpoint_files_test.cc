// SPDX-License-Identifier: Apache-2.0
// What stands in a directory when a process ends at any moment of a save or a removal (users G1).
#include "thalweg/io/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "thalweg/base/temporary_name.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Does so many changes of the directory, and none after: as if the process had been killed there.
class CutFileSystem : public PosixFileSystem {
 public:
  explicit CutFileSystem(int changes) : left_(changes) {}
  bool was_cut() const { return left_ < 0; }

  Result<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& prefix) override {
    if (IsCut()) return Aborted("cut");
    return PosixFileSystem::CreateTemporary(prefix);
  }
  Status RemoveFile(const std::string& path) override {
    return IsCut() ? Aborted("cut") : PosixFileSystem::RemoveFile(path);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return IsCut() ? Aborted("cut") : PosixFileSystem::Rename(from, to);
  }
  Status Link(const std::string& from, const std::string& to) override {
    return IsCut() ? Aborted("cut") : PosixFileSystem::Link(from, to);
  }
  Result<bool> RemoveAbandoned(const std::string& path,
                               const std::function<Status()>& first) override {
    if (left_ <= 0) return false;
    return PosixFileSystem::RemoveAbandoned(path, first);
  }

 private:
  bool IsCut() {
    if (left_ >= 0) --left_;
    return left_ < 0;
  }
  int left_;
};

class CheckpointFilesTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  std::vector<std::string> Names() { return *fs_.List(directory_.path()); }
  static Status Save(FileSystem& fs, const std::string& prefix, float value) {
    ASSIGN_OR_RETURN(const auto writer, BundleWriter::Create(fs, prefix));
    RETURN_IF_ERROR(writer->Add("v", Tensor::Vector<float>({value, value})));
    return writer->Finish();
  }
  Status SaveParts(FileSystem& fs, const std::string& prefix, float value) {
    RETURN_IF_ERROR(Save(fs, Path("part0"), value));
    ASSIGN_OR_RETURN(const auto writer, BundleWriter::Create(fs, Path("part1")));
    RETURN_IF_ERROR(writer->Add("w", Tensor::Scalar(value)));
    RETURN_IF_ERROR(writer->Finish());
    return MergeBundles(fs, {Path("part0"), Path("part1")}, prefix);
  }
  // 0: there is no checkpoint of this name.
  float Load(const std::string& prefix, const std::string& name = "v") {
    const auto reader = BundleReader::Open(fs_, prefix);
    if (!reader.ok()) {
      EXPECT_EQ(reader.status().code(), Code::kNotFound) << reader.status().ToString();
      return 0;
    }
    const Result<Tensor> value = (*reader)->Read(name, *allocator_);
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return value.ok() ? value->data<float>()[0] : -1;
  }

  PosixFileSystem fs_;
  AllocatorPtr allocator_ = MakeCpuAllocator();
  TemporaryDirectory directory_;
};

constexpr int kMostChanges = 100;

TEST_F(CheckpointFilesTest, ASaveThatIsCutShortLeavesTheOldOneOrTheNew) {
  int cuts = 0, olds = 0;
  for (int changes = 0; changes < kMostChanges; ++changes) {
    ASSERT_TRUE(Save(fs_, Path("m"), 1).ok());
    CutFileSystem cut(changes);
    const Status status = Save(cut, Path("m"), 2);
    const float found = Load(Path("m"));
    EXPECT_TRUE(found == 1 || found == 2) << changes;
    EXPECT_TRUE(found == 2 || !status.ok()) << changes;
    olds += found == 1 ? 1 : 0;
    ASSERT_TRUE(Save(fs_, Path("m"), 3).ok()) << changes;
    EXPECT_EQ(Load(Path("m")), 3);
    EXPECT_THAT(Names(), ElementsAre("m.data-00000-of-00001", "m.index")) << changes;
    if (!cut.was_cut()) break;
    ++cuts;
  }
  EXPECT_GT(olds, 2);
  EXPECT_GT(cuts, olds + 2) << "the new one was never there when the save was cut";
}

TEST_F(CheckpointFilesTest, ASaveThatIsCutShortLeavesNothingToTheNext) {
  int cuts = 0, unfinished = 0;
  for (int changes = 0; changes < kMostChanges; ++changes) {
    CutFileSystem cut(changes);
    const bool done = Save(cut, Path("m-1"), 1).ok();
    const std::vector<std::string> left = Names();
    unfinished += done || left.empty() ? 0 : 1;
    ASSERT_TRUE(Save(fs_, Path("m-2"), 2).ok());  // of another name
    const size_t expected = Load(Path("m-1")) == 0 ? 2 : 4;
    EXPECT_THAT(Names(), SizeIs(expected)) << changes << ", of " << testing::PrintToString(left);
    for (const std::string& name : Names()) ASSERT_TRUE(fs_.RemoveFile(Path(name)).ok());
    if (!cut.was_cut()) break;
    ++cuts;
  }
  EXPECT_EQ(cuts, 4);  // two temporaries are made, and get their names
  EXPECT_EQ(unfinished, 3);
}

TEST_F(CheckpointFilesTest, AMergeThatIsCutShortLeavesTheOldOneOrTheNew) {
  int cuts = 0;
  for (int changes = 0; changes < kMostChanges; ++changes) {
    ASSERT_TRUE(SaveParts(fs_, Path("m"), 1).ok());
    CutFileSystem cut(changes);
    SaveParts(cut, Path("m"), 2).IgnoreError();
    const float found = Load(Path("m"));
    EXPECT_TRUE(found == 1 || found == 2) << changes;
    EXPECT_EQ(Load(Path("m"), "w"), found) << changes;
    if (!cut.was_cut()) break;
    ++cuts;
  }
  EXPECT_GT(cuts, 10);
}

// Refuses one renaming, and goes on.
class OnceFullFileSystem : public PosixFileSystem {
 public:
  explicit OnceFullFileSystem(int renamed) : left_(renamed) {}
  bool has_refused() const { return left_ < 0; }
  Status Rename(const std::string& from, const std::string& to) override {
    return left_-- == 0 ? ResourceExhausted("full") : PosixFileSystem::Rename(from, to);
  }

 private:
  int left_;
};

TEST_F(CheckpointFilesTest, AMergeThatFailsLeavesItsParts) {
  int refused = 0;
  for (int renamed = 0; renamed < kMostChanges; ++renamed) {
    ASSERT_TRUE(Save(fs_, Path("part0"), 1).ok());
    OnceFullFileSystem full(renamed);
    const auto writer = *BundleWriter::Create(fs_, Path("part2"));
    ASSERT_TRUE(writer->Add("w", Tensor::Scalar(3.0f)).ok() && writer->Finish().ok());
    const Status merged = MergeBundles(full, {Path("part0"), Path("part2")}, Path("m"));
    if (!full.has_refused()) break;
    ++refused;
    if (merged.ok()) continue;  // what failed came behind the new one's place
    EXPECT_EQ(merged.code(), Code::kResourceExhausted);
    EXPECT_EQ(Load(Path("part0")), 1) << renamed;
    ASSERT_TRUE(MergeBundles(fs_, {Path("part0"), Path("part2")}, Path("m")).ok()) << renamed;
    EXPECT_EQ(Load(Path("m")), 1);
    EXPECT_EQ(Load(Path("m"), "w"), 3);
  }
  EXPECT_GE(refused, 3);  // two data files and the index
}

TEST_F(CheckpointFilesTest, ARemovalThatIsCutShortIsEndedByTheNextSave) {
  int cuts = 0;
  for (int changes = 0; changes < kMostChanges; ++changes) {
    ASSERT_TRUE(SaveParts(fs_, Path("m-1"), 1).ok());
    ASSERT_TRUE(WriteFileAtomically(fs_, Path("m-1.meta"), "graph").ok());
    CutFileSystem cut(changes);
    const Status status = RemoveCheckpoint(cut, Path("m-1"), CheckpointFormat::kV2);
    EXPECT_EQ(status.ok(), !cut.was_cut());
    EXPECT_EQ(Load(Path("m-1")), changes == 0 ? 1 : 0) << changes;
    ASSERT_TRUE(Save(fs_, Path("m-2"), 2).ok());
    if (changes > 0) {
      EXPECT_THAT(Names(), ElementsAre("m-2.data-00000-of-00001", "m-2.index")) << changes;
    }
    if (!cut.was_cut()) break;
    ++cuts;
  }
  EXPECT_EQ(cuts, 5);  // the index, the MetaGraph, two data files, the index for good
}

TEST_F(CheckpointFilesTest, ASaveUnderANameThatIsBeingRemovedIsNotTouched) {
  ASSERT_TRUE(Save(fs_, Path("m"), 1).ok());
  CutFileSystem cut(1);
  EXPECT_FALSE(RemoveCheckpoint(cut, Path("m"), CheckpointFormat::kV2).ok());
  ASSERT_TRUE(fs_.RemoveFile(Path("m.data-00000-of-00001")).ok());
  auto data = *fs_.OpenForWriting(Path("m.data-00000-of-00001"));  // of a save that goes on
  ASSERT_TRUE(data->Append("new").ok() && data->Close().ok());
  // Written later, also where the clock of files has not moved since the index was.
  const std::filesystem::path written(Path("m.data-00000-of-00001"));
  std::filesystem::last_write_time(
      written, std::filesystem::last_write_time(written) + std::chrono::seconds(1));
  SweepLeftovers(fs_, directory_.path());
  EXPECT_THAT(Names(), ElementsAre("m.data-00000-of-00001"));
}

TEST_F(CheckpointFilesTest, OnlyWhatNobodyUsesIsSwept) {
  auto live = *fs_.CreateTemporary(Path("live.tempstate"));
  auto dead = *fs_.CreateTemporary(Path("dead.tempstate"));
  ASSERT_TRUE(dead->Close().ok());
  // What another machine left, whose locks are perhaps not seen here, goes when it is a day old.
  const std::string foreign = Path("m.tempstate.00000000-0123456789ab");
  ASSERT_TRUE((*fs_.OpenForWriting(foreign))->Close().ok());
  ASSERT_TRUE((*fs_.OpenForWriting(Path("m.tempstate-notes")))->Close().ok());
  SweepLeftovers(fs_, directory_.path());
  EXPECT_TRUE(*FileExists(fs_, live->path()));
  EXPECT_FALSE(*FileExists(fs_, dead->path()));
  EXPECT_TRUE(*FileExists(fs_, foreign));
  EXPECT_TRUE(*FileExists(fs_, Path("m.tempstate-notes")));
  ASSERT_TRUE(fs_.Rename(live->path(), Path("named")).ok());  // the live one goes on
}

TEST_F(CheckpointFilesTest, WritersOfOneDirectoryLeaveEachOtherAlone) {
  auto first = *BundleWriter::Create(fs_, Path("a"));
  ASSERT_TRUE(first->Add("v", Tensor::Scalar(1.0f)).ok());
  auto second = *BundleWriter::Create(fs_, Path("b"));  // sweeps
  ASSERT_TRUE(second->Add("v", Tensor::Scalar(2.0f)).ok());
  ASSERT_TRUE(first->Finish().ok());
  ASSERT_TRUE(second->Finish().ok());
  EXPECT_EQ(Load(Path("a")), 1);
  EXPECT_EQ(Load(Path("b")), 2);
  EXPECT_THAT(Names(), SizeIs(4));
}

// Takes the directory away before the first rename.
class VanishingDirectory : public PosixFileSystem {
 public:
  explicit VanishingDirectory(std::string directory) : directory_(std::move(directory)) {}
  Status Rename(const std::string& from, const std::string& to) override {
    const Result<std::vector<std::string>> names = List(directory_);
    if (names.ok()) {
      for (const std::string& name : *names) RemoveFile(directory_ + "/" + name).IgnoreError();
      RemoveDirectory(directory_).IgnoreError();
    }
    return PosixFileSystem::Rename(from, to);
  }

 private:
  const std::string directory_;
};

TEST_F(CheckpointFilesTest, ADirectoryThatVanishesIsAnErrorThatNamesIt) {
  VanishingDirectory fs(Path("d"));
  const Status status = Save(fs, Path("d/m"), 1);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.ToString(), testing::HasSubstr(Path("d/m.data-00000-of-00001")));
  EXPECT_TRUE(Save(fs_, Path("d/m"), 2).ok());  // which makes it again
  EXPECT_EQ(Load(Path("d/m")), 2);
}

TEST_F(CheckpointFilesTest, NamesThatOnlyBeginAlikeStay) {
  ASSERT_TRUE(Save(fs_, Path("m-1"), 1).ok());
  ASSERT_TRUE(Save(fs_, Path("m-11"), 11).ok());
  ASSERT_TRUE(Save(fs_, Path("m-1.data-x"), 3).ok());
  ASSERT_TRUE(RemoveCheckpoint(fs_, Path("m-1"), CheckpointFormat::kV2).ok());
  EXPECT_EQ(Load(Path("m-11")), 11);
  EXPECT_EQ(Load(Path("m-1.data-x")), 3);
  EXPECT_TRUE(RemoveCheckpoint(fs_, Path("never"), CheckpointFormat::kV2).ok());
}

TEST(TemporaryNameTest, IsRecognizedAndNothingElseIs) {
  const std::string made = MakeTemporaryName("/a/m.tempstate");
  EXPECT_TRUE(ParseTemporaryName(made).is_temporary);
  EXPECT_EQ(ParseTemporaryName(made).prefix, "/a/m.tempstate");
  EXPECT_NE(made, MakeTemporaryName("/a/m.tempstate"));
  for (const char* other : {"", "m", "m.index", "m.0123456789ab-0123456789ab",
                            "m.01234567-0123456789a.", "m-01234567-0123456789ab"}) {
    EXPECT_FALSE(ParseTemporaryName(other).is_temporary) << other;
  }
}

}  // namespace
}  // namespace thalweg
