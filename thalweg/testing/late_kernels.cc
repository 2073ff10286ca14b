// SPDX-License-Identifier: Apache-2.0
// Which kernels go on after their step was cancelled: each operation's case with more data is run
// to its end, and then cancelled when parts of that time have gone by. Prints a line for every
// kernel that went on for longer than --late-ms, and for every step that took as long to end. Times
// are those of the processor, of one thread, so that other work on the machine does not count. A
// program and no test.
//
//   build/release/bin/late_kernels [--op=NAME] [--from=NAME] [--part=0/1] [--megabytes=64]
//       [--late-ms=100]
// --part=1/4 takes every fourth operation, from the second on.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/testing/case_scaling.h"
#include "thalweg/testing/case_trial.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/wrapped_kernels.h"

namespace thalweg {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;
constexpr int64_t kLimit = int64_t{6} << 30;
// A way of scaling is tried with kFirstBytes before: a call that is not late even if it takes as
// much longer as there are more bytes has no long loop.
constexpr int64_t kFirstBytes = kMegabyte;
constexpr std::chrono::seconds kPatience(5);  // what takes longer is cancelled in parts of this
constexpr double kCancelAt[] = {0.05, 0.5};

// The milliseconds that the thread that made it has worked so far, for any thread to ask.
class WorkOfThread {
 public:
  WorkOfThread() { pthread_getcpuclockid(pthread_self(), &clock_); }
  double Now() const {
    timespec time;
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  }

 private:
  clockid_t clock_;
};

// The longest call of one operation's kernels in a step of this thread; when the first began and
// the last ended.
class TimedCall {
 public:
  TimedCall(const std::string& op, Context&) : is_watched_(op == watched_), begin_(work_->Now()) {
    if (!is_watched_ || begun_.load() != 0) return;
    begun_ = begin_;
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall() {
    if (!is_watched_) return;
    ended_ = work_->Now();
    longest_ = std::max(longest_, ended_ - begin_);
  }

  static void Watch(const std::string& op, const WorkOfThread& work) {
    watched_ = op;
    work_ = &work;
    longest_ = ended_ = 0;
    begun_ = 0;
  }
  static double longest() { return longest_; }
  static double begun() { return begun_; }  // from any thread; 0: not yet
  static double ended() { return ended_; }

 private:
  static inline std::string watched_;
  static inline const WorkOfThread* work_ = nullptr;
  static inline double longest_ = 0, ended_ = 0;
  static inline std::atomic<double> begun_{0};

  const bool is_watched_;
  const double begin_;
};

class Sweep {
 public:
  Sweep(int64_t bytes, double late_ms)
      : bytes_(bytes),
        late_ms_(late_ms),
        trials_(THALWEG_OP_CASES, Timed(), MakeCpuDevices, kLimit) {}

  const std::vector<std::string>& ops() const { return trials_.ops(); }

  void Try(const std::string& op) {
    const double short_ms =
        late_ms_ * static_cast<double>(kFirstBytes) / static_cast<double>(bytes_);
    std::vector<bool> is_long;
    for (OwnedMessage& graph : ScaledCases(trials_.CaseOf(op), kFirstBytes)) {
      is_long.push_back(Whole(op, std::move(graph)) >= short_ms);
    }
    if (std::ranges::count(is_long, true) == 0) return;
    std::vector<OwnedMessage> graphs = ScaledCases(trials_.CaseOf(op), bytes_);
    // Ways that lead to equal graphs with one size may not with the other.
    if (graphs.size() != is_long.size()) is_long.assign(graphs.size(), true);
    for (size_t way = 0; way < graphs.size(); ++way) {
      if (is_long[way]) TryWay(op, way, *graphs[way]);
      graphs[way] = OwnedMessage();
    }
  }

 private:
  static std::shared_ptr<KernelRegistry> Timed() {
    static KernelRegistry originals;
    RegisterAllCpuKernels(originals);
    auto timed = std::make_shared<KernelRegistry>();
    WrappedKernels<TimedCall>::Wrap(originals, *timed);
    return timed;
  }

