// SPDX-License-Identifier: Apache-2.0
// ChannelManager: channels to the other tasks, agreed by a hello that rides on GetStatus, which
// every release of TensorFlow answers without reading it.
//
//   ChannelManager channels(peers, steps, ChannelUse::kAny);
//   channels.set_tcp_host("10.0.0.5");                       // else none is offered to other hosts
//   ASSIGN_OR_RETURN(auto connection,
//                    channels.Get("/job:ps/replica:0/task:0", {.timeout = timeout}));
//   response += channels.Accept(request.unknown_fields(), call.peer_host());    // of a GetStatus
//
// Which kinds there are and how each is made: channels/transports.h, transport/transport.h.
// Ownership: what it is made with outlives it; open connections are kept by the hub of `steps`.
// Threads: every member from any; Get makes a call, Accept waits for a second at most.
// Errors: Unimplemented where the other task knows no channels or none can be made to it: it is
// spoken to in TensorFlow's way. Where a network was tried for it and failed, that is logged, once
// a task, and not tried again for a minute.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/log.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/channels/transports.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/cluster/transport/hello.h"
#include "thalweg/cluster/transport/transport_context.h"

namespace thalweg {

class ChannelManager {
 public:
  // `inproc`: where tasks of this process find each other; null: they do so by other channels.
  // `logger`: is told once where a kind of channel cannot be had; it may be null.
  ChannelManager(WorkerClients& peers, StepService& steps, ChannelUse use,
                 std::shared_ptr<InprocListeners> inproc = nullptr, const Logger* logger = nullptr);

  // The numeric address at which other hosts reach this task. Before the first Get.
  void set_tcp_host(std::string host) { context_.set_host(std::move(host)); }
  // The channel to a task; made when there is none that is open.
  Result<std::shared_ptr<Connection>> Get(const std::string& task, const RpcCallOptions& making)
      EXCLUDES(mutex_);
  // Bytes to add to the answer of a GetStatus; none when it brought no hello, or one that cannot be
  // followed. `from`: the numeric address that it came from.
  std::string Accept(std::string_view unknown_fields, std::string_view from) EXCLUDES(mutex_);
  StepService& steps() { return steps_; }
  // Steps whose values go to other tasks use it: those read them in place. Null: there is no
  // shared memory yet.
  Allocator* step_allocator() const { return context_.step_allocator(); }
  // A session has ended: gives shared memory without tensors back to the system, at once but for a
  // piece that the next one may need, which goes after a while.
  void TrimMemory() { context_.TrimMemory(); }
  // Null: there is none that is open.
  std::shared_ptr<Connection> FindOpen(const std::string& task) EXCLUDES(mutex_);

 private:
  // A network that failed.
  struct Failure {
    std::chrono::steady_clock::time_point again;  // not before
    bool told = false;
  };
  struct Offered {
    Transport* transport;
    std::unique_ptr<ChannelOffer> offer;
  };

  // What the transports offer to a task, and the hello that says so. An error: none does.
  Result<std::vector<Offered>> MakeOffers(const std::string& task, Hello* hello) EXCLUDES(mutex_);
  // Unimplemented where a network has failed a moment ago, or this task has no address.
  Status MayTry(const Transport& transport, const std::string& task) EXCLUDES(mutex_);
  // The answer of a task, which may come to an offer meanwhile.
  Result<std::string> Ask(const std::string& task, const Hello& hello,
                          const std::vector<Offered>& offers, const RpcCallOptions& making);
  // The hello by which the task has taken one of the offers.
  Result<Hello> FindTaken(const std::string& task, const Hello& hello,
                          const std::vector<Offered>& offers, Result<std::string> answer)
      EXCLUDES(mutex_);
  Result<std::unique_ptr<Channel>> TakeChannel(const std::string& task, const Hello& taken,
                                               const std::vector<Offered>& offers) EXCLUDES(mutex_);
  // A channel that another task has offered. Null: there is no way to it.
  std::unique_ptr<Channel> AcceptChannel(const Hello& hello, std::string_view from, Hello* answer)
      EXCLUDES(mutex_);
  // Why there is no channel, as Get says it; what a network did is noted.
  Status Failed(const Transport& transport, const std::string& task, const Status& why)
      EXCLUDES(mutex_);
  void NoteFailure(const std::string& task, std::string_view why) EXCLUDES(mutex_);
  // Null: the task is stopping.
  std::shared_ptr<Connection> Keep(const std::string& task, std::unique_ptr<Channel> channel,
                                   const Hello& other) EXCLUDES(mutex_);

  WorkerClients& peers_;
  StepService& steps_;
  const Logger* const logger_;
  TransportContext context_;
  const std::vector<std::unique_ptr<Transport>> transports_;  // the nearest first
  Mutex mutex_;
  std::map<std::string, Failure> failures_ GUARDED_BY(mutex_);  // by task
  // The hub keeps those that are open.
  std::map<std::string, std::weak_ptr<Connection>> connections_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
