// SPDX-License-Identifier: Apache-2.0
// OpenCalls: the calls that a server has not answered, for who asks why it is silent, and what all
// of them took.
//
//   call = open_calls.Track(std::move(call));   // till the last owner drops it
//   for (const OpenCalls::Call& open : open_calls.List()) Show(open);
//
// Ownership: a tracked call may outlive this.
// Threads: every member from any.
// Errors: none.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/cluster/counters/traffic_counter.h"
#include "thalweg/cluster/transport/grpc/rpc.h"

namespace thalweg {

class OpenCalls {
 public:
  explicit OpenCalls(Clock& clock) : clock_(clock), state_(std::make_shared<State>()) {}
  std::shared_ptr<IncomingCall> Track(std::shared_ptr<IncomingCall> call);

  struct Call {
    std::string method;
    Clock::TimePoint since;
  };
  std::vector<Call> List() const;
  // All calls so far.
  uint64_t num_calls() const { return state_->num_calls.load(std::memory_order_relaxed); }
  // The bytes of their requests and answers.
  const TrafficCounter& traffic() const { return state_->traffic; }

 private:
  struct State {
    std::atomic<uint64_t> num_calls{0};
    TrafficCounter traffic;
    Mutex mutex;
    std::list<Call> calls GUARDED_BY(mutex);
  };
  class Tracked;

  Clock& clock_;
  const std::shared_ptr<State> state_;
};

}  // namespace thalweg
