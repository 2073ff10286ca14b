// SPDX-License-Identifier: Apache-2.0
// Shuffled and split record files: nothing is lost, nothing is left over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/files/record_files.h"
#include "thalweg/files/record_shuffle.h"
#include "thalweg/files/record_split.h"
#include "thalweg/io/checkpoint_files.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RecordRewriteTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  std::string Write(const std::string& name, const std::vector<std::string>& records) {
    std::string bytes;
    for (const std::string& record : records) bytes += FrameRecord(record);
    EXPECT_TRUE(WriteFileAtomically(fs_, Path(name), bytes).ok());
    return Path(name);
  }
  std::vector<std::string> Read(const std::vector<std::string>& paths) {
    std::vector<std::string> records;
    RecordFiles files(fs_, paths);
    while (true) {
      const auto record = files.Next();
      EXPECT_TRUE(record.ok()) << record.status().ToString();
      if (!record.ok() || !*record) return records;
      records.emplace_back(**record);
    }
  }
  static std::vector<std::string> Numbers(int n, size_t bytes = 1) {
    std::vector<std::string> records;
    for (int i = 0; i < n; ++i) records.push_back(std::to_string(i) + std::string(bytes, '.'));
    return records;
  }
  std::vector<std::string> Names() { return *fs_.List(directory_.path()); }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(RecordRewriteTest, TheSameOrderWhateverTheMemory) {
  const std::vector<std::string> records = Numbers(6000, 1000);  // 6 MB
  const std::string input = Write("in", records);
  const RecordShuffleResult once = *ShuffleRecords(fs_, {input}, Path("once"), {.seed = 3});
  EXPECT_EQ(once.spilled, 0u);
  EXPECT_EQ(once.records, 6000u);
  const RecordShuffleResult spilled =
      *ShuffleRecords(fs_, {input}, Path("spilled"), {.seed = 3, .memory = 1 << 20});
  EXPECT_GT(spilled.spilled, 6'000'000u);
  EXPECT_EQ(*ReadFile(fs_, Path("once")), *ReadFile(fs_, Path("spilled")));
  std::vector<std::string> shuffled = Read({Path("once")});
  EXPECT_NE(shuffled, records);
  const RecordShuffleResult other = *ShuffleRecords(fs_, {input}, Path("other"), {.seed = 4});
  EXPECT_NE(Read(other.files), shuffled);
  std::vector<std::string> sorted = records;
  std::ranges::sort(sorted);
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, sorted);
  EXPECT_THAT(Names(), ElementsAre("in", "once", "other", "spilled"));
}

// Files of unknown size, and more than one level of temporary files.
TEST_F(RecordRewriteTest, SpillsAgainWhatStillDoesNotFit) {
  std::vector<std::string> records = Numbers(40, 300'000);  // 12 MB, three at a time
  const RecordShuffleResult result = *ShuffleRecords(fs_, {Write("in", records)}, Path("out"),
                                                     {.seed = 1, .memory = 1 << 20, .shards = 3});
  EXPECT_GT(result.spilled, 24'000'000u);
  EXPECT_THAT(result.files, SizeIs(3));
  std::vector<std::string> shuffled = Read(result.files);
  EXPECT_THAT(Read({result.files[0]}), SizeIs(13));
  std::ranges::sort(records);
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, records);
}

TEST_F(RecordRewriteTest, EveryOrderHasTheSameChance) {
  const std::string input = Write("in", {"a", "b", "c"});
  std::map<std::string, int> orders;
  constexpr uint64_t kRuns = 600;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    ASSERT_TRUE(
        ShuffleRecords(fs_, {input}, Path("out"), {.seed = seed, .may_replace = true}).ok());
    std::string order;
    for (const std::string& record : Read({Path("out")})) order += record;
    ++orders[order];
  }
  EXPECT_THAT(orders, SizeIs(6));
  for (const auto& [order, n] : orders) EXPECT_NEAR(n, 100, 45) << order;  // five deviations
}

