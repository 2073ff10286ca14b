// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "thalweg/base/event_count.h"
#include "thalweg/base/notification.h"
#include "thalweg/base/thread_pool.h"
#include "thalweg/base/timer.h"

namespace thalweg {
namespace {

sigset_t MaskOfThisThread() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

std::string NameOfThisThread() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

TEST(ThreadTest, HasANameAndTakesNoSignalsOfTheHost) {
  std::string name;
  sigset_t mask;
  Thread thread("of the long name", [&] {
    name = NameOfThisThread();
    mask = MaskOfThisThread();
  });
  thread.Join();
  EXPECT_EQ(name, "thalweg-of the ");
  for (const int host : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) {
    EXPECT_TRUE(sigismember(&mask, host)) << host;
    const sigset_t own = MaskOfThisThread();
    EXPECT_FALSE(sigismember(&own, host)) << host;
  }
  for (const int own : {SIGSEGV, SIGFPE, SIGABRT, SIGPROF}) {
    EXPECT_FALSE(sigismember(&mask, own)) << own;
  }
}

TEST(ThreadTest, IsHereUntilItIsJoined) {
  Thread none;
  EXPECT_FALSE(none.IsHere());
  none.Join();
  bool is_current = false;
  Notification started;
  Thread thread("a", [&] {
    started.Wait();
    is_current = thread.IsCurrent();
  });
  EXPECT_TRUE(thread.IsHere());
  EXPECT_FALSE(thread.IsCurrent());
  started.Notify();
  thread.Join();
  EXPECT_FALSE(thread.IsHere());
  EXPECT_TRUE(is_current);
}

TEST(ThreadTest, ADetachedOneGivesBackWhatItHolds) {
  struct Told {
    explicit Told(Notification* n) : gone(n) {}
    ~Told() { gone->Notify(); }
    Notification* gone;
  };
  Notification gone;
  Thread::Detach("b", [told = std::make_shared<Told>(&gone)] { ASSERT_NE(told, nullptr); });
  gone.Wait();
}

// What threads of a process wait on, or may hold the locks of.
struct Threaded {
  Mutex mutex;
  std::function<void()> WaitOn(CondVar* changed) {
    return [this, changed] {
      MutexLock lock(mutex);
      is_waiting = true;
      while (!ends) changed->Wait(mutex);
    };
  }
  // Says that the timer's thread waits, which gives its lock back then.
  struct WaitedOn : SystemClock {
    void WaitUntil(Mutex& lock, CondVar& what, TimePoint end) override REQUIRES(lock) {
      if (!waits.HasBeenNotified()) waits.Notify();
      SystemClock::WaitUntil(lock, what, end);
    }
    Notification waits;
  } clock;
  std::unique_ptr<NoDestructor<CondVar>> changed = std::make_unique<NoDestructor<CondVar>>();
  bool is_waiting GUARDED_BY(mutex) = false;
  bool ends GUARDED_BY(mutex) = false;
  std::unique_ptr<Thread> thread = std::make_unique<Thread>("c", WaitOn(&**changed));
  std::array<Notification, 2> ran;  // by one thread of the pool each: the first waits
  std::unique_ptr<ThreadPool> pool =
      std::make_unique<ThreadPool>(ThreadPool::Options{.threads = 2});
  std::unique_ptr<Timer> timer = std::make_unique<Timer>(clock);

  // All threads have started and wait, so that a fork finds no lock of theirs closed.
  Threaded() {
    const Timer::Entry entry =
        timer->Add(Deadline::After(clock, std::chrono::hours(1)), [] { FAIL(); });
    clock.waits.Wait();
    timer->Remove({.time = entry.time, .id = entry.id + 1});  // of nothing: takes the lock once
    pool->Schedule(Task{[](void* both, uint64_t) {
                          auto& here = *static_cast<std::array<Notification, 2>*>(both);
                          here[0].Notify();
                          here[1].Wait();
                        },
                        &ran, 0});
    ran[0].Wait();
    pool->Schedule(Task{[](void* both, uint64_t) {
                          (*static_cast<std::array<Notification, 2>*>(both))[1].Notify();
                        },
                        &ran, 0});
    ran[1].Wait();
    for (bool waits = false; !waits;) {
      MutexLock lock(mutex);
      waits = is_waiting;
    }
  }
  void End() {
    {
      MutexLock lock(mutex);
      ends = true;
      (*changed)->NotifyAll();
    }
    thread->Join();
  }
};

// The child takes nothing from the heap but by what it tests: locks of the heap could stay closed.
template <class Child>
void ExpectTrueInAFork(const Child& child) {
  const pid_t forked = ::fork();
  if (forked == 0) {
    ::alarm(60);
    ::_exit(child() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(forked, &status, 0), forked);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadTest, AForkWaitsForNoThreadThatItDoesNotHave) {
  Threaded threaded;
  ExpectTrueInAFork([&] {
    const bool is_here = threaded.thread->IsHere();
    threaded.changed.reset();
    threaded.thread.reset();
    threaded.pool.reset();
    threaded.timer.reset();
    return !is_here;
  });
  threaded.End();
}

#ifndef __SANITIZE_THREAD__  // which has no threads in a fork
TEST(ThreadTest, AForkHasATimerOfItsOwn) {
  Threaded threaded;
  ExpectTrueInAFork([&] {
    Notification done;
    threaded.timer->Add(Deadline(threaded.clock.Now()), [&] { done.Notify(); });
    done.Wait();
    threaded.timer.reset();
    return true;
  });
  threaded.End();
}
#endif

}  // namespace
}  // namespace thalweg
