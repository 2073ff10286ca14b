// SPDX-License-Identifier: Apache-2.0
// RingParticipant: a member of a collective operation that is on its way to its result among tasks
// that hand buffers to each other, by a plan (collective_schedule.h). BufferTransport: the buffers
// of a step.
//
//   RingParticipant::Start(port, found, timeout, ctx, std::move(call), std::move(done));
//
// Ownership: it lives until its last call has ended; after `done` it does not touch the kernel's
// context.
// Threads: callbacks of the port come on any thread.
// Errors: those of the port, DeadlineExceeded for the node's own timeout, Unimplemented for what
// TensorFlow's tasks do not have or name in a way that is not known here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/timer.h"
#include "thalweg/cluster/collectives/collective_group.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/kernel/rendezvous.h"

namespace thalweg {

// Names of buffers begin with `kBufferEdge` in keys.
inline constexpr std::string_view kBufferEdge = "buffer ";

class BufferTransport {
 public:
  // `taken` comes once, without a lock: when the buffer has been handed over, or with the error
  // with which the step has ended. Members of steps of other sessions may come after this step's
  // parts have all they need.
  using Taken = std::function<void(const Status&)>;
  virtual void SendBuffer(const RendezvousKey& key, Tensor value, Taken taken) = 0;
  // A vector. It comes once, from its own task or by RecvBuf from another; an error when the step
  // ends.
  virtual void RecvBuffer(const RendezvousKey& key, DType dtype, int64_t elements,
                          Rendezvous::RecvDone done) = 0;
  // Cancelled when the step ends early, here or where it is one with others.
  virtual CancellationManager& cancellation() = 0;
  // Ends it early here: nobody waits for buffers any more.
  virtual void Abort(Status reason) = 0;

 protected:
  ~BufferTransport() = default;
};

class RingParticipant {
 public:
  struct Timeout {
    double seconds = 0;  // 0: none
    Timer* timer = nullptr;
    Clock* clock = nullptr;
  };
  static void Start(std::shared_ptr<BufferTransport> port, CollectiveGroups::Found found,
                    const Timeout& timeout, Context& ctx, CollectiveCall call, Done done);
};

}  // namespace thalweg
