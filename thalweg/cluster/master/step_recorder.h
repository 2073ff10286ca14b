// SPDX-License-Identifier: Apache-2.0
// StepRecorder: traces of a master's steps for who looks on. While nobody does, a step reads one
// atomic; while somebody does, each step that may be meant is traced, and its trace thrown away
// unless it is.
//
//   Result<Recording> got = recorder.Record({.slower_than = limit}, cancellation);  // one thread
//   RecordedRun run(recorder, session, names, &options, metadata);                   // the others
//   Status status = run.End(Run(options, run.metadata()));
//
// What the step's client asked for is as it would be: its metadata has what it wished and no more.
// Several may record at once; a trace that several keep is there once.
// Ownership: outlives its runs and calls.
// Threads: every member from any; Record blocks; a run is one thread's.
// Errors: of Record: Cancelled when its caller leaves or the server stops, ResourceExhausted where
// many record already; that nothing came before the timeout is none.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/debug/step_recording.h"
#include "thalweg/session/options.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

// What a step fetches and runs besides.
struct StepNames {
  std::span<const std::string> fetches;
  std::span<const std::string> targets;
};

class StepRecorder {
 public:
  explicit StepRecorder(Clock& clock) : clock_(clock) {}
  // Returns when the steps are there, at the timeout, or with the caller, who may be null.
  Result<Recording> Record(const RecordRequest& request, CancellationManager* caller)
      EXCLUDES(mutex_);
  // Ends the recording of that number with what it has. False: there is none.
  bool End(uint64_t id, std::string_view why) EXCLUDES(mutex_);
  // Ends all calls of Record, with that reason where they have nothing; later ones end at once.
  void Stop(const Status& why) EXCLUDES(mutex_);
  // How many record now.
  size_t num_listeners() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return listeners_.size();
  }
  bool is_armed() const { return armed_.load(std::memory_order_relaxed); }

 private:
  friend class RecordedRun;
  struct Listener {
    const RecordRequest request;
    Recording recording = {};
    int64_t bytes = 0;
    bool is_full = false;
    bool is_over() const {
      return is_full || !recording.ended_by.empty() ||
             static_cast<int64_t>(recording.steps.size()) >= request.steps;
    }
  };
  using Listeners = std::vector<std::shared_ptr<Listener>>;

  // Those that may keep a step which begins now.
  Listeners Begin(std::string_view session, const StepNames& names) EXCLUDES(mutex_);
  // It has ended, and those of the listeners that are given keep it.
  void End(const Listeners& began, const Listeners& keep, const KeptStep* step) EXCLUDES(mutex_);

  Clock& clock_;
  std::atomic<bool> armed_{false};
  Mutex mutex_;
  CondVar changed_;
  Listeners listeners_ GUARDED_BY(mutex_);
  Status stopped_ GUARDED_BY(mutex_);  // not OK: why
};

// A step that may be recorded.
class RecordedRun {
 public:
  // `options` and `asked`, which may be null, are those of the client.
  RecordedRun(StepRecorder& recorder, std::string_view session, const StepNames& names,
              RunOptions* options, RunMetadata* asked)
      : asked_(asked) {
    if (recorder.is_armed()) Begin(recorder, session, names, options);
  }
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;
  ~RecordedRun();

  // To be filled by the run.
  RunMetadata* metadata() { return traced_ == nullptr ? asked_ : &traced_->metadata; }
  // The step has ended so, which is given back.
  Status End(Status status);

 private:
  // What only a step has that is traced for somebody.
  struct Traced {
    StepRecorder& recorder;
    StepRecorder::Listeners listeners;
    RunOptions options;  // as the client gave them
    KeptStep step;
    Clock::TimePoint begin;
    RunMetadata metadata = {};
  };
  void Begin(StepRecorder& recorder, std::string_view session, const StepNames& names,
             RunOptions* options);
  void GiveAsked();

  RunMetadata* const asked_;
  std::unique_ptr<Traced> traced_;  // null: nobody records it, or it has ended
};

}  // namespace thalweg
