// SPDX-License-Identifier: Apache-2.0
// PartitionRunner: runs the parts of a step where their devices are. All that differs between a
// local and a distributed session.
//
//   ASSIGN_OR_RETURN(auto prepared, runner.Prepare({parts, num_feeds, num_fetches}));
//   RETURN_IF_ERROR(prepared->Run({.step_id = 7, .feeds = feeds, .fetches = fetches, ...}));
//
// Ownership: a PreparedStep may outlive the session's plan cache, not its runner.
// Threads: Run from any thread, several at once.
// Errors: of Run: those of the step, DeadlineExceeded, the reason of a cancellation; of Prepare:
// NotFound for a kernel that is not there, those of the budget.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/deadline.h"
#include "thalweg/base/idle_poller.h"
#include "thalweg/kernel/rendezvous.h"
#include "thalweg/passes/partition.h"
#include "thalweg/session/options.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

class Allocator;
class CollectiveRemote;
class FrameObserver;

// One Run as a runner sees it.
struct StepRequest {
  int64_t step_id = 0;
  std::span<const Tensor> feeds;                // by number of the signature
  std::span<Tensor> fetches;                    // by number; set when the step succeeds
  std::chrono::nanoseconds timeout{0};          // 0: none
  std::chrono::nanoseconds spent{0};            // of the caller's timeout, before this request
  CancellationManager* cancellation = nullptr;  // from outside; may be null
  Rendezvous* feeds_and_fetches = nullptr;      // of a partial run
  Rendezvous* rendezvous = nullptr;             // with other tasks; null: the step has its own
  CollectiveRemote* collectives = nullptr;      // with other tasks; null: all members are here
  int64_t collective_graph_key = 0;             // 0: no member is in another step
  Allocator* allocator = nullptr;               // of what kernels make; null: the device's
  bool inline_in_caller = false;
  bool is_repeated = false;    // RunOptions::is_repeated
  IdlePoller* idle = nullptr;  // of the calling thread, while the step has nothing for it
  StepStats* stats = nullptr;  // filled when not null
  int64_t trace_bytes = SessionOptions::kTraceBytes;  // SessionOptions::trace_bytes
  bool is_watched = false;                            // RunOptions::is_watched
  FrameObserver* frames = nullptr;  // told of the loop frames of local parts; may be null
};

class PreparedStep {
 public:
  virtual ~PreparedStep() = default;
  virtual Status Run(const StepRequest& request) = 0;
  // Returns when the step has begun, which runs on threads of the environment and holds none while
  // it waits. What the request points at, and this object, live until `done` is called, once and
  // without a lock. Without `stats`, `idle` and `inline_in_caller`, which are a caller's.
  virtual void RunAsync(const StepRequest& request, std::function<void(Status)> done) = 0;
  // What a step with these feeds will hold at once.
  virtual Result<StepMemory> PlanMemory(std::span<const Tensor> feeds) const = 0;
  // What it does, for people.
  virtual std::string Describe() const = 0;
};

struct PrepareRequest {
  const std::vector<StepPartition>& parts;
  int num_feeds = 0;
  int num_fetches = 0;
  WorkBudget* work = nullptr;  // of the preparation; null: without end
};

class PartitionRunner {
 public:
  virtual ~PartitionRunner() = default;
  // The parts stay alive as long as the PreparedStep.
  virtual Result<std::unique_ptr<PreparedStep>> Prepare(const PrepareRequest& request) = 0;
  // Cancels what runs with `reason`, refuses later steps.
  virtual void Cancel(Status reason) = 0;
  // Cancel(), and returns when nothing runs any more.
  virtual void Stop(Status reason) = 0;
};

}  // namespace thalweg
