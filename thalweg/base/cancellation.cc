// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/cancellation.h"

#include "thalweg/base/check.h"
#include "thalweg/base/first_error.h"

namespace thalweg {

CancellationManager::CancellationManager(CancellationManager* parent) : parent_(parent) {
  if (parent_ == nullptr) return;
  registered_with_parent_ =
      parent_->Register([this] { Cancel(parent_->Reason()); }, &parent_token_);
  if (!registered_with_parent_) Cancel(parent_->Reason());
}

CancellationManager::~CancellationManager() {
  if (registered_with_parent_) parent_->Deregister(parent_token_);
  // A thread inside Cancel() still uses this object.
  MutexLock lock(mutex_);
  while (cancelling_ && cancelling_thread_ != std::this_thread::get_id()) changed_.Wait(mutex_);
}

void CancellationManager::Cancel(Status reason) {
  CHECK(!reason.ok());
  {
    MutexLock lock(mutex_);
    if (!KeepFirstError(std::move(reason), &reason_)) return;
    cancelled_.store(true, std::memory_order_release);
    cancelling_ = true;
    cancelling_thread_ = std::this_thread::get_id();
  }
  for (;;) {
    Callback callback;
    {
      MutexLock lock(mutex_);
      running_ = 0;
      if (callbacks_.empty()) {
        cancelling_ = false;
        changed_.NotifyAll();
        return;
      }
      changed_.NotifyAll();
      const auto first = callbacks_.begin();
      running_ = first->first;
      callback = std::move(first->second);
      callbacks_.erase(first);
    }
    callback();
  }
}

Status CancellationManager::Reason() const {
  MutexLock lock(mutex_);
  return reason_;
}

bool CancellationManager::Register(Callback callback, Token* token) {
  MutexLock lock(mutex_);
  if (!reason_.ok()) return false;
  *token = next_token_++;
  callbacks_.emplace(*token, std::move(callback));
  return true;
}

bool CancellationManager::Deregister(Token token) {
  // The callback's own destructor runs outside the lock as well.
  Callback dropped;
  MutexLock lock(mutex_);
  const auto found = callbacks_.find(token);
  if (found != callbacks_.end()) {
    dropped = std::move(found->second);
    callbacks_.erase(found);
    return true;
  }
  while (running_ == token && cancelling_thread_ != std::this_thread::get_id()) {
    changed_.Wait(mutex_);
  }
  return false;
}

ScopedCancellation::ScopedCancellation(CancellationManager* manager, Callback callback) {
  if (!Begin(manager, callback)) callback(manager->Reason());
}

bool ScopedCancellation::Begin(CancellationManager* manager, Callback callback) {
  if (manager == nullptr) return true;
  manager_ = manager;  // before the callback may come
  callback_ = std::move(callback);
  if (manager->Register([this] { Run(); }, &token_)) return true;
  manager_ = nullptr;
  callback_ = nullptr;
  return false;
}

// Nothing of this is read once the callback has begun, which may destroy it.
void ScopedCancellation::Run() {
  const Callback callback = std::move(callback_);
  callback(manager_->Reason());
}

void ScopedCancellation::End() {
  if (manager_ == nullptr) return;
  manager_->Deregister(token_);  // only then: the callback reads manager_
  manager_ = nullptr;
}

}  // namespace thalweg
