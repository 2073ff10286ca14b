// SPDX-License-Identifier: Apache-2.0
// TrafficCounter: bytes that a task has sent and received in one way.
//
//   TrafficCounter traffic;
//   traffic.AddReceived(received.size());
//   const uint64_t so_far = traffic.received();
//
// Ownership: a value.
// Threads: every member from any; what is read may lack what is added meanwhile.
// Errors: none.
#pragma once

#include <atomic>
#include <cstdint>

namespace thalweg {

class TrafficCounter {
 public:
  void AddSent(uint64_t bytes) { sent_.fetch_add(bytes, std::memory_order_relaxed); }
  void AddReceived(uint64_t bytes) { received_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> received_{0};
};

}  // namespace thalweg
