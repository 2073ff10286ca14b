// SPDX-License-Identifier: Apache-2.0
// Executor: a compiled program. Made once, run in many steps, by many threads at once.
//
//   ASSIGN_OR_RETURN(auto executor, MakeExecutor(std::move(program), {}));
//   StepContext* const contexts[] = {&context};
//   RETURN_IF_ERROR(executor->Run({.contexts = contexts, .feeds = feeds, .fetches = fetches}));
//
// Run() blocks; the calling thread runs the step and takes help from the queue's threads only where
// it pays. With no queue, or one without threads, everything runs in the caller. RunAsync() returns
// at once: the step runs on threads of the queue and holds none while it waits.
// Ownership: owns its program; what a Step points at is the caller's, until Run returns or `done`
// is called.
// Threads: Run and RunAsync from any, several steps at once.
// Errors: the first one wins, carries node, operation, device, input shapes and creation site, and
// cancels the contexts' CancellationManager (which all contexts of a step share). Cancelling the
// manager from outside ends the step with its reason. A fetch that is dead is InvalidArgument.
// Afterwards the executor works as before. Dead values: an empty tensor. A node that `may_be_dead`
// says so by leaving an output empty; one that `runs_when_dead` gets empty inputs.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "thalweg/base/idle_poller.h"
#include "thalweg/base/work_budget.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/executor/called_nodes.h"
#include "thalweg/executor/frame_observer.h"
#include "thalweg/executor/memory_plan.h"
#include "thalweg/executor/program.h"
#include "thalweg/executor/step_tasks.h"
#include "thalweg/executor/step_trace.h"
#include "thalweg/kernel/kernel_execution.h"
#include "thalweg/kernel/step_context.h"

namespace thalweg {

class Executor {
 public:
  struct Step {
    std::span<StepContext* const> contexts;  // one for each device of the program
    std::span<const Tensor> feeds;
    std::span<Tensor> fetches;   // set when Run() succeeds
    WorkQueue* queue = nullptr;  // whose threads may help
    // What the contexts have as work, if it may have the step's caller as a thread.
    KernelExecution* work = nullptr;
    IdlePoller* idle = nullptr;  // of the calling thread; null: it spins a little
    // One of a row of equal steps that a thread of its own runs: it sleeps at once where it would
    // spin, and kernels may do what the next steps would (WaitingKernel::TryRepeated).
    bool is_repeated = false;
    StepTrace* trace = nullptr;       // collects one record a node; null costs nothing
    FrameObserver* frames = nullptr;  // told of each frame; may be null
    CalledNodes* called = nullptr;    // is told which kernels run; may be null
    StepTasks* tasks = nullptr;       // is given the step's threads; may be null
    uint64_t tag = 0;                 // of the root frame: a step inside of another has its own
  };

  virtual ~Executor() = default;
  virtual Status Run(const Step& step) = 0;
  // What the step points at lives until `done`, which is called once, without a lock, from a thread
  // that runs a task of `step.queue`. That queue never runs a task inside of Schedule().
  virtual void RunAsync(const Step& step, std::function<void(Status)> done) = 0;
  virtual const Program& program() const = 0;
  // What a step with values of these sizes holds at once. Not for the hot path: walks the plan.
  virtual MemoryPlan PlanMemory(const OutputBytes& bytes) const = 0;
};

struct ExecutorOptions {
  // How many threads a step can use besides its caller's. 0 compiles for the caller alone.
  int threads = 0;
  // For comparison: one node a unit; no loop as one instruction. The results are the same.
  bool basic_blocks = true;
  bool structured_loops = true;
  WorkBudget* work = nullptr;  // of this compilation; null: without end
};

// InvalidArgument for a program that cannot run: a cycle without a NextIteration, values of
// different frames in one node.
Result<std::unique_ptr<Executor>> MakeExecutor(Program program, const ExecutorOptions& options);

}  // namespace thalweg
