// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_source.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "thalweg/io/record_framing.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class RecordSourceTest : public testing::Test {
 protected:
  RecordSourceTest()
      : fs_([this](const std::string& path) { return std::string_view(files_[path]); }) {}
  // "key=value" of each record; the error as the last one.
  std::vector<std::string> All(RecordSource& source, const std::string& work) {
    std::vector<std::string> all;
    Status status = source.Begin(work);
    while (status.ok()) {
      const auto record = source.Next([this](uint64_t bytes) -> Status {
        if (bytes <= room_) return OkStatus();
        return ResourceExhausted("no room for ", bytes, " bytes");
      });
      status = record.status();
      if (!status.ok()) break;
      if (!*record) return all;
      all.push_back(StrCat(source.Key(), "=", **record));
      if (source.is_one_record()) return all;
    }
    all.push_back(std::string(status.message()));
    return all;
  }

  std::map<std::string, std::string> files_;
  MemoryFileSystem fs_;
  uint64_t room_ = uint64_t{1} << 40;
};

TEST_F(RecordSourceTest, Lines) {
  files_["f"] = "h1\na\r\n\nc";
  files_["empty"] = "";
  EXPECT_THAT(All(*MakeLineSource(fs_, {}), "f"), ElementsAre("f:1=h1", "f:2=a", "f:3=", "f:4=c"));
  EXPECT_THAT(All(*MakeLineSource(fs_, {.skip_lines = 3}), "f"), ElementsAre("f:4=c"));
  EXPECT_THAT(All(*MakeLineSource(fs_, {.skip_lines = 9}), "f"), ElementsAre());
  EXPECT_THAT(All(*MakeLineSource(fs_, {}), "empty"), ElementsAre());
}

TEST_F(RecordSourceTest, LinesAcrossReads) {
  for (int i = 0; i < 30000; ++i) files_["f"] += StrCat("line ", i, "\n");
  files_["f"] += std::string(200000, 'x');
  const auto all = All(*MakeLineSource(fs_, {}), "f");
  ASSERT_EQ(all.size(), 30001u);
  for (int i = 0; i < 30000; ++i)
    ASSERT_EQ(all[static_cast<size_t>(i)], StrCat("f:", i + 1, "=line ", i));
  EXPECT_EQ(all.back().size(), 8 + 200000u);
  room_ = 100000;
  EXPECT_THAT(
      All(*MakeLineSource(fs_, {}), "f").back(),
      StartsWith(StrCat("f: line at byte ", files_["f"].size() - 200000, ": no room for ")));
}

TEST_F(RecordSourceTest, PiecesOfOneLength) {
  files_["f"] = "HHaaabbbcccdF";
  EXPECT_THAT(All(*MakePieceSource(fs_, {2, 3, 1, 0}), "f"),
              ElementsAre("f:0=aaa", "f:1=bbb", "f:2=ccc"));
  EXPECT_THAT(All(*MakePieceSource(fs_, {0, 4, 0, 2}), "f"),
              ElementsAre("f:0=HHaa", "f:1=aaab", "f:2=abbb", "f:3=bbcc", "f:4=cccd"));
  EXPECT_THAT(All(*MakePieceSource(fs_, {0, 2, 0, 6}), "f"), ElementsAre("f:0=HH", "f:1=bb"));
  EXPECT_THAT(All(*MakePieceSource(fs_, {0, 3, 100, 0}), "f"), ElementsAre());
  EXPECT_THAT(All(*MakePieceSource(fs_, {0, 2, 0, INT64_MAX}), "f"), ElementsAre("f:0=HH"));
  EXPECT_THAT(All(*MakePieceSource(fs_, {10, 3, 1, 0}), "f"), ElementsAre());
  EXPECT_THAT(All(*MakePieceSource(fs_, {9, 3, 1, 0}), "f"), ElementsAre("f:0=ccd"));
  files_["z"] = std::string(
      "\x78\x9c\xf3\xf0\x48\x4c\x4c\x4c\x4a\x4a\x4a\x4e\x4e\x4e\x71\x03\x00\x20\x2f\x04\xad", 21);
  EXPECT_THAT(All(*MakePieceSource(fs_, {2, 3, 1, 4, Compression::kZlib}), "z"),
              ElementsAre("z:0=aaa", "z:1=bbc"));
  EXPECT_THAT(All(*MakePieceSource(fs_, {99, 3, 0, 0}), "f"),
              ElementsAre("f: expected a header of 99 bytes, the file has 13"));
}

TEST_F(RecordSourceTest, RecordFiles) {
  const std::string one = FrameRecord("one"), none = FrameRecord("");
  files_["f"] = one + none + FrameRecord("three");
  EXPECT_THAT(All(*MakeRecordFileSource(fs_), "f"), ElementsAre("f:0=one", "f:19=", "f:35=three"));
  files_["cut"] = (one + one).substr(0, 36);
  EXPECT_THAT(All(*MakeRecordFileSource(fs_), "cut"),
              ElementsAre("cut:0=one", "truncated record at 19 of cut: 3 bytes, the file has 5"));
  room_ = 2;
  EXPECT_THAT(All(*MakeRecordFileSource(fs_), "f"),
              ElementsAre("f: record at 0: no room for 3 bytes"));
}

TEST_F(RecordSourceTest, AnErrorComesAgainAndNothingIsSkipped) {
  files_["f"] = FrameRecord("one") + FrameRecord("two");
  files_["f"][19 + 13] ^= 1;
  const auto source = MakeRecordFileSource(fs_);
  const auto any = [](uint64_t) { return OkStatus(); };
  ASSERT_TRUE(source->Begin("f").ok());
  EXPECT_EQ(**source->Next(any), "one");
  const Status first = source->Next(any).status();
  EXPECT_EQ(first.code(), Code::kDataLoss);
  EXPECT_EQ(source->Next(any).status().message(), first.message());
}

TEST_F(RecordSourceTest, WholeFilesAndNames) {
  files_["f"] = "text";
  EXPECT_THAT(All(*MakeWholeFileSource(fs_), "f"), ElementsAre("f=text"));
  EXPECT_THAT(All(*MakeIdentitySource(), "f"), ElementsAre("f=f"));
}

}  // namespace
}  // namespace thalweg
