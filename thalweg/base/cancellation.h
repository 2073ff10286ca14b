// SPDX-License-Identifier: Apache-2.0
// CancellationManager: tells everything that waits on behalf of a step that the step has ended
// early.
//
//   ScopedCancellation until_cancelled(&manager, [this](const Status& why) { Wake(why); });
//   ... wait ...
//
// A manager may have a parent (step under session): cancelling the parent cancels the child, never
// the reverse.
// Ownership: callbacks may point at anything that lives until Deregister() returns. The parent
// outlives the child.
// Threads: all calls from any thread. Callbacks run once each, in
// the thread that cancels, with no lock held, so they may call anything here, Deregister() of their
// own token included.
// Errors: the first reason wins.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "thalweg/base/cancelled_step.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"

namespace thalweg {

class CancellationManager {
 public:
  using Token = uint64_t;
  using Callback = std::function<void()>;

  explicit CancellationManager(CancellationManager* parent = nullptr);
  CancellationManager(const CancellationManager&) = delete;
  CancellationManager& operator=(const CancellationManager&) = delete;
  ~CancellationManager();

  // Runs all callbacks registered so far and refuses new ones. Later calls do nothing.
  // `reason` must be an error.
  void Cancel(Status reason = CancelledStep()) EXCLUDES(mutex_);

  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Why; ok while not cancelled.
  Status Reason() const EXCLUDES(mutex_);

  // False, and the callback is dropped unrun, when cancelled already.
  [[nodiscard]] bool Register(Callback callback, Token* token) EXCLUDES(mutex_);

  // True: the callback has not run and never will. False: it has run to its end, or this call comes
  // from inside it. Waits while another thread is running it.
  bool Deregister(Token token) EXCLUDES(mutex_);

 private:
  CancellationManager* const parent_;
  Token parent_token_ = 0;
  bool registered_with_parent_ = false;

  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  CondVar changed_;
  Status reason_ GUARDED_BY(mutex_);
  Token next_token_ GUARDED_BY(mutex_) = 1;
  Token running_ GUARDED_BY(mutex_) = 0;  // the callback that runs now, 0 for none
  bool cancelling_ GUARDED_BY(mutex_) = false;
  std::thread::id cancelling_thread_ GUARDED_BY(mutex_);
  std::map<Token, Callback> callbacks_ GUARDED_BY(mutex_);
};

// As long as it lives, the cancellation of `manager` calls `callback` with the reason, once: at
// once and in this thread where it is cancelled already. End() and the destructor wait while
// another thread is in the callback; the callback itself may end or destroy this. A null manager
// cancels nothing.
class ScopedCancellation {
 public:
  using Callback = std::function<void(const Status& reason)>;

  ScopedCancellation() = default;  // of nothing, until Begin
  ScopedCancellation(CancellationManager* manager, Callback callback);
  ScopedCancellation(const ScopedCancellation&) = delete;
  ScopedCancellation& operator=(const ScopedCancellation&) = delete;
  ~ScopedCancellation() { End(); }
  // For who holds a lock that the callback takes. False, and the callback is dropped unrun, where
  // the manager is cancelled already.
  [[nodiscard]] bool Begin(CancellationManager* manager, Callback callback);
  void End();

 private:
  void Run();

  CancellationManager* manager_ = nullptr;  // null: nothing is registered
  Callback callback_;
  CancellationManager::Token token_ = 0;
};

}  // namespace thalweg
