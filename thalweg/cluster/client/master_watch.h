// SPDX-License-Identifier: Apache-2.0
// MasterWatch: while a call of a client waits, asks its master now and then; a master that is
// silent for too long is lost, and the call ends. So a client without a deadline does not wait for
// a server that is stopped or cut off.
//
//   MasterWatch watch(timer, clock, {}, ask);
//   MasterWatch::Call call(watch, options.cancellation);
//   channel.Call(method, bytes, {.cancellation = &call.cancellation()}, done);
//
// Costs a lock and no system call for each call while calls follow each other.
// Ownership: outlives its calls; the timer and the clock outlive it.
// Threads: every member from any.
// Errors: a call's cancellation has Unavailable as its reason when the master is lost.
#pragma once

#include <functional>
#include <list>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/timer.h"

namespace thalweg {

class MasterWatch {
 public:
  struct Limits {
    std::chrono::milliseconds ask_every{1000};
    std::chrono::milliseconds lost_after{3000};
  };
  // Asks; `done` with what came of it, once, on any thread. Any answer shows that the master lives.
  using Ask =
      std::function<void(std::chrono::nanoseconds timeout, CancellationManager& cancellation,
                         std::function<void(const Status&)> done)>;
  MasterWatch(Timer& timer, Clock& clock, Limits limits, Ask ask)
      : timer_(timer), clock_(clock), limits_(limits), ask_(std::move(ask)) {}
  ~MasterWatch();

  // Asks once, the first time, before the caller's data fill a slow connection: what is asked later
  // then finds a connection. Does not wait.
  void Greet() EXCLUDES(mutex_);

  class Call {
   public:
    Call(MasterWatch& watch, CancellationManager* outer);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();
    // Cancelled by the outer one, or for a lost master.
    CancellationManager& cancellation() { return cancellation_; }

   private:
    friend class MasterWatch;
    MasterWatch& watch_;
    CancellationManager cancellation_;
    Clock::TimePoint begun_{};  // later by the time in which nobody looked
    std::list<Call*>::iterator at_;
  };

 private:
  void Tick() EXCLUDES(mutex_);
  void Arm() REQUIRES(mutex_);
  void Answered(const Status& status) EXCLUDES(mutex_);

  Timer& timer_;
  Clock& clock_;
  const Limits limits_;
  const Ask ask_;
  CancellationManager stopping_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool armed_ GUARDED_BY(mutex_) = false;
  bool asked_ GUARDED_BY(mutex_) = false;  // and not answered
  bool greeted_ GUARDED_BY(mutex_) = false;
  Timer::Entry entry_ GUARDED_BY(mutex_);
  Clock::TimePoint heard_ GUARDED_BY(mutex_){};
  Clock::TimePoint ticked_ GUARDED_BY(mutex_){};
  std::list<Call*> calls_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
