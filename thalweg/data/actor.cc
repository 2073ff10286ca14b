// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/actor.h"

#include <utility>

namespace thalweg {

void Actor::Wake() {
  int state = state_.load(std::memory_order_relaxed);
  while (true) {
    // What is due will see what came before this call, too, through this exchange.
    const int next = state == kIdle || state == kDue ? kDue : kAwoken;
    if (state_.compare_exchange_weak(state, next, std::memory_order_acq_rel)) break;
  }
  if (state == kIdle) Schedule();
}

void Actor::Schedule() {
  ScheduleClosure(queue_, [self = shared_from_this()] {
    self->state_.exchange(kRunning, std::memory_order_acq_rel);
    self->Turn();
    self->Leave();
  });
}

bool Actor::TryEnter() {
  int idle = kIdle;
  return state_.compare_exchange_strong(idle, kRunning, std::memory_order_acq_rel);
}

void Actor::Leave() {
  int running = kRunning;
  if (state_.compare_exchange_strong(running, kIdle, std::memory_order_acq_rel)) return;
  state_.store(kDue, std::memory_order_release);
  Schedule();
}

}  // namespace thalweg
