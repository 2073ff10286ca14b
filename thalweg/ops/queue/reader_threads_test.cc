// SPDX-License-Identifier: Apache-2.0
// Many threads at one reader: one at a time has the turn, each gets it, whatever is cancelled.
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/ops/queue/reader.h"
#include "thalweg/testing/waiting_call.h"

namespace thalweg {
namespace {

RefPtr<Reader> MakeReader() {
  auto fs = std::make_unique<PosixFileSystem>();
  return RefPtr<Reader>::Adopt(
      std::make_unique<Reader>("IdentityReader", "r", std::move(fs), MakeIdentitySource())
          .release());
}

std::unique_ptr<Waiter> TurnOf(WaitingCall& call) {
  return std::make_unique<Reader::Turn>(call.context(), call.done());
}

TEST(ReaderThreadsTest, ATurnIsHadByOneAndByAll) {
  constexpr int kThreads = 8, kRounds = 300;
  const RefPtr<Reader> reader = MakeReader();
  int64_t turns = 0;  // without a lock: who has the turn alone changes it
  std::vector<int> cancelled(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (int i = 0; i < kRounds; ++i) {
        if (random() % 2 == 0 && reader->TryTakeTurn()) {
          ++turns;
          reader->GiveTurn();
          continue;
        }
        WaitingCall call({}, 0);
        reader->Join(TurnOf(call));
        if (random() % 4 == 0) call.Cancel();
        if (call.Await().ok()) {
          ++turns;
          reader->GiveTurn();
        } else {
          ++cancelled[static_cast<size_t>(t)];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t all = turns;
  for (const int n : cancelled) all += n;
  EXPECT_EQ(all, kThreads * kRounds);
  EXPECT_TRUE(reader->TryTakeTurn()) << "the last one has given it back";
}

TEST(ReaderThreadsTest, ACallThatComesDoesNotPassThoseThatWait) {
  const RefPtr<Reader> reader = MakeReader();
  ASSERT_TRUE(reader->TryTakeTurn());
  WaitingCall first({}, 0), second({}, 0);
  reader->Join(TurnOf(first));
  reader->Join(TurnOf(second));
  EXPECT_FALSE(reader->TryTakeTurn());
  for (WaitingCall* call : {&first, &second}) {
    reader->GiveTurn();
    EXPECT_TRUE(call->Await().ok());
    EXPECT_FALSE(reader->TryTakeTurn());
  }
  reader->GiveTurn();
  EXPECT_TRUE(reader->TryTakeTurn());
}

TEST(ReaderThreadsTest, WhoIsCancelledLeavesTheTurnToOthers) {
  const RefPtr<Reader> reader = MakeReader();
  ASSERT_TRUE(reader->TryTakeTurn());
  WaitingCall call({}, 0);
  reader->Join(TurnOf(call));
  call.Cancel();
  EXPECT_EQ(call.Await().code(), Code::kCancelled);
  EXPECT_FALSE(reader->TryTakeTurn()) << "it is still had";
  reader->GiveTurn();
  EXPECT_TRUE(reader->TryTakeTurn());
}

TEST(ReaderTest, WhatIsPutBackComesNextAndCountsOnce) {
  const RefPtr<Reader> reader = MakeReader();
  const auto any = [](uint64_t) { return OkStatus(); };
  ASSERT_TRUE(reader->TakeFreeTurn());
  EXPECT_FALSE(reader->TakeFreeTurn());
  ASSERT_TRUE(reader->Begin("work").ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(reader->has_work());
    EXPECT_EQ(**reader->Next(any), "work");
    EXPECT_EQ(reader->Key(), "work");
    EXPECT_EQ(reader->produced(), 1);
    EXPECT_FALSE(reader->has_work());
    reader->PutBack("work");
  }
  const auto none = [](uint64_t) { return ResourceExhausted("no room"); };
  EXPECT_EQ(reader->Next(none).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(reader->has_work()) << "what found no room is still there";
  reader->Reset();
  EXPECT_FALSE(reader->has_work());
}

}  // namespace
}  // namespace thalweg
