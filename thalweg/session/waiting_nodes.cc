// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/waiting_nodes.h"

#include <algorithm>
#include <vector>

namespace thalweg {

void WaitingNodes::Add(const std::string* label) {
  MutexLock lock(mutex_);
  labels_.insert(label);
}

void WaitingNodes::Remove(const std::string* label) {
  MutexLock lock(mutex_);
  const auto found = labels_.find(label);
  if (found != labels_.end()) labels_.erase(found);
}

std::string WaitingNodes::Names() const {
  std::vector<std::string> names;
  {
    MutexLock lock(mutex_);
    for (const std::string* label : labels_) names.push_back(*label);
  }
  std::sort(names.begin(), names.end());
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) {
    text += StrCat(i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kShown) text += StrCat(" and ", names.size() - kShown, " more");
  return text;
}

void WatchedKernel::ComputeAsync(Context& ctx, Done done) {
  WaitingNodes* const waiting = static_cast<WatchedStepContext&>(ctx.step()).waiting;
  waiting->Add(&label_);
  Call* const call = std::make_unique<Call>(Call{waiting, std::move(done)}).release();
  kernel_->AsAsync()->ComputeAsync(
      ctx, Done(static_cast<DoneSink*>(this), reinterpret_cast<uint64_t>(call)));
}

void WatchedKernel::OnDone(uint64_t token, Status status) {
  const std::unique_ptr<Call> call(reinterpret_cast<Call*>(token));
  call->waiting->Remove(&label_);
  // After this the step, its contexts and this kernel may be gone.
  std::move(call->done)(std::move(status));
}

}  // namespace thalweg
