// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "thalweg/base/helper_listener.h"
#include "thalweg/base/notification.h"
#include "thalweg/base/parallel_for.h"
#include "thalweg/base/spin.h"

namespace thalweg {
namespace {

struct Item {
  uint64_t a, b, c;
};

TEST(WorkStealingDequeTest, OwnerIsLifoThiefIsFifo) {
  WorkStealingDeque<Item> deque(2);
  Item item;
  EXPECT_FALSE(deque.Pop(&item));
  EXPECT_FALSE(deque.Steal(&item));
  for (uint64_t i = 0; i < 100; ++i) deque.Push({i, i + 1, i + 2});
  ASSERT_TRUE(deque.Steal(&item));
  EXPECT_EQ(item.a, 0u);
  ASSERT_TRUE(deque.Pop(&item));
  EXPECT_EQ(item.a, 99u);
  EXPECT_EQ(item.c, 101u);
  for (int i = 0; i < 98; ++i) ASSERT_TRUE(deque.Pop(&item));
  EXPECT_TRUE(deque.Empty());
  EXPECT_FALSE(deque.Pop(&item));
}

TEST(WorkStealingDequeTest, EveryItemIsTakenExactlyOnceAndWhole) {
  constexpr uint64_t kItems = 20000;
  WorkStealingDeque<Item> deque(2);
  std::vector<std::atomic<int>> taken(kItems);
  std::atomic<bool> stop{false};
  const auto take = [&](const Item& item) {
    EXPECT_EQ(item.b, item.a * 3);
    EXPECT_EQ(item.c, item.a * 7);
    taken[item.a].fetch_add(1);
  };
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t) {
    thieves.emplace_back([&] {
      Item item;
      while (!stop) {
        if (deque.Steal(&item)) take(item);
      }
    });
  }
  Item item;
  for (uint64_t i = 0; i < kItems; ++i) {
    deque.Push({i, i * 3, i * 7});
    if (i % 3 == 0 && deque.Pop(&item)) take(item);
  }
  while (deque.Pop(&item)) take(item);
  stop = true;
  for (std::thread& thief : thieves) thief.join();
  for (const auto& count : taken) ASSERT_EQ(count.load(), 1);
}

TEST(EventCountTest, NoWakeUpIsLost) {
  EventCount events;
  std::atomic<int> tickets{0};
  constexpr int kTickets = 20000;
  std::thread consumer([&] {
    for (int got = 0; got < kTickets;) {
      int now = tickets.exchange(0);
      if (now == 0) {
        const EventCount::Key key = events.Prepare();
        now = tickets.exchange(0);
        if (now == 0) {
          events.Wait(key);
        } else {
          events.Cancel();
        }
      }
      got += now;
    }
  });
  for (int i = 0; i < kTickets; ++i) {
    tickets.fetch_add(1);
    events.NotifyOne();
  }
  consumer.join();
}

class ThreadPoolTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, RunsEveryTaskOnceAlsoWhenDestroyedAtOnce) {
  std::atomic<int> runs{0};
  {
    ThreadPool pool({.threads = GetParam()});
    EXPECT_EQ(pool.Parallelism(), GetParam());
    for (int i = 0; i < 1000; ++i) {
      ScheduleClosure(pool, [&] {
        runs.fetch_add(1);
        ScheduleClosure(pool, [&] { runs.fetch_add(1); });
      });
    }
  }
  EXPECT_EQ(runs, 2000);
}

