// SPDX-License-Identifier: Apache-2.0
// WaitingAnswer: the answer of a worker's call that waits: what comes first, or the reason when the
// call is cancelled.
//
//   const auto answer = WaitingAnswer::Make(std::move(done), call.cancellation);
//   Later([answer] { answer->Give(Work()); });
//
// Ownership: whoever gives the answer holds it; the cancellation lives until then.
// Threads: any; what comes second is dropped.
// Errors: whatever comes first: the answer's, or the reason of the cancellation.
#pragma once

#include <memory>
#include <utility>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/worker/worker.h"

namespace thalweg {

class WaitingAnswer {
 public:
  WaitingAnswer(Worker::Done done, CancellationManager* cancellation)
      : done_(std::move(done)), cancellation_(cancellation) {}

  static std::shared_ptr<WaitingAnswer> Make(Worker::Done done, CancellationManager* cancellation) {
    auto answer = std::make_shared<WaitingAnswer>(std::move(done), cancellation);
    answer->Watch(answer);
    return answer;
  }
  void Give(Result<OwnedMessage> response) EXCLUDES(mutex_) {
    Worker::Done done;
    {
      MutexLock lock(mutex_);
      done = std::exchange(done_, nullptr);
    }
    if (!done) return;
    until_cancelled_.End();
    done(std::move(response));
  }
  bool is_given() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return done_ == nullptr;
  }

 private:
  void Watch(const std::weak_ptr<WaitingAnswer>& self) EXCLUDES(mutex_) {
    const bool begun = until_cancelled_.Begin(cancellation_, [self](const Status& why) {
      if (const auto answer = self.lock()) answer->Give(why);
    });
    if (!begun) Give(cancellation_->Reason());
  }

  Mutex mutex_;
  Worker::Done done_ GUARDED_BY(mutex_);  // null: it was given
  CancellationManager* const cancellation_;
  ScopedCancellation until_cancelled_;
};

}  // namespace thalweg
