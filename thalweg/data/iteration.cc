// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/iteration.h"

#include <algorithm>
#include <utility>

#include "thalweg/kernel/caught_exception.h"

namespace thalweg {

std::shared_ptr<Pipeline> Iteration::PipelineOf(const DatasetPtr& dataset,
                                                const StepContext& step) {
  auto pipeline = std::make_shared<Pipeline>();
  pipeline->queue = step.queue->Parallelism() > 0 ? step.queue : nullptr;
  pipeline->allocator = &step.device->allocator();
  pipeline->dataset = dataset;
  pipeline->parallelism = std::max(step.queue->Parallelism(), 1);
  pipeline->tuner = std::make_shared<Tuner>(pipeline->parallelism);
  return pipeline;
}

Result<std::shared_ptr<Iteration>> Iteration::Make(const DatasetPtr& dataset,
                                                   const StepContext& step) {
  std::shared_ptr<Pipeline> pipeline = PipelineOf(dataset, step);
  ASSIGN_OR_RETURN(StagePtr stage, dataset->MakeStage(pipeline));
  return std::make_shared<Iteration>(*step.queue, std::move(pipeline), std::move(stage));
}

std::optional<Result<Poll>> Iteration::TryDo(const CancellationManager* step, const Work& work) {
  const Entry entry(*this);
  if (!entry) return std::nullopt;
  {
    MutexLock lock(mutex_);
    if (!waiters_.empty()) return std::nullopt;
  }
  const Poller poller(pipeline_, weak_from_this(), step);
  Asked();
  Result<Poll> result = work(poller, *stage_);
  if (result.ok() && *result == Poll::kPending) return std::nullopt;
  Given(result);
  return result;
}

void Iteration::Asked() {
  if (!given_.has_value()) return;
  const auto away = SystemClock().Now() - *std::exchange(given_, std::nullopt);
  pipeline_->tuner->Used(away, pipeline_->allocator->Stats());
}

void Iteration::Given(const Result<Poll>& result) {
  if (pipeline_->tuner == nullptr || !pipeline_->tuner->is_on()) return;
  if (result.ok() && *result == Poll::kElement) given_ = SystemClock().Now();
}

void Iteration::Do(CancellationManager* step, Work work, Done done) {
  auto waiter = std::make_shared<Waiter>(step, std::move(work), std::move(done));
  // A cancellation before it is in line finds nothing; its turn will see that.
  waiter->cancellation.emplace(step, [self = shared_from_this(), this, waiting = waiter.get()](
                                         const Status& reason) { Cancel(waiting, reason); });
  {
    MutexLock lock(mutex_);
    waiters_.push_back(std::move(waiter));
  }
  Wake();
}

void Iteration::Stop() {
  pipeline_->cancellation.Cancel(Cancelled("the iterator was made anew, or is gone"));
  bool any = false;
  {
    MutexLock lock(mutex_);
    any = !waiters_.empty();
  }
  if (any) Wake();  // for a turn that tells them
}

void Iteration::Turn() {
  while (true) {
    WaiterPtr waiter;
    std::vector<WaiterPtr> cancelled;
    {
      MutexLock lock(mutex_);
      cancelled = std::exchange(cancelled_, {});
      if (waiters_.empty()) return;
      waiter = std::move(waiters_.front());
      waiters_.pop_front();
    }
    const Poller poller(pipeline_, weak_from_this(), waiter->step);
    Result<Poll> result = Poll::kPending;
    if (const Status wanted = poller.Look(); !wanted.ok()) {
      result = wanted;
    } else {
      try {
        Asked();
        result = waiter->work(poller, *stage_);
        Given(result);
      } catch (...) {  // nobody else would on a thread of the session
        result = CaughtException();
      }
    }
    if (result.ok() && *result == Poll::kPending) {
      MutexLock lock(mutex_);
      // A cancellation that came meanwhile has not found it.
      const Status wanted = poller.Look();
      if (wanted.ok()) {
        waiters_.push_front(std::move(waiter));
        return;
      }
      result = wanted;
    }
    waiter->cancellation.reset();
    std::exchange(waiter->done, nullptr)(std::move(result));
  }
}

// Inside of the callback of the waiter's cancellation, which the waiter must outlive.
void Iteration::Cancel(const Waiter* waiter, const Status& reason) {
  WaiterPtr found;
  {
    MutexLock lock(mutex_);
    const auto place = std::find_if(waiters_.begin(), waiters_.end(),
                                    [&](const WaiterPtr& w) { return w.get() == waiter; });
    if (place == waiters_.end()) return;
    found = std::move(*place);
    waiters_.erase(place);
  }
  found->cancellation->End();  // what it is of may be gone once `done` was called
  {
    MutexLock lock(mutex_);
    cancelled_.push_back(found);
  }
  Wake();
  std::exchange(found->done, nullptr)(reason);
}

}  // namespace thalweg
