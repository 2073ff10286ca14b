// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/cancellation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

using Token = CancellationManager::Token;

TEST(CancellationTest, RunsEachCallbackOnce) {
  CancellationManager manager;
  int a = 0, b = 0;
  Token ta, tb;
  ASSERT_TRUE(manager.Register([&] { ++a; }, &ta));
  ASSERT_TRUE(manager.Register([&] { ++b; }, &tb));
  EXPECT_FALSE(manager.IsCancelled());
  EXPECT_TRUE(manager.Reason().ok());
  manager.Cancel(Aborted("first"));
  manager.Cancel(Aborted("second"));
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 1);
  EXPECT_TRUE(manager.IsCancelled());
  EXPECT_EQ(manager.Reason().message(), "first");
}

TEST(CancellationTest, RefusesAfterCancel) {
  CancellationManager manager;
  manager.Cancel();
  Token token;
  EXPECT_FALSE(manager.Register([] { FAIL(); }, &token));
  EXPECT_EQ(manager.Reason().code(), Code::kCancelled);
}

TEST(CancellationTest, DeregisteredCallbackNeverRuns) {
  CancellationManager manager;
  Token token;
  ASSERT_TRUE(manager.Register([] { FAIL(); }, &token));
  EXPECT_TRUE(manager.Deregister(token));
  manager.Cancel();
  EXPECT_FALSE(manager.Deregister(token));
}

TEST(CancellationTest, CallbackMayUseTheManager) {
  CancellationManager manager;
  Token first, second;
  bool refused = false;
  ASSERT_TRUE(manager.Register(
      [&] {
        EXPECT_FALSE(manager.Deregister(first));  // inside it: must not wait for itself
        EXPECT_TRUE(manager.Deregister(second));
        Token token;
        refused = !manager.Register([] {}, &token);
        manager.Cancel();
      },
      &first));
  ASSERT_TRUE(manager.Register([] { FAIL(); }, &second));
  manager.Cancel();
  EXPECT_TRUE(refused);
}

TEST(CancellationTest, DeregisterWaitsForARunningCallback) {
  CancellationManager manager;
  Notification started, go_on;
  bool finished = false;
  Token token;
  ASSERT_TRUE(manager.Register(
      [&] {
        started.Notify();
        go_on.Wait();
        finished = true;
      },
      &token));
  std::thread canceller([&] { manager.Cancel(); });
  started.Wait();
  std::thread release([&] { go_on.Notify(); });
  EXPECT_FALSE(manager.Deregister(token));
  EXPECT_TRUE(finished);  // a race that tsan reports if Deregister does not wait
  canceller.join();
  release.join();
}

TEST(CancellationTest, ParentCancelsChildAndNotTheReverse) {
  CancellationManager parent;
  CancellationManager child(&parent);
  CancellationManager other(&parent);
  child.Cancel(Aborted("child"));
  EXPECT_FALSE(parent.IsCancelled());
  EXPECT_FALSE(other.IsCancelled());
  parent.Cancel(Aborted("parent"));
  EXPECT_EQ(other.Reason().message(), "parent");
  EXPECT_EQ(child.Reason().message(), "child");
  CancellationManager late(&parent);
  EXPECT_EQ(late.Reason().message(), "parent");
}

TEST(CancellationTest, ChildrenComeAndGoWhileTheParentIsCancelled) {
  for (int round = 0; round < 50; ++round) {
    CancellationManager parent;
    std::thread canceller([&] { parent.Cancel(); });
    for (int i = 0; i < 20; ++i) {
      std::optional<CancellationManager> child(std::in_place, &parent);
      Token token;
      int runs = 0;
      if (child->Register([&] { ++runs; }, &token)) {
        const bool removed = child->Deregister(token);
        EXPECT_EQ(runs, removed ? 0 : 1);
      }
      child.reset();
    }
    canceller.join();
  }
}

TEST(ScopedCancellationTest, CallsWithTheReasonWhileItLives) {
  CancellationManager manager;
  std::vector<Status> seen;
  const auto note = [&](const Status& reason) { seen.push_back(reason); };
  { const ScopedCancellation gone(&manager, note); }
  ScopedCancellation ended(&manager, note);
  ended.End();
  ended.End();
  const ScopedCancellation nobody(nullptr, note);
  const ScopedCancellation alive(&manager, note);
  manager.Cancel(Aborted("enough"));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].message(), "enough");
  const ScopedCancellation late(&manager, note);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].message(), "enough");
}

TEST(ScopedCancellationTest, BeginsUnderALockThatTheCallbackTakes) {
  CancellationManager manager;
  Mutex mutex;
  int calls = 0;
  const auto count = [&](const Status&) {
    MutexLock lock(mutex);
    ++calls;
  };
  ScopedCancellation first, nobody, late;
  {
    MutexLock lock(mutex);
    EXPECT_TRUE(first.Begin(&manager, count));
    EXPECT_TRUE(nobody.Begin(nullptr, count));
  }
  manager.Cancel();
  EXPECT_EQ(calls, 1);
  MutexLock lock(mutex);
  EXPECT_FALSE(late.Begin(&manager, count));
  EXPECT_EQ(calls, 1);
}

TEST(ScopedCancellationTest, ItsCallbackMayEndIt) {
  CancellationManager manager;
  std::optional<ScopedCancellation> scope;
  const std::string mark(100, 'x');  // on the heap, and gone with the callback
  std::string seen;
  scope.emplace(&manager, [&scope, &seen, mark](const Status& why) {
    scope->End();
    scope.reset();
    seen = StrCat(mark, why.message());
  });
  manager.Cancel(Aborted("enough"));
  EXPECT_EQ(seen, StrCat(mark, "enough"));
  EXPECT_FALSE(scope.has_value());
}

TEST(ScopedCancellationTest, EndWaitsForARunningCallback) {
  CancellationManager manager;
  Notification entered, leave;
  std::atomic<bool> left{false};
  std::optional<ScopedCancellation> scope(std::in_place, &manager, [&](const Status&) {
    entered.Notify();
    leave.Wait();
    left = true;
  });
  std::thread canceller([&] { manager.Cancel(); });
  entered.Wait();
  std::thread leaver([&] { leave.Notify(); });
  scope.reset();
  EXPECT_TRUE(left);
  leaver.join();
  canceller.join();
}

}  // namespace
}  // namespace thalweg
