// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/background_write.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/deadline.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/thread.h"
#include "thalweg/base/thread_owner.h"

namespace thalweg {
namespace {

constexpr int kNice = 10;  // steps come first
constexpr double kLeisurelyBytesPerSecond = 128e6;
constexpr std::chrono::milliseconds kShortestPause(20);

void LowerPriority() {
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  (void)::setpriority(PRIO_PROCESS, thread, kNice);  // of this thread only; a help, no more
}

}  // namespace

struct BackgroundWrite::State final : public Leisure {
  explicit State(std::string what) : name(std::move(what)) {}

  const std::string name;
  const ThreadOwner owner{};
  Mutex mutex;
  CondVar changed;
  std::optional<Status> outcome GUARDED_BY(mutex);
  bool hurries GUARDED_BY(mutex) = false;
  // The thread's own clock.
  SystemClock clock;
  const Clock::TimePoint begun = clock.Now();
  uint64_t written = 0;

  void Take(size_t bytes) override EXCLUDES(mutex) {
    written += bytes;
    const auto due = std::chrono::nanoseconds(
        static_cast<int64_t>(1e9 * static_cast<double>(written) / kLeisurelyBytesPerSecond));
    const Deadline end(begun + due);
    if (end.Remaining(clock) < kShortestPause) return;
    const MutexLock lock(mutex);
    while (!hurries && !end.HasPassed(clock)) clock.WaitUntil(mutex, changed, end.time());
  }
  void End(Status status) EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    outcome = std::move(status);
    changed.NotifyAll();
  }
};

BackgroundWrite::BackgroundWrite(std::string name, std::function<Status(Leisure&)> work)
    : state_(std::make_shared<State>(std::move(name))) {
  auto run = [state = state_, work = std::move(work)]() mutable {
    LowerPriority();
    Status status;
    try {
      status = work(*state);
    } catch (const std::exception& e) {
      status = ResourceExhausted("writing '", state->name, "' in the background: ", e.what());
    }
    work = nullptr;  // what it holds goes before its owner hears
    state->End(std::move(status));
  };
  try {
    Thread::Detach("save", std::move(run));
  } catch (const std::system_error& e) {
    state_->End(ResourceExhausted("no thread to write '", state_->name, "': ", e.what()));
  }
}

bool BackgroundWrite::is_done() const {
  if (!state_->owner.IsThisProcess()) return true;
  const MutexLock lock(state_->mutex);
  return state_->outcome.has_value();
}

Status BackgroundWrite::Wait(std::chrono::nanoseconds patience) const {
  if (!state_->owner.IsThisProcess()) {
    return Aborted("'", state_->name, "' is written by the process that this one was forked from");
  }
  SystemClock clock;
  const Deadline end = Deadline::After(clock, patience);
  const MutexLock lock(state_->mutex);
  state_->hurries = true;
  state_->changed.NotifyAll();
  while (!state_->outcome.has_value() && !end.HasPassed(clock)) {
    clock.WaitUntil(state_->mutex, state_->changed, end.time());
  }
  if (state_->outcome.has_value()) return *state_->outcome;
  return DeadlineExceeded(
      "'", state_->name, "' is still being written, after a wait of ",
      std::chrono::duration_cast<std::chrono::milliseconds>(patience).count() / 1000.0, " s");
}

}  // namespace thalweg
