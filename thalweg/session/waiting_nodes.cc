// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/waiting_nodes.h"

#include <algorithm>

namespace thalweg {

struct WatchedKernel::Call final : WaitingNode {
  Call(const WatchedKernel& k, Context& c, Done d) : kernel(k), ctx(c), done(std::move(d)) {}
  std::string Text() const override {
    const std::string what = kernel.WaitsFor(ctx);
    return what.empty() ? kernel.label_ : StrCat(kernel.label_, " for ", what);
  }

  const WatchedKernel& kernel;
  Context& ctx;
  Done done;
};

void WaitingNodes::Add(const WaitingNode* node) {
  MutexLock lock(mutex_);
  nodes_.insert(node);
  ++events_;
}

void WaitingNodes::Remove(const WaitingNode* node) {
  MutexLock lock(mutex_);
  nodes_.erase(node);
  ++events_;
}

std::vector<std::string> WaitingNodes::All(uint64_t* events) const {
  std::vector<std::string> names;
  {
    // Under the lock: none of them ends meanwhile.
    MutexLock lock(mutex_);
    for (const WaitingNode* node : nodes_) names.push_back(node->Text());
    *events = events_;
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string WaitingNodes::Names() const {
  uint64_t events = 0;
  const std::vector<std::string> names = All(&events);
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) {
    text += StrCat(i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kShown) text += StrCat(" and ", names.size() - kShown, " more");
  return text;
}

std::optional<Status> WatchedKernel::TryCompute(Context& ctx) {
  if (tried_first_ == nullptr) return std::nullopt;
  return tried_first_->TryCompute(ctx);
}

std::optional<Status> WatchedKernel::TryRepeated(Context& ctx) {
  if (tried_first_ == nullptr) return std::nullopt;
  return tried_first_->TryRepeated(ctx);
}

std::string WatchedKernel::WaitsFor(Context& ctx) const {
  return tried_first_ == nullptr ? "" : tried_first_->WaitsFor(ctx);
}

void WatchedKernel::Wait(Context& ctx, Done done) {
  Call* const call = std::make_unique<Call>(*this, ctx, std::move(done)).release();
  static_cast<WatchedStepContext&>(ctx.step()).waiting->Add(call);
  Done ended(static_cast<DoneSink*>(this), reinterpret_cast<uint64_t>(call));
  if (tried_first_ != nullptr) {
    tried_first_->Wait(ctx, std::move(ended));
  } else {
    kernel_->AsAsync()->ComputeAsync(ctx, std::move(ended));
  }
}

void WatchedKernel::OnDone(uint64_t token, Status status) {
  const std::unique_ptr<Call> call(reinterpret_cast<Call*>(token));
  static_cast<WatchedStepContext&>(call->ctx.step()).waiting->Remove(call.get());
  // After this the step, its contexts and this kernel may be gone.
  std::move(call->done)(std::move(status));
}

}  // namespace thalweg
