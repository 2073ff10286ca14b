// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/blocking_call_pool.h"

#include <system_error>
#include <utility>

namespace thalweg {

BlockingCallPool::~BlockingCallPool() {
  std::vector<Thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    changed_.NotifyAll();
  }
}

Status TooManyCalls(int most) {
  return ResourceExhausted("the server runs at most ", most,
                           " calls at once (--max-calls), and all are taken");
}

Status BlockingCallPool::Run(std::function<void()> call) {
  MutexLock lock(mutex_);
  if (stopping_) return Cancelled("the server is stopping");
  if (static_cast<size_t>(idle_) > waiting_.size()) {
    waiting_.push_back(std::move(call));
    changed_.NotifyOne();
    return OkStatus();
  }
  if (threads_.size() >= static_cast<size_t>(most_)) {
    return TooManyCalls(most_);
  }
  waiting_.push_back(std::move(call));
  try {
    threads_.emplace_back("call", [this] { Loop(); });
  } catch (const std::system_error& e) {
    waiting_.pop_back();
    return ResourceExhausted("the system gives no thread for the call: ", e.what());
  }
  return OkStatus();
}

void BlockingCallPool::Loop() {
  for (;;) {
    std::function<void()> call;
    {
      MutexLock lock(mutex_);
      ++idle_;
      while (waiting_.empty() && !stopping_) changed_.Wait(mutex_);
      --idle_;
      if (waiting_.empty()) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    call();
  }
}

}  // namespace thalweg
