// SPDX-License-Identifier: Apache-2.0
// OpenSteps: the steps that run now in an environment, for who asks why something does not end.
// Costs nothing while nobody asks.
//
//   for (const OpenStep& step : environment.open_steps().List()) Show(step);
//
// Ownership: sources are their owners', until Remove has returned; what List gives is a copy.
// Threads: every member from any thread.
// Errors: none.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"

namespace thalweg {

struct OpenStep {
  int64_t id = 0;
  std::vector<std::string> waiting;  // nodes, each with what it waits for
  std::vector<std::string> running;  // nodes whose kernels compute: "MatMul 'product'"
  uint64_t events = 0;               // rises when a node begins or ends to wait
  bool computes() const { return waiting.empty() || !running.empty(); }
};

class StepSource {
 public:
  virtual void AppendOpenSteps(std::vector<OpenStep>* steps) = 0;

 protected:
  ~StepSource() = default;
};

class OpenSteps {
 public:
  // A source lives until Remove() has returned.
  void Add(StepSource* source) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    sources_.insert(source);
  }
  void Remove(StepSource* source) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    sources_.erase(source);
  }
  std::vector<OpenStep> List() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::vector<OpenStep> steps;
    for (StepSource* source : sources_) source->AppendOpenSteps(&steps);
    return steps;
  }

 private:
  mutable Mutex mutex_;
  std::set<StepSource*> sources_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
