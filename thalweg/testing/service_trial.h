// SPDX-License-Identifier: Apache-2.0
// ServiceTrials: a task's master and worker, called with whatever the bytes of a fuzzer say: a
// sequence of calls, each {method: 1 byte, size: 2 bytes little-endian, request: that many}. No
// sockets. Every call must end, in an answer or a Status.
//
//   ServiceTrials trials;
//   trials.Try(bytes);
//
// Handles are random: unless the method's byte has kOwnHandles, a session handle in a request is
// replaced by that of the session made last, a graph handle by the last graph's. A call ends after
// 50 ms, as by its client. Graphs with operations that touch files are left out. A crash, a
// sanitizer's report, a trial that does not end: the reader's business.
// Ownership: owns its environment; each Try has a master and a worker of its own.
// Threads: one.
// Errors: none; any Status is fine, one without words ends the process (CHECK).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/cluster/master/master.h"
#include "thalweg/cluster/worker/worker.h"

namespace thalweg {

class ServiceTrials {
 public:
  static constexpr uint8_t kOwnHandles = 0x80;
  ServiceTrials();
  // The byte of "MasterService/RunStep".
  static uint8_t MethodByte(std::string_view method);
  // What a call with this byte is asked with.
  static const MessageDescriptor& RequestType(uint8_t method);

  void Try(std::span<const uint8_t> input);
  // Calls that were answered, not refused.
  int64_t num_answers() const { return num_answers_; }

 private:
  struct Method;
  static const std::array<Method, 20>& Methods();
  struct Task;  // of one input
  void Call(Task& task, uint8_t method, std::span<const uint8_t> request);

  std::shared_ptr<Environment> environment_;
  int64_t num_answers_ = 0;
};

}  // namespace thalweg
