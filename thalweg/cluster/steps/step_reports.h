// SPDX-License-Identifier: Apache-2.0
// StepReports: what this task tells of its open steps: who waits, for what, and whether anything
// moves.
//
//   uint64_t all = 0;
//   for (const StepReport& report : reports.List(&sessions, &all)) Add(report);
//
// A step that computes makes progress as long as the process uses a processor: nothing else is
// counted while nodes run.
// Ownership: environment, steps and channels outlive it; reports are the caller's.
// Threads: every member from any.
// Errors: none.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/health/heartbeat_payload.h"
#include "thalweg/cluster/steps/rpc_rendezvous.h"
#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/session/environment.h"

namespace thalweg {

class StepReports {
 public:
  StepReports(Environment& environment, RpcStepTable& steps, StepService& channels)
      : environment_(environment), steps_(steps), channels_(channels) {}
  // The steps of the sessions, or all when null. `all`: progress of the whole task.
  std::vector<StepReport> List(const std::vector<std::string>* sessions, uint64_t* all)
      EXCLUDES(mutex_);

 private:
  uint64_t Computed() EXCLUDES(mutex_);
  // Steps of the sessions; `all` counts those of the others, too.
  std::vector<StepSnapshot> Look(const std::vector<std::string>* sessions, uint64_t* all);

  Environment& environment_;
  RpcStepTable& steps_;
  StepService& channels_;
  Mutex mutex_;
  Clock::TimePoint sampled_ GUARDED_BY(mutex_){};
  int64_t cpu_micros_ GUARDED_BY(mutex_) = 0;
  uint64_t computed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
