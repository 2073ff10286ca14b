// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/timer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(TimerTest, RunsInOrderOfTime) {
  SystemClock clock;
  Timer timer(clock);
  std::vector<int> order;
  Notification done;
  const Clock::TimePoint now = clock.Now();
  timer.Add(Deadline(now + milliseconds(30)), [&] {
    order.push_back(3);
    done.Notify();
  });
  timer.Add(Deadline(now + milliseconds(10)), [&] { order.push_back(1); });
  timer.Add(Deadline(now + milliseconds(20)), [&] { order.push_back(2); });
  done.Wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(TimerTest, AnEarlierEntryIsNotHeldUpByALaterOne) {
  SystemClock clock;
  Timer timer(clock);
  timer.Add(Deadline::After(clock, hours(10)), [] { FAIL(); });
  Notification done;
  timer.Add(Deadline::After(clock, milliseconds(1)), [&] { done.Notify(); });
  done.Wait();
}

TEST(TimerTest, FollowsTheClockItWasGiven) {
  FakeClock clock;
  Timer timer(clock);
  Notification first, second;
  timer.Add(Deadline::After(clock, hours(1)), [&] { first.Notify(); });
  timer.Add(Deadline::After(clock, hours(3)), [&] { second.Notify(); });
  clock.Advance(hours(2));
  first.Wait();
  EXPECT_FALSE(second.HasBeenNotified());
  clock.Advance(hours(2));
  second.Wait();
}

TEST(TimerTest, RemovedEntryNeverRuns) {
  SystemClock clock;
  Timer timer(clock);
  const Timer::Entry entry = timer.Add(Deadline::After(clock, hours(1)), [] { FAIL(); });
  EXPECT_TRUE(timer.Remove(entry));
  EXPECT_FALSE(timer.Remove(entry));
  EXPECT_TRUE(timer.Remove(timer.Add(Deadline::Never(), [] { FAIL(); })));
}

TEST(TimerTest, RemoveWaitsForARunningCallbackButNotFromInsideIt) {
  SystemClock clock;
  Timer timer(clock);
  Notification started;
  std::atomic<bool> ended{false};
  Timer::Entry self;
  Mutex mutex;
  MutexLock lock(mutex);
  const Timer::Entry entry = timer.Add(Deadline(clock.Now()), [&] {
    started.Notify();
    ended = true;
  });
  started.Wait();
  EXPECT_FALSE(timer.Remove(entry));
  EXPECT_TRUE(ended);
  Notification own, ready;
  self = timer.Add(Deadline(clock.Now()), [&] {
    ready.Wait();
    EXPECT_FALSE(timer.Remove(self));
    own.Notify();
  });
  ready.Notify();
  own.Wait();
}

TEST(DeadlineTest, Arithmetic) {
  SystemClock clock;
  EXPECT_TRUE(Deadline::Never().IsNever());
  EXPECT_FALSE(Deadline::Never().HasPassed(clock));
  EXPECT_TRUE(Deadline::After(clock, std::chrono::nanoseconds::max()).IsNever());
  EXPECT_TRUE(Deadline(clock.Now()).HasPassed(clock));
  EXPECT_EQ(Deadline(clock.Now() - hours(1)).Remaining(clock).count(), 0);
  const Deadline soon = Deadline::After(clock, hours(1));
  EXPECT_EQ(soon.Earlier(Deadline::Never()), soon);
}

TEST(NotificationTest, TimesOutAndWakes) {
  SystemClock clock;
  Notification notification;
  EXPECT_FALSE(notification.WaitUntil(clock, Deadline::After(clock, milliseconds(1))));
  std::thread other([&] { notification.Notify(); });
  EXPECT_TRUE(notification.WaitUntil(clock, Deadline::Never()));
  other.join();
}

}  // namespace
}  // namespace thalweg
