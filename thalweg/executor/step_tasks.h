// SPDX-License-Identifier: Apache-2.0
// StepTasks: the threads of one step, for steps that its kernels begin: a task runs on one of them,
// later, never inside of Schedule().
//
//   executor->Run({.tasks = &tasks, ...});        // meanwhile, in an asynchronous kernel:
//   inner->RunAsync({.queue = &tasks, ...}, done);
//
// Ownership: belongs to whoever runs steps, one after the other.
// Threads: Schedule from any, by an asynchronous kernel that has not called its Done; the task is
// run before the step ends.
// Errors: none; a task that is scheduled is run, also when the step fails.
#pragma once

#include "thalweg/base/work_queue.h"

namespace thalweg {

class StepTasks : public WorkQueue {
 public:
  void Schedule(Task task) override { step_->Schedule(task); }
  int Parallelism() const override { return 1; }
  int CurrentThreadIndex() const override { return -1; }

  // The executor's: the step that begins.
  void Bind(WorkQueue* step) { step_ = step; }

 private:
  WorkQueue* step_ = nullptr;
};

}  // namespace thalweg