TEST_F(RecordRewriteTest, NothingIsReplacedOrLeftBehind) {
  const std::string input = Write("in", Numbers(3000, 1000));
  const std::string there = Write("out", {"precious"});
  EXPECT_EQ(ShuffleRecords(fs_, {input}, there, {}).status().code(), Code::kAlreadyExists);
  EXPECT_THAT(Read({there}), ElementsAre("precious"));
  int calls = 0;
  const RecordShuffleOptions stopped{
      .memory = 1 << 20, .may_replace = true, .progress = [&](uint64_t, uint64_t) {
        return ++calls < 5 ? OkStatus() : Cancelled("enough");
      }};
  EXPECT_EQ(ShuffleRecords(fs_, {input}, there, stopped).status().code(), Code::kCancelled);
  std::string damaged = *ReadFile(fs_, input);
  damaged[damaged.size() - 100] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("damaged"), damaged).ok());
  for (const char* broken : {"damaged", "missing"}) {
    EXPECT_FALSE(
        ShuffleRecords(fs_, {Path(broken)}, there, {.memory = 1 << 20, .may_replace = true}).ok());
    EXPECT_FALSE(SplitRecords(fs_, {Path(broken)}, there, {.records = 100}).ok());
  }
  EXPECT_THAT(Names(), ElementsAre("damaged", "in", "out"));
  EXPECT_THAT(Read({there}), ElementsAre("precious"));
}

// A checkpoint that is saved in the same folder takes away what others left there.
TEST_F(RecordRewriteTest, NothingIsSweptAwayMeanwhile) {
  const std::vector<std::string> records = Numbers(6000, 1000);
  const std::string input = Write("in", records);
  int sweeps = 0;
  const ProgressFn sweep = [&](uint64_t, uint64_t) {
    ++sweeps;
    SweepLeftovers(fs_, directory_.path());
    return OkStatus();
  };
  const RecordShuffleResult calm = *ShuffleRecords(fs_, {input}, Path("calm"), {.shards = 3});
  const Result<RecordShuffleResult> swept = ShuffleRecords(
      fs_, {input}, Path("swept"), {.memory = 1 << 20, .shards = 3, .progress = sweep});
  ASSERT_TRUE(swept.ok()) << swept.status().ToString();
  EXPECT_EQ(Read(swept->files), Read(calm.files));
  EXPECT_GT(sweeps, 10);
  const Result<RecordSplitResult> split =
      SplitRecords(fs_, {input}, Path("split"), {.records = 1000, .progress = sweep});
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(Read(split->files), records);
  EXPECT_THAT(Names(), SizeIs(1 + 3 + 3 + 6));
}

// What a process left that was killed is no file of the next one's.
TEST_F(RecordRewriteTest, WhatAKilledProcessLeftIsSweptByTheNext) {
  const std::string input = Write("in", Numbers(6000, 1000));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const ProgressFn dies = [&](uint64_t done, uint64_t) {
      if (done > 10'000'000) ::_exit(0);  // in the third of four files, with others spilled
      return OkStatus();
    };
    (void)ShuffleRecords(fs_, {input}, Path("out"),
                         {.memory = 1 << 20, .shards = 4, .progress = dies});
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::vector<std::string> left = Names();
  EXPECT_TRUE(std::ranges::any_of(left, [](const std::string& name) {
    return name.ends_with(".2");  // one that was full
  })) << ::testing::PrintToString(left);
  ASSERT_TRUE(SplitRecords(fs_, {input}, Path("new"), {.records = 3000}).ok());
  EXPECT_THAT(Names(), ElementsAre("in", "new-00000-of-00002", "new-00001-of-00002"));
}

