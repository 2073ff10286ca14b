// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread_switches.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

#include "thalweg/base/test_answering_thread.h"

namespace thalweg {
namespace {

constexpr int64_t kLongest = 30'000'000'000;  // of a wait that a switch ends

int64_t NowNanos() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

class ThreadSwitchesTest : public testing::Test {
 protected:
  // Whether the machine permits it. Where not, that is told, and nothing else.
  static bool IsPermitted() {
    ThreadSwitches::Watch watch;
    if (watch.status().ok()) return true;
    EXPECT_NE(watch.status().message().find("tells no thread switches"), std::string::npos);
    std::vector<ThreadSwitch> none;
    watch.Take(&none);
    EXPECT_FALSE(watch.HasNews());
    EXPECT_TRUE(none.empty());
    return false;
  }
  // Asks until the watch tells `wanted` more switches that were waits.
  void WaitOften(size_t wanted) {
    ThreadSwitches::Watch watch;
    size_t seen = 0;
    for (const int64_t end = NowNanos() + kLongest; seen < wanted && NowNanos() < end;) {
      echo_.Ask();
      std::vector<ThreadSwitch> switches;
      watch.Take(&switches);
      for (const ThreadSwitch& each : switches) seen += each.is_preempted ? 0 : 1;
    }
    EXPECT_GE(seen, wanted);
  }

 private:
  AnsweringThread echo_;
};

TEST_F(ThreadSwitchesTest, AThreadThatWaitsWasOut) {
  if (!IsPermitted()) return;
  ThreadSwitches::Watch watch;
  std::vector<ThreadSwitch> switches;
  const int64_t begin = NowNanos();
  WaitOften(1);
  EXPECT_TRUE(watch.HasNews());
  watch.Take(&switches);
  const int64_t end = NowNanos();
  ASSERT_FALSE(switches.empty());
  int64_t before = begin, waits = 0;
  for (const ThreadSwitch& each : switches) {
    EXPECT_LE(before, each.out_nanos);
    EXPECT_LE(each.out_nanos, each.in_nanos);
    EXPECT_LE(each.in_nanos, end);
    before = each.in_nanos;
    waits += each.is_preempted ? 0 : 1;
  }
  EXPECT_GT(waits, 0);
  std::vector<ThreadSwitch> again;
  watch.Take(&again);  // what was taken is not told again
  for (const ThreadSwitch& each : again) EXPECT_LE(switches.back().in_nanos, each.out_nanos);
}

TEST_F(ThreadSwitchesTest, AThreadThatGivesWayToAnotherIsPreempted) {
  if (!IsPermitted()) return;
  // Both may use one processor alone, until the switches show.
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    while (!stop.load(std::memory_order_relaxed)) continue;
  });
  bool seen = false;
  {
    ThreadSwitches::Watch watch;
    for (const int64_t end = NowNanos() + kLongest; !seen && NowNanos() < end;) {
      std::vector<ThreadSwitch> switches;
      watch.Take(&switches);
      for (const ThreadSwitch& each : switches) seen |= each.is_preempted;
    }
  }
  stop = true;
  other.join();
  ::sched_setaffinity(0, sizeof(before), &before);
  EXPECT_TRUE(seen);
}

TEST_F(ThreadSwitchesTest, OfManyTheLastAreTold) {
  if (!IsPermitted()) return;
  ThreadSwitches::Watch watch;
  WaitOften(400);
  const int64_t last = NowNanos();
  WaitOften(1);
  std::vector<ThreadSwitch> switches;
  watch.Take(&switches);
  EXPECT_LE(switches.size(), 224U);
  ASSERT_GE(switches.size(), 200U);
  EXPECT_LE(last, switches.back().out_nanos);
}

TEST_F(ThreadSwitchesTest, AThreadIsCountedUntilItRests) {
  if (!IsPermitted()) return;
  ThreadSwitches::Rest();
  EXPECT_FALSE(ThreadSwitches::IsCounting());
  for (int round = 0; round < 2; ++round) {
    WaitOften(1);
    EXPECT_TRUE(ThreadSwitches::IsCounting());
  }
  ThreadSwitches::Rest();
  EXPECT_FALSE(ThreadSwitches::IsCounting());
  const ThreadSwitches::Watch watch;
  ThreadSwitches::Rest();
  EXPECT_TRUE(ThreadSwitches::IsCounting());
  WaitOften(1);
  EXPECT_TRUE(watch.HasNews());
  std::thread([] { EXPECT_FALSE(ThreadSwitches::IsCounting()); }).join();
}

TEST_F(ThreadSwitchesTest, WatchesNest) {
  if (!IsPermitted()) return;
  ThreadSwitches::Watch outer;
  { const ThreadSwitches::Watch inner; }
  WaitOften(1);
  std::vector<ThreadSwitch> switches;
  outer.Take(&switches);
  EXPECT_FALSE(switches.empty());
}

// ---- in a process of its own
void ExpectOfChild(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ThreadSwitchesTest, AForkedProcessHasNone) {
  if (!IsPermitted()) return;
  ThreadSwitches::Watch watch;
  WaitOften(1);
  ExpectOfChild([&watch] {
    std::vector<ThreadSwitch> switches;
    watch.Take(&switches);
    return switches.empty();
  });
}

// What a forked process does changes nothing here.
TEST_F(ThreadSwitchesTest, AForkedProcessEndsNoCounting) {
  if (!IsPermitted()) return;
  ExpectOfChild([] {
    { const ThreadSwitches::Watch watch; }
    ThreadSwitches::Rest();
    return true;
  });
  WaitOften(1);
}

// What a thread is told that may not, or cannot, ask the kernel.
std::string WordsOfWatch(Code code) {
  ThreadSwitches::Watch watch;
  std::vector<ThreadSwitch> none;
  watch.Take(&none);
  if (watch.status().code() != code || !none.empty()) return "";
  return std::string(watch.status().message());
}

TEST(ThreadSwitchesRefusalTest, AContainerThatForbidsItIsNamed) {
  ExpectOfChild([] {
    std::array filter = {sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                         sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      return false;
    }
    std::string words;
    std::thread([&words] { words = WordsOfWatch(Code::kPermissionDenied); }).join();
    return words.find("seccomp") != std::string::npos;
  });
}

TEST(ThreadSwitchesRefusalTest, WantOfDescriptorsIsNoWantOfRights) {
  ExpectOfChild([] {
    std::string exhausted, denied;
    bool is_limited = false;
    std::thread([&] {
      rlimit before = {};
      ::getrlimit(RLIMIT_NOFILE, &before);
      const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
      is_limited = ::setrlimit(RLIMIT_NOFILE, &none) == 0;
      exhausted = WordsOfWatch(Code::kResourceExhausted);
      denied = WordsOfWatch(Code::kPermissionDenied);
      ::setrlimit(RLIMIT_NOFILE, &before);  // sanitizers look at threads that end through pipes
    }).join();
    // Where the machine forbids it anyway, that comes first.
    return is_limited &&
           (exhausted.find("perf_event_open: Too many open files") != std::string::npos ||
            !denied.empty());
  });
}

}  // namespace
}  // namespace thalweg
