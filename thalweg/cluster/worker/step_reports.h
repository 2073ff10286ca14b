// SPDX-License-Identifier: Apache-2.0
// StepReports: what this task tells of its open steps: who waits, for what, and whether anything
// moves.
//
//   uint64_t all = 0;
//   for (const StepReport& report : reports.List(&sessions, &all)) Add(report);
//
// A step that computes makes progress as long as the process uses a processor: nothing else is
// counted while nodes run. Threads: every member from any.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/health/beat.h"
#include "thalweg/cluster/worker/channel_steps.h"
#include "thalweg/cluster/worker/task_step.h"
#include "thalweg/session/environment.h"

namespace thalweg {

class StepReports {
 public:
  StepReports(Environment& environment, StepTable& steps, ChannelSteps& channels)
      : environment_(environment), steps_(steps), channels_(channels) {}
  // Of the sessions, or of all when null. `all`: progress of the whole task.
  std::vector<StepReport> List(const std::vector<std::string>* sessions, uint64_t* all)
      EXCLUDES(mutex_);

 private:
  uint64_t Computed() EXCLUDES(mutex_);
  struct Seen {
    int64_t id = 0;
    std::vector<std::string> asked;
    std::vector<std::string> values;
    uint64_t events = 0;
  };
  // Steps of the sessions; `all` counts those of the others, too.
  std::vector<Seen> Look(const std::vector<std::string>* sessions, uint64_t* all);

  Environment& environment_;
  StepTable& steps_;
  ChannelSteps& channels_;
  Mutex mutex_;
  Clock::TimePoint sampled_ GUARDED_BY(mutex_){};
  int64_t cpu_micros_ GUARDED_BY(mutex_) = 0;
  uint64_t computed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
