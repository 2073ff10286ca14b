// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/iterator.h"

#include <utility>

#include "thalweg/data/state.h"

namespace thalweg {

std::string Iterator::DebugString() const {
  MutexLock lock(mutex_);
  return dataset_ == nullptr ? "an iterator without a dataset"
                             : StrCat("an iterator over a ", dataset_->DebugString());
}

Status Iterator::Begin(const DatasetPtr& dataset, const StepContext& step) {
  RETURN_IF_ERROR(spec_.Admits(dataset->spec()));
  ASSIGN_OR_RETURN(std::shared_ptr<Iteration> iteration, Iteration::Make(dataset, step));
  Replace(dataset, std::move(iteration));
  return OkStatus();
}

Status Iterator::Restore(IteratorState state, const StepContext& step) {
  DatasetPtr dataset;
  {
    MutexLock lock(mutex_);
    dataset = dataset_;
  }
  if (dataset == nullptr) {
    return FailedPrecondition(
        "the iterator has no dataset yet whose state could be restored: run its initializer "
        "before");
  }
  RETURN_IF_ERROR(CheckLineage(*dataset, state.lineage));
  ASSIGN_OR_RETURN(std::shared_ptr<Iteration> iteration, Iteration::Make(dataset, step));
  StateReader reader(std::move(state.tensors));
  const std::optional<Result<Poll>> restored =
      iteration->TryDo(nullptr, [&](const Poller& poller, Stage& stage) -> Result<Poll> {
        RETURN_IF_ERROR(stage.Restore(poller, reader));
        RETURN_IF_ERROR(reader.End());
        return Poll::kElement;
      });
  if (!restored.has_value()) return Internal("a new iterator is in use");
  RETURN_IF_ERROR(restored->status());
  Replace(dataset, std::move(iteration));
  return OkStatus();
}

Result<std::shared_ptr<Iteration>> Iterator::Current() const {
  MutexLock lock(mutex_);
  if (iteration_ != nullptr) return iteration_;
  return FailedPrecondition(
      "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
      "the initializer operation for this iterator before getting the next element.");
}

void Iterator::Replace(const DatasetPtr& dataset, std::shared_ptr<Iteration> iteration) {
  {
    MutexLock lock(mutex_);
    dataset_ = dataset;
    std::swap(iteration_, iteration);
  }
  if (iteration != nullptr) iteration->Stop();
}

void Iterator::End() { Replace(nullptr, nullptr); }

}  // namespace thalweg
