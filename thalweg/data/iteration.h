// SPDX-License-Identifier: Apache-2.0
// Iteration: one pass over a dataset, asked by any number of steps at once, served in turn. Who
// finds an element ready gets it in its own thread; who must wait holds none.
//
//   ASSIGN_OR_RETURN(auto iteration, Iteration::Make(dataset, ctx.step()));
//   if (auto polled = iteration->TryDo(&cancellation, work)) ...   // done, in this thread
//   iteration->Do(&cancellation, work, told);                      // later
//
// Ownership: shared; Stop() ends what it does in the background.
// Threads: all calls from any.
// Errors: come to `done`: those of the stage, Cancelled after Stop(), the reason of the step's
// cancellation.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/data/dataset.h"
#include "thalweg/kernel/step_context.h"

namespace thalweg {

class Iteration : public Actor {
 public:
  // Something that is done with the stage: asks for an element, or saves. Called again after
  // kPending.
  using Work = std::function<Result<Poll>(const Poller& poller, Stage& stage)>;
  using Done = std::function<void(Result<Poll>)>;

  // On the threads and in the memory of the step's device.
  static Result<std::shared_ptr<Iteration>> Make(const DatasetPtr& dataset,
                                                 const StepContext& step);
  // What its stages share.
  static std::shared_ptr<Pipeline> PipelineOf(const DatasetPtr& dataset, const StepContext& step);
  Iteration(WorkQueue& queue, std::shared_ptr<Pipeline> pipeline, StagePtr stage)
      : Actor(queue), pipeline_(std::move(pipeline)), stage_(std::move(stage)) {}
  ~Iteration() override { Stop(); }

  // Nothing, and nothing has happened, where it must wait or others do.
  std::optional<Result<Poll>> TryDo(const CancellationManager* step, const Work& work)
      EXCLUDES(mutex_);
  // `done` is called once, without a lock.
  void Do(CancellationManager* step, Work work, Done done) EXCLUDES(mutex_);
  // Everything that waits, and comes later, is Cancelled.
  void Stop() EXCLUDES(mutex_);

 private:
  struct Waiter {
    Waiter(CancellationManager* of, Work what, Done told)
        : step(of), work(std::move(what)), done(std::move(told)) {}
    CancellationManager* const step;
    const Work work;
    Done done;
    std::optional<ScopedCancellation> cancellation;
  };
  using WaiterPtr = std::shared_ptr<Waiter>;

  // Somebody asks for what comes next, or has got it: so the tuner learns how long elements are
  // used. By who has entered.
  void Asked();
  void Given(const Result<Poll>& result);
  void Turn() override EXCLUDES(mutex_);
  void Cancel(const Waiter* waiter, const Status& reason) EXCLUDES(mutex_);

  const std::shared_ptr<Pipeline> pipeline_;
  const StagePtr stage_;                         // of who has entered the task
  std::optional<SystemClock::TimePoint> given_;  // the same; until somebody asks again
  Mutex mutex_;
  std::deque<WaiterPtr> waiters_ GUARDED_BY(mutex_);
  // Have been told; the callbacks of their cancellation may still run.
  std::vector<WaiterPtr> cancelled_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
