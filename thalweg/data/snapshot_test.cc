// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/data/counting.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using testing::HasSubstr;
using Lines = std::vector<std::string>;

class SnapshotTest : public testing::Test {
 protected:
  // The numbers below n, each made by a call that is counted.
  DatasetPtr Counted(int64_t n) {
    return MapDataset(RangeOf(n), IntFunction([this](int64_t x) {
                        ++calls_;
                        return x;
                      }),
                      IntSpec(), {});
  }
  DatasetPtr Of(DatasetPtr input) {
    return SnapshotDataset(std::move(input), directory_.path(), {.folder = "one"});
  }

  TemporaryDirectory directory_;
  std::atomic<int> calls_{0};
};

TEST_F(SnapshotTest, TheFirstWholePassWritesAndOthersRead) {
  for (const int threads : {0, 2}) {
    EXPECT_EQ(Texts(Puller(Of(Counted(3)), threads).Rest()), (Lines{"0", "1", "2"}));
    EXPECT_EQ(calls_, 3);
  }
}

TEST_F(SnapshotTest, ARepeatedOneReadsItsSecondRound) {
  const DatasetPtr twice = RepeatDataset(Of(Counted(2)), 2);
  EXPECT_EQ(Texts(Puller(twice, 0).Rest()), (Lines{"0", "1", "0", "1"}));
  EXPECT_EQ(calls_, 2);
}

TEST_F(SnapshotTest, WhatIsNotWholeCountsAsNothing) {
  Puller(Of(Counted(9)), 0).Rest(4);
  EXPECT_EQ(Texts(Puller(Of(Counted(2)), 0).Rest()), (Lines{"0", "1"}));
  EXPECT_EQ(calls_, 6);
}

TEST_F(SnapshotTest, APassGoesOnWhetherItWroteOrRead) {
  for (const char* way : {"writes", "reads"}) {
    Puller first(Of(Counted(5)), 0);
    first.Rest(2);
    const std::vector<Tensor> state = *first.Save();
    // Meanwhile another pass has written the files.
    Puller(Of(Counted(5)), 0).Rest();
    Puller second(Of(Counted(5)), 0);
    ASSERT_TRUE(second.Restore(state).ok()) << way;
    EXPECT_EQ(Texts(second.Rest()), (Lines{"2", "3", "4"})) << way;
  }
}

TEST_F(SnapshotTest, DamageIsNoReasonToWriteAnew) {
  Puller(Of(Counted(2)), 0).Rest();
  PosixFileSystem fs;
  const std::string name = directory_.Path("one/snapshot.metadata");
  ASSERT_TRUE(WriteFileAtomically(fs, name, "\xff").ok());
  const Status damaged = Puller(Of(Counted(2)), 0).Next().status();
  EXPECT_EQ(damaged.code(), Code::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr(name));
}

}  // namespace
}  // namespace thalweg