TEST_P(ThreadPoolTest, ForeignThreadsMaySchedule) {
  std::atomic<int> runs{0};
  {
    ThreadPool pool({.threads = GetParam(), .spin_micros = 0});
    std::vector<std::thread> callers;
    for (int t = 0; t < 3; ++t) {
      callers.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) ScheduleClosure(pool, [&] { runs.fetch_add(1); });
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
  EXPECT_EQ(runs, 3000);
}

TEST_P(ThreadPoolTest, ParallelForShardsDependOnSizesOnly) {
  ThreadPool pool({.threads = GetParam()});
  for (const int64_t n : {0, 1, 7, 1000, 1001}) {
    Mutex mutex;
    std::set<std::pair<int64_t, int64_t>> shards;
    ParallelFor(&pool, n, 7, [&](int64_t begin, int64_t end) {
      MutexLock lock(mutex);
      EXPECT_TRUE(shards.emplace(begin, end).second);
    });
    std::set<std::pair<int64_t, int64_t>> expected;
    for (int64_t b = 0; b < n; b += 7) expected.emplace(b, std::min(b + 7, n));
    EXPECT_EQ(shards, expected);
  }
}

TEST_P(ThreadPoolTest, ParallelForNearTheEndOfTheIntegers) {
  ThreadPool pool({.threads = GetParam()});
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  std::atomic<int> shards{0};
  ParallelFor(&pool, kMax, kMax / 2, [&](int64_t begin, int64_t end) {
    EXPECT_LT(begin, end);
    ++shards;
  });
  EXPECT_EQ(shards, 3);
}

TEST_P(ThreadPoolTest, ParallelForNests) {
  ThreadPool pool({.threads = GetParam()});
  std::atomic<int64_t> sum{0};
  ParallelFor(&pool, 16, 1, [&](int64_t i, int64_t) {
    ParallelFor(&pool, 16, 1, [&](int64_t j, int64_t) { sum += i * 16 + j; });
  });
  EXPECT_EQ(sum, 255 * 256 / 2);
}

TEST_P(ThreadPoolTest, HelpersTellWhoListens) {
  class Listener : public HelperListener {
   public:
    void AddSwitches(ThreadSwitches::Watch* watch) override {
      EXPECT_NE(watch, nullptr);
      EXPECT_NE(std::this_thread::get_id(), caller_);
      ++told;
    }
    std::atomic<int> told{0};

   private:
    const std::thread::id caller_ = std::this_thread::get_id();
  };
  ThreadPool pool({.threads = GetParam()});
  Listener listener;
  {
    const HelperListener::Scope scope(&listener);
    std::atomic<int> begun{0};
    const int expected = GetParam() > 0 ? 2 : 1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ParallelFor(&pool, 2, 1, [&](int64_t, int64_t) {
      EXPECT_EQ(HelperListener::Current(), &listener);  // loops within are meant, too
      ++begun;
      while (begun < expected && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_EQ(begun, 2);
  }
  EXPECT_EQ(listener.told, GetParam() > 0 ? 1 : 0);
  EXPECT_EQ(HelperListener::Current(), nullptr);
  Notification done;
  ScheduleClosure(pool, [&] {
    EXPECT_EQ(HelperListener::Current(), nullptr);
    done.Notify();
  });
  done.Wait();
}

TEST_P(ThreadPoolTest, ParallelForEndsWhileEveryWorkerIsBusy) {
  ThreadPool pool({.threads = GetParam()});
  Notification release;
  if (GetParam() > 0) {
    for (int i = 0; i < GetParam(); ++i) ScheduleClosure(pool, [&] { release.Wait(); });
  }
  std::atomic<int> shards{0};
  ParallelFor(&pool, 100, 1, [&](int64_t, int64_t) { ++shards; });
  EXPECT_EQ(shards, 100);
  release.Notify();
}

TEST_P(ThreadPoolTest, WorkersKnowThemselvesAndFlushDenormals) {
  std::atomic<int> started{0};
  {
    ThreadPool pool({.threads = GetParam(), .pin = true, .start = [&](int) { ++started; }});
    EXPECT_EQ(pool.CurrentThreadIndex(), -1);
    for (int i = 0; i < 100 && GetParam() > 0; ++i) {
      ScheduleClosure(pool, [&] {
        EXPECT_GE(pool.CurrentThreadIndex(), 0);
        EXPECT_LT(pool.CurrentThreadIndex(), GetParam());
        volatile float tiny = std::numeric_limits<float>::min(), half = 0.5f;
        EXPECT_EQ(tiny * half, 0.0f);
      });
    }
  }
  EXPECT_EQ(started, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(0, 1, 2, 5));

TEST(ParkedThreadPoolTest, WakesUp) {
  ThreadPool pool({.threads = 2, .spin_micros = 0});
  for (int i = 0; i < 200; ++i) {
    Notification done;
    ScheduleClosure(pool, [&] { done.Notify(); });
    done.Wait();
  }
}

// Two tasks that need each other come at once, while the only worker that is not parked stops
// spinning: it must wake the other one for the second task.
TEST(ParkedThreadPoolTest, WakesAsManyWorkersAsThereAreTasks) {
  ThreadPool pool({.threads = 2, .spin_micros = 0});
  SystemClock clock;
  for (int i = 0; i < 500; ++i) {
    std::array<Notification, 2> begun;
    std::array<Notification, 2> ended;
    std::atomic<bool> in_time{true};
    const Deadline end = Deadline::After(clock, std::chrono::seconds(20));
    for (const size_t own : {0, 1}) {
      ScheduleClosure(pool, [&, own] {
        begun[own].Notify();
        if (!begun[1 - own].WaitUntil(clock, end)) in_time = false;
        ended[own].Notify();
      });
    }
    for (Notification& told : ended) told.Wait();
    ASSERT_TRUE(in_time) << "round " << i;
    for (int pause = i; pause > 0; --pause) PauseProcessor();
  }
}

}  // namespace
}  // namespace thalweg