TEST_F(RecordRewriteTest, NewFilesAreCompressedAsTheOthersAre) {
  const std::vector<std::string> records = Numbers(2000, 1000);
  const std::string plain = Write("in", records), empty = Write("empty", {});
  const std::string zipped =
      SplitRecords(fs_, {plain}, Path("z"), {.shards = 1, .compression = Compression::kGzip})
          ->files.at(0);
  EXPECT_LT(fs_.Stat(zipped)->size, fs_.Stat(plain)->size / 10);
  EXPECT_EQ(Read({zipped}), records);
  // As the input; the temporary files of a shuffle are not.
  const RecordSplitResult split =
      *SplitRecords(fs_, {empty, zipped}, Path("s"), {.bytes = 1'000'000});
  EXPECT_THAT(split.files, SizeIs(3));
  EXPECT_EQ(Read(split.files), records);
  EXPECT_EQ(*RecordFileCompression(fs_, split.files), Compression::kGzip);
  const RecordShuffleResult shuffled =
      *ShuffleRecords(fs_, {zipped}, Path("r"), {.memory = 1 << 20, .shards = 2});
  EXPECT_GT(shuffled.spilled, 1'000'000u);
  EXPECT_EQ(*RecordFileCompression(fs_, shuffled.files), Compression::kGzip);
  EXPECT_EQ(Read(shuffled.files),
            Read(ShuffleRecords(fs_, {plain}, Path("p"), {.shards = 2})->files));
  // Asked for.
  const std::string zlib =
      SplitRecords(fs_, {zipped}, Path("l"), {.shards = 1, .compression = Compression::kZlib})
          ->files.at(0);
  EXPECT_EQ(*RecordFileCompression(fs_, {zlib}), Compression::kZlib);
  EXPECT_EQ(Read({zlib}), records);
  const Status mixed = SplitRecords(fs_, {plain, zipped}, Path("m"), {.shards = 1}).status();
  EXPECT_EQ(mixed.code(), Code::kInvalidArgument);
  EXPECT_THAT(mixed.ToString(), HasSubstr("is compressed otherwise (gzip) than"));
  EXPECT_TRUE(SplitRecords(fs_, {plain, zipped}, Path("m"),
                           {.shards = 1, .compression = Compression::kNone})
                  .ok());
}

TEST_F(RecordRewriteTest, TooManyShardsAreRefused) {
  const std::string input = Write("in", Numbers(3));
  constexpr uint64_t kMany = 100'000'000;
  const Status shuffled = ShuffleRecords(fs_, {input}, Path("out"), {.shards = kMany}).status();
  EXPECT_EQ(shuffled.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(shuffled.message()), HasSubstr("at most 99999 files, not 100000000"));
  EXPECT_EQ(ShuffleRecords(fs_, {input}, Path("out"), {.shards = kMany, .may_replace = true})
                .status()
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(SplitRecords(fs_, {input}, Path("out"), {.shards = kMany}).status().code(),
            Code::kInvalidArgument);
  EXPECT_THAT(Names(), ElementsAre("in"));
}

TEST_F(RecordRewriteTest, WhatDoesNotFitIsSaid) {
  const std::string input = Write("in", {std::string(2 << 20, 'x')});
  const Status status = ShuffleRecords(fs_, {input}, Path("out"), {.memory = 1 << 20}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a record of 2097152 bytes does not fit"));
  EXPECT_EQ(ShuffleRecords(fs_, {input}, Path("out"), {.memory = 1000}).status().code(),
            Code::kInvalidArgument);
  EXPECT_THAT(Names(), ElementsAre("in"));
}

TEST_F(RecordRewriteTest, SplitsByShardsRecordsAndBytes) {
  const std::string input = Write("in", Numbers(10, 84));  // 101 bytes each as they are stored
  const RecordSplitResult shards = *SplitRecords(fs_, {input}, Path("s"), {.shards = 3});
  EXPECT_THAT(shards.files, ElementsAre(Path("s-00000-of-00003"), Path("s-00001-of-00003"),
                                        Path("s-00002-of-00003")));
  EXPECT_THAT(Read({shards.files[0]}), SizeIs(3));
  EXPECT_THAT(Read({shards.files[2]}), SizeIs(4));
  EXPECT_EQ(Read(shards.files), Numbers(10, 84));
  const RecordSplitResult records = *SplitRecords(fs_, {input}, Path("r"), {.records = 4});
  EXPECT_THAT(records.files, SizeIs(3));
  EXPECT_THAT(Read({records.files[2]}), SizeIs(2));
  const RecordSplitResult bytes = *SplitRecords(fs_, {input}, Path("b"), {.bytes = 250});
  EXPECT_THAT(bytes.files, SizeIs(5));
  EXPECT_EQ(fs_.Stat(bytes.files[0])->size, 202u);
  EXPECT_EQ(Read(bytes.files), Numbers(10, 84));
  EXPECT_THAT(SplitRecords(fs_, {input}, Path("w"), {.bytes = 1})->files, SizeIs(10));
  EXPECT_THAT(SplitRecords(fs_, {input}, Path("m"), {.shards = 20})->files, SizeIs(20));
  EXPECT_EQ(SplitRecords(fs_, {input}, Path("x"), {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SplitRecords(fs_, {input}, Path("s"), {.shards = 3}).status().code(),
            Code::kAlreadyExists);
}

}  // namespace
}  // namespace thalweg
