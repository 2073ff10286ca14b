// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/open_calls.h"

#include <utility>

namespace thalweg {

class OpenCalls::Tracked final : public IncomingCall {
 public:
  Tracked(std::shared_ptr<IncomingCall> call, std::shared_ptr<State> state, Clock::TimePoint now)
      : call_(std::move(call)), state_(std::move(state)) {
    state_->num_calls.fetch_add(1, std::memory_order_relaxed);
    state_->traffic.AddReceived(call_->request().size());
    MutexLock lock(state_->mutex);
    at_ = state_->calls.insert(state_->calls.end(), {std::string(call_->method()), now});
  }
  Tracked(const Tracked&) = delete;
  Tracked& operator=(const Tracked&) = delete;
  ~Tracked() override {
    MutexLock lock(state_->mutex);
    state_->calls.erase(at_);
  }

  std::string_view method() const override { return call_->method(); }
  const std::string& request() const override { return call_->request(); }
  std::chrono::nanoseconds timeout() const override { return call_->timeout(); }
  CancellationManager& cancellation() override { return call_->cancellation(); }
  std::string peer_host() const override { return call_->peer_host(); }
  void Answer(Result<std::string> response) override {
    if (response.ok()) state_->traffic.AddSent(response->size());
    call_->Answer(std::move(response));
  }

 private:
  const std::shared_ptr<IncomingCall> call_;
  const std::shared_ptr<State> state_;
  std::list<Call>::iterator at_;
};

std::shared_ptr<IncomingCall> OpenCalls::Track(std::shared_ptr<IncomingCall> call) {
  return std::make_shared<Tracked>(std::move(call), state_, clock_.Now());
}

std::vector<OpenCalls::Call> OpenCalls::List() const {
  MutexLock lock(state_->mutex);
  return {state_->calls.begin(), state_->calls.end()};
}

}  // namespace thalweg
