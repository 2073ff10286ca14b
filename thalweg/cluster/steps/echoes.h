// SPDX-License-Identifier: Apache-2.0
// Echoes: what this task sends through channels to be answered at once, for who wants to know how
// long that takes (channels/task_links.h). An echo belongs to no step.
//
//   const Status status = echoes.Send(connection, /*bytes=*/nullptr, until);
//   echoes.Send(connection, &tensor, until);    // answered when all of it is there
//
// Ownership: the hub outlives it; connections are shared while somebody waits.
// Threads: every member from any; Send waits, and looks at the channels meanwhile.
// Errors: of Send, DeadlineExceeded where no answer came until then, Unavailable where the channel
// was closed, Unimplemented where the task at the other end is older than echoes.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/cluster/transport/message.h"

namespace thalweg {

class Echoes {
 public:
  explicit Echoes(ChannelHub& hub) : hub_(hub) {}

  Status Send(const std::shared_ptr<Connection>& to, const Tensor* bytes, Clock::TimePoint until)
      EXCLUDES(mutex_);

  // What comes through a channel: a question is answered there, an answer wakes who waits.
  void Hear(Connection& connection, const EchoMessage& echo) EXCLUDES(mutex_);
  // A tensor of kEchoStep.
  static void Answer(Connection& connection, const TensorHead& head);

 private:
  ChannelHub& hub_;
  Mutex mutex_;
  uint64_t next_ GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::atomic<bool>*> waiting_ GUARDED_BY(mutex_);  // set when it is answered
};

}  // namespace thalweg