  // The longest call of a run that is left alone; 0 where there is none.
  double Whole(const std::string& op, OwnedMessage graph) {
    const WorkOfThread work;
    TimedCall::Watch(op, work);
    trials_.RunGraph(std::move(graph), kPatience).IgnoreError();
    return TimedCall::longest();
  }

  struct Lateness {
    double kernel = 0, step = 0;
  };

  // Of a run that is cancelled `at` milliseconds of work after the first call began.
  Lateness Cancelled(const std::string& op, OwnedMessage graph, double at) {
    const WorkOfThread work;
    TimedCall::Watch(op, work);
    CancellationManager cancellation;
    double cancelled = 0;
    std::atomic<bool> is_over{false};
    std::thread canceller([&] {
      while (!is_over && (TimedCall::begun() == 0 || work.Now() < TimedCall::begun() + at)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (is_over) return;
      cancelled = work.Now();
      cancellation.Cancel();
    });
    trials_.RunGraph(std::move(graph), kPatience, &cancellation).IgnoreError();
    const double returned = work.Now();
    is_over = true;
    canceller.join();
    if (cancelled == 0) return {};
    return {TimedCall::ended() - cancelled, returned - cancelled};
  }

  // The least of some runs: a busy machine may keep the canceller from a processor.
  Lateness CancelledOften(const std::string& op, const Message& graph, double at) {
    constexpr int kMostRuns = 3;
    Lateness least = Cancelled(op, Clone(graph), at);
    for (int run = 1; run < kMostRuns && least.step >= late_ms_; ++run) {
      const Lateness again = Cancelled(op, Clone(graph), at);
      least = {std::min(least.kernel, again.kernel), std::min(least.step, again.step)};
    }
    return least;
  }

  void TryWay(const std::string& op, size_t way, const Message& graph) {
    const double whole = Whole(op, Clone(graph));
    if (whole < late_ms_) return;
    Lateness most;
    for (const double part : kCancelAt) {
      const Lateness late = CancelledOften(op, graph, part * whole);
      most = {std::max(most.kernel, late.kernel), std::max(most.step, late.step)};
    }
    if (std::max(most.kernel, most.step) < late_ms_) return;
    std::printf("%-44s way %2zu  whole %8.0f ms  late %7.0f ms  step late %7.0f ms\n", op.c_str(),
                way, whole, most.kernel, most.step);
    std::fflush(stdout);
  }

  const int64_t bytes_;
  const double late_ms_;
  CaseTrials trials_;
};

std::string Flag(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  const std::string prefix = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]).starts_with(prefix)) return argv[i] + prefix.size();
  }
  return otherwise;
}

// In a process of its own: some take all memory, some do not come to an end.
void TryApart(Sweep& sweep, const std::string& op) {
  constexpr unsigned kMostSeconds = 600;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMostSeconds);
    sweep.Try(op);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    std::printf("%-44s ended by signal %d (%s)\n", op.c_str(), WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  using namespace thalweg;
  const std::string only = Flag(argc, argv, "op", ""), from = Flag(argc, argv, "from", "");
  size_t part = 0, parts = 1;
  if (std::sscanf(Flag(argc, argv, "part", "0/1").c_str(), "%zu/%zu", &part, &parts) != 2 ||
      parts == 0) {
    return 1;
  }
  const std::string folder =
      std::filesystem::temp_directory_path() / StrCat("late_kernels_", ::getpid());
  if (!std::filesystem::create_directory(folder) || chdir(folder.c_str()) != 0) return 1;
  {
    Sweep sweep(kMegabyte * std::atoll(Flag(argc, argv, "megabytes", "64").c_str()),
                std::atof(Flag(argc, argv, "late-ms", "100").c_str()));
    size_t number = 0;
    for (const std::string& op : sweep.ops()) {
      if (number++ % parts != part) continue;
      if ((only.empty() || only == op) && op >= from) TryApart(sweep, op);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}
