// SPDX-License-Identifier: Apache-2.0
// HostCall: marks that this thread runs code of the embedding program that a step or the log has
// called. Such code may close or free what has called it; who would wait for the end of a step asks
// here, as it would wait for itself, and leaves the waiting to another thread.
//
//   { const HostCall call; function(...); }
//   if (HostCall::IsInside()) { Thread::Detach("close", [] { ... }); return; }
//
// Such code may also wait for a thread that closes. So a step begins the call before it looks
// whether it was cancelled, and who closes cancels before asking IsAnywhere(): one sees the other.
//
// Ownership: lies on the stack of the thread that makes the call.
// Threads: IsInside() is of each thread its own, IsAnywhere() of the process.
// Errors: none.
#pragma once

namespace thalweg {

class HostCall {
 public:
  HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;
  ~HostCall();
  static bool IsInside();
  static bool IsAnywhere();
};

}  // namespace thalweg
