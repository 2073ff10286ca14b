// SPDX-License-Identifier: Apache-2.0
// StepCoordinator: a step over several tasks, as the task that drives it has it: starts the parts,
// cancels them after the first error, collects what they fetch.
//
//   StepCoordinator step(request, rendezvous, hub, now);
//   step.Start(lowest_open, now);       // then the part of this task runs, and EndHere() is called
//   Status status = step.Await(clock);  // when nobody writes to the request any more
//
// Ownership: the request outlives Await.
// Threads: Start and Await from one; the others from any.
// Errors: of Await, the step's root cause; where the request says so, with the task it comes from.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/cluster/steps/channel_rendezvous.h"
#include "thalweg/cluster/steps/coordinator_state.h"
#include "thalweg/cluster/transport/channel_hub.h"

namespace thalweg {

// A part on another task.
struct RemoteStepPart {
  std::shared_ptr<Connection> connection;
  uint64_t plan = 0;
  uint64_t incarnation = 0;
  std::vector<std::pair<int, ChannelEdge>> feeds;    // number in the step
  std::vector<std::pair<int, ChannelEdge>> fetches;  // number in the step
  uint32_t trace_edge = 0;                           // of a traced step
};

struct CoordinateRequest {
  uint64_t session = 0;
  std::span<const RemoteStepPart> parts;
  std::shared_ptr<const ChannelEdges> edges;                // of the part of this task
  std::function<Status(ChannelRendezvous& step)> run_here;  // may be null
  std::span<const Tensor> feeds;
  std::span<Tensor> fetches;
  TraceWish trace = {};      // of the parts, all of which know kTracedSteps where there is one
  std::span<Tensor> traces;  // by part: what it has told, as bytes; empty: nothing
  std::function<void(uint64_t step)> opened;  // may be null: hears the step's number, first of all
  std::chrono::nanoseconds timeout{0};        // as the parts hear it; 0: none
  std::chrono::nanoseconds grace{0};          // for them to say, after it, why they have not ended
  CancellationManager* cancellation = nullptr;
  bool names_tasks = true;  // an error says which task it comes from
};

class StepCoordinator {
 public:
  // `request` outlives Await.
  StepCoordinator(const CoordinateRequest& request, std::shared_ptr<ChannelRendezvous> rendezvous,
                  ChannelHub& hub, StepTime now);

  ChannelRendezvous& rendezvous() { return *rendezvous_; }
  // "the end of its part of TASK" for each that has not answered.
  void AppendOwed(std::vector<std::string>* owed) EXCLUDES(mutex_);
  void Start(uint64_t lowest_open, StepTime now);
  // The part of this task has ended.
  void EndHere() { here_done_.store(true, std::memory_order_release); }
  Status Await(const Clock& clock) EXCLUDES(mutex_);

  // What happens to it. Of a connection that takes no part: nothing.
  void Done(const Connection& connection, StepTime now) EXCLUDES(mutex_);
  // Whether a tensor is what a part tells of its run, which says that it is done.
  bool IsTrace(const Connection& connection, const TensorHead& head) const;
  // Then the part both answers and tells, in any order: what it has not told ten seconds after
  // its answer is missing. Not of tasks of older releases, which tell nothing of failures.
  bool TracesFailures(const Connection& connection) const;
  void Traced(const Connection& connection, const TensorHead& head, Tensor told, StepTime now)
      EXCLUDES(mutex_);
  // By a connection of a part; an empty tensor: what it told found no room.
  void Told(const Connection& connection, Tensor told) EXCLUDES(mutex_);
  void Failed(const Connection& connection, const Status& why, bool derived, StepTime now)
      EXCLUDES(mutex_);
  void Lost(const Connection& connection, const Status& why, StepTime now) EXCLUDES(mutex_);
  void Stop(const Status& why, bool derived, StepTime now) EXCLUDES(mutex_);

 private:
  void StartPart(const RemoteStepPart& part, uint64_t lowest_open, StepTime now);
  void Expect(const ChannelEdge& edge, size_t fetch);
  void Tick(StepTime now) EXCLUDES(mutex_);
  void Fetched(const Status& status) EXCLUDES(mutex_);
  int FindPart(const Connection& connection) const;
  // Beside its answer.
  bool OwesTrace(size_t which) const REQUIRES(mutex_);
  void AwaitTraces(StepTime now) REQUIRES(mutex_);
  void GiveUpTraces() REQUIRES(mutex_);
  void React(const CoordinatorState::Reaction& reaction) EXCLUDES(mutex_);
  void NoteEnd() REQUIRES(mutex_);
  std::string Unanswered() REQUIRES(mutex_);

  const CoordinateRequest& request_;                      // until Await returns
  std::vector<std::shared_ptr<Connection>> connections_;  // of the parts
  std::vector<uint32_t> trace_edges_;                     // of the parts
  const bool names_tasks_;
  const bool is_traced_;
  const bool traces_failures_;
  const std::shared_ptr<ChannelRendezvous> rendezvous_;
  ChannelHub& hub_;
  const StepTime deadline_;
  std::atomic<bool> ended_{false};  // all parts but this task's
  std::atomic<bool> here_done_;
  std::atomic<bool> limited_{false};  // since Await looked, there is a limit to the wait
  Mutex mutex_;
  CoordinatorState state_ GUARDED_BY(mutex_);
  std::vector<bool> has_answered_ GUARDED_BY(mutex_), has_told_ GUARDED_BY(mutex_);  // by part
  // Then those who have answered are not waited for any more.
  StepTime traces_until_ GUARDED_BY(mutex_) = StepTime::max();
  size_t open_fetches_ GUARDED_BY(mutex_) = 0;
  Status late_error_ GUARDED_BY(mutex_);  // after all parts were done
};

}  // namespace thalweg
