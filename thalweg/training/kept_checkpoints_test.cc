// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/kept_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <clocale>
#include <cstdlib>
#include <functional>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/notification.h"
#include "thalweg/base/test_temporary_directory.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A disk that says what becomes of whoever writes a new file.
class HookedDisk : public PosixFileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& prefix) override {
    RETURN_IF_ERROR(before_writing());
    return PosixFileSystem::CreateTemporary(prefix);
  }
  std::function<Status()> before_writing = [] { return OkStatus(); };
};

class KeptCheckpointsTest : public testing::Test {
 protected:
  // A file that stands for a checkpoint.
  std::string Saved(const std::string& name) {
    std::string path = directory_.Path(name);
    EXPECT_TRUE(WriteFileAtomically(fs_, path + ".index", "").ok());
    return path;
  }
  // A locale of the test's own, which needs no installed one.
  void UseDecimalComma() {
    const std::string numbers = directory_.Path("numbers"), letters = directory_.Path("letters");
    ASSERT_TRUE(WriteFileAtomically(fs_, numbers,
                                    "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\n"
                                    "grouping -1\nEND LC_NUMERIC\n")
                    .ok());
    ASSERT_TRUE(WriteFileAtomically(fs_, letters,
                                    "<code_set_name> ASCII\n<mb_cur_min> 1\n<mb_cur_max> 1\n"
                                    "CHARMAP\n<U002C> /x2c COMMA\nEND CHARMAP\n")
                    .ok());
    // Its status is 1: everything but the numbers is missing.
    const std::string make = StrCat("localedef -c -i ", numbers, " -f ", letters, " ",
                                    directory_.Path("comma"), " >/dev/null 2>&1");
    EXPECT_NE(std::system(make.c_str()), -1);
    ASSERT_EQ(setenv("LOCPATH", directory_.path().c_str(), 1), 0);
    ASSERT_NE(std::setlocale(LC_NUMERIC, "comma"), nullptr);
  }
  static std::vector<std::string> Names(const KeptCheckpoints& kept) {
    std::vector<std::string> names;
    for (const KeptCheckpoint& one : kept.list()) {
      names.push_back(one.path.substr(one.path.rfind('/') + 1));
    }
    return names;
  }
  std::vector<std::string> Indices() {
    std::vector<std::string> names = *fs_.List(directory_.path());
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".index"); });
    return names;
  }

  TemporaryDirectory directory_;
  PosixFileSystem fs_;
  HookedDisk disk_;
};

TEST_F(KeptCheckpointsTest, WhatAFullDiskLetsStayGoesWithTheNext) {
  KeptCheckpoints kept({.newest = 1});
  ASSERT_TRUE(kept.Add(disk_, {.path = Saved("m-1")}, "checkpoint").ok());
  const std::string second = Saved("m-2");
  disk_.before_writing = [] { return ResourceExhausted("the disk is full"); };
  EXPECT_EQ(kept.Add(disk_, {.path = second}, "checkpoint").code(), Code::kResourceExhausted);
  EXPECT_THAT(Names(kept), ElementsAre("m-1", "m-2"));
  EXPECT_THAT(Indices(), ElementsAre("m-1.index", "m-2.index"));
  disk_.before_writing = [] { return OkStatus(); };
  ASSERT_TRUE(kept.Add(disk_, {.path = Saved("m-3")}, "checkpoint").ok());
  EXPECT_THAT(Names(kept), ElementsAre("m-3"));
  EXPECT_THAT(Indices(), ElementsAre("m-3.index"));
}

TEST_F(KeptCheckpointsTest, TheListIsToldWhileTheDiskIsWaitedFor) {
  KeptCheckpoints kept({});
  ASSERT_TRUE(kept.Add(disk_, {.path = directory_.Path("m-1")}, "checkpoint").ok());
  std::thread reader;
  std::vector<std::string> names;
  disk_.before_writing = [&]() -> Status {
    Notification told;
    reader = std::thread([&] {
      names = Names(kept);
      told.Notify();
    });
    SystemClock clock;
    if (told.WaitUntil(clock, Deadline::After(clock, std::chrono::seconds(10)))) {
      return OkStatus();
    }
    return DeadlineExceeded("the list waits for the disk");
  };
  const Status status = kept.Add(disk_, {.path = directory_.Path("m-2")}, "checkpoint");
  reader.join();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(names, ElementsAre("m-1"));
  EXPECT_THAT(Names(kept), ElementsAre("m-1", "m-2"));
}

TEST_F(KeptCheckpointsTest, NothingIsLostWhereSeveralAdd) {
  constexpr int kThreads = 4, kAdds = 8;
  KeptCheckpoints kept({.newest = kThreads * kAdds});
  disk_.before_writing = [] {
    std::this_thread::yield();
    return OkStatus();
  };
  std::vector<std::thread> threads;
  std::atomic<int> ready = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (int i = 0; i < kAdds; ++i) {
        const std::string path = directory_.Path(StrCat("m-", t, "-", i));
        EXPECT_TRUE(kept.Add(disk_, {.path = path}, "checkpoint").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept.list().size(), static_cast<size_t>(kThreads * kAdds));
  const std::string text = *ReadFile(fs_, directory_.Path("checkpoint"));
  for (const std::string& name : Names(kept)) EXPECT_THAT(text, HasSubstr(StrCat('"', name, '"')));
}

// Numbers of files are not those of the people who look at them.
TEST_F(KeptCheckpointsTest, MetricsAreWrittenAndReadInAnyLocale) {
  UseDecimalComma();
  ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  KeptCheckpoints kept({.newest = 1, .best = 1});
  for (const double metric : {0.75, 0.25, 0.5}) {
    const std::string path = Saved(StrCat("m-", metric));
    EXPECT_TRUE(kept.Add(fs_, {.path = path, .metric = metric}, "checkpoint").ok());
  }
  const Result<std::string> best = BestCheckpoint(fs_, directory_.path(), "checkpoint");
  KeptCheckpoints next({});
  next.Set(fs_, {{.path = directory_.Path("m-0.25")}}, "checkpoint");
  std::setlocale(LC_NUMERIC, "C");
  unsetenv("LOCPATH");
  EXPECT_EQ(*ReadFile(fs_, directory_.Path("checkpoint.metrics")),
            "# the best is the least\n0.25\tm-0.25\n0.5\tm-0.5\n");
  ASSERT_TRUE(best.ok()) << best.status().ToString();
  EXPECT_EQ(*best, directory_.Path("m-0.25"));
  EXPECT_EQ(next.list()[0].metric, 0.25);
}

TEST_F(KeptCheckpointsTest, LinesThatAreNoMetricsArePassedOver) {
  ASSERT_TRUE(WriteFileAtomically(fs_, directory_.Path("checkpoint.metrics"),
                                  "# the best is the greatest\n\nx\ty\n7\n1e400\tm\n-3\tm-1\n"
                                  "2.5 x\tm-2\nnan\tm-3")
                  .ok());
  for (const char* name : {"m-1", "m-2", "m-3"}) Saved(name);
  EXPECT_EQ(*BestCheckpoint(fs_, directory_.path(), "checkpoint"), directory_.Path("m-1"));
}

}  // namespace
}  // namespace thalweg
