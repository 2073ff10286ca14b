// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/element_function.h"

#include "thalweg/kernel/caught_exception.h"

namespace thalweg {

std::vector<Tensor> ElementCall::Arguments() const {
  std::vector<Tensor> arguments = element_;
  arguments.insert(arguments.end(), function_->captured.begin(), function_->captured.end());
  return arguments;
}

void ElementCall::Begin() {
  if (!function_->function->never_waits()) {
    if (!claimed_.exchange(true)) Start();
    return;
  }
  if (pipeline_->queue == nullptr) return;
  ScheduleClosure(*pipeline_->queue, [call = shared_from_this()] {
    if (!call->claimed_.exchange(true)) call->RunHere();
  });
}

Result<Poll> ElementCall::Get(const Poller& poller, Element* out) {
  if (!claimed_.exchange(true)) {
    function_->function->never_waits() ? RunHere() : Start();
  }
  MutexLock lock(mutex_);
  if (!ended_) {
    waits_ = poller.actor();
    return Poll::kPending;
  }
  if (!result_.ok()) return result_.status();
  *out = std::move(*result_);
  return Poll::kElement;
}

bool ElementCall::ended() {
  MutexLock lock(mutex_);
  return ended_;
}

// On a thread of the session nobody else would catch what is thrown where there is no memory.
void ElementCall::RunHere() {
  Element results;
  Status status;
  try {
    status = function_->function->Run(Arguments(), &pipeline_->cancellation, &results);
  } catch (...) {
    status = CaughtException();
  }
  if (status.ok()) return End(std::move(results));
  End(std::move(status));
}

void ElementCall::Start() {
  function_->function->Start(
      Arguments(), &pipeline_->cancellation,
      [call = shared_from_this()](Result<Element> results) { call->End(std::move(results)); });
}

void ElementCall::End(Result<Element> result) {
  std::shared_ptr<Actor> waits;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    result_ = std::move(result);
    waits = waits_.lock();
  }
  if (waits != nullptr) waits->Wake();
}

}  // namespace thalweg
