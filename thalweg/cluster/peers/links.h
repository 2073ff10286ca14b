// SPDX-License-Identifier: Apache-2.0
// PeerLinks: channels to the other tasks, agreed by a hello that rides on GetStatus, which every
// release of TensorFlow answers without reading it.
//
//   PeerLinks links(peers, steps, ChannelUse::kAny);
//   links.set_tcp_host("10.0.0.5");                      // else none is offered to other hosts
//   auto link = links.Get("/job:ps/replica:0/task:0", {.timeout = timeout});
//   response += links.Accept(request.unknown_fields(), call.peer_host());  // of a GetStatus
//
// Threads: every member from any; Get makes a call, Accept waits for a second at most.
// Errors: Unimplemented where the other task knows no channels or none can be made to it: it is
// spoken to in TensorFlow's way. Where TCP or UCX was tried for it in vain, that is logged, once a
// task, and not tried again for a minute.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "thalweg/base/log.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/peers/hello.h"
#include "thalweg/cluster/peers/peers.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/shm/arena.h"
#include "thalweg/cluster/transport/shm/shared_allocator.h"
#include "thalweg/cluster/transport/unique_fd.h"
#include "thalweg/cluster/worker/channel_steps.h"

namespace thalweg {

enum class ChannelUse {
  kNone,     // tasks speak to each other in TensorFlow's way only
  kSockets,  // channels over unix sockets, also within a process
  kMemory,   // channels through shared memory, also within a process
  kTcp,      // channels over TCP, also within a host
  kUcx,      // channels over UCX, also within a host, to tasks that use it too
  kAny,      // the first that can be had: within a process, shared memory, unix sockets, TCP
};
// "any", "memory", "sockets", "tcp", "ucx" or "calls", which is kNone. Unimplemented for "ucx" in a
// build without it.
Result<ChannelUse> ParseChannelUse(std::string_view name);

class PeerLinks {
 public:
  // `logger`: is told once where a kind of channel cannot be had; it may be null.
  PeerLinks(Peers& peers, ChannelSteps& steps, ChannelUse use, const Logger* logger = nullptr)
      : peers_(peers), steps_(steps), use_(use), logger_(logger) {}

  // The numeric address at which other hosts reach this task. Before the first Get.
  void set_tcp_host(std::string host) { tcp_host_ = std::move(host); }
  // The channel to a task; made when there is none that is open.
  Result<std::shared_ptr<Link>> Get(const std::string& task, const RpcCallOptions& making)
      EXCLUDES(mutex_);
  // Bytes to add to the answer of a GetStatus; none when it brought no hello, or one that cannot be
  // followed. `from`: the numeric address that it came from.
  std::string Accept(std::string_view unknown_fields, std::string_view from) EXCLUDES(mutex_);
  ChannelSteps& steps() { return steps_; }
  // Of steps whose values go to other tasks: those read them in place. Null: there is no shared
  // memory yet.
  Allocator* step_allocator() const { return step_allocator_.load(std::memory_order_acquire); }
  // A session has ended: gives shared memory without tensors back to the system, at once but for a
  // piece that the next one may need, which goes after a while.
  void TrimMemory() EXCLUDES(mutex_);
  // Null: there is none that is open.
  std::shared_ptr<Link> FindOpen(const std::string& task) EXCLUDES(mutex_);

 private:
  // What channels to other processes need.
  struct Transports {
    std::shared_ptr<IoThread> io;
    std::shared_ptr<ShmArena> arena;
    std::shared_ptr<SharedAllocator> allocator;
    Status memory;  // why shared memory cannot be had
  };

  // What was tried over a network and came to nothing.
  struct Failure {
    std::chrono::steady_clock::time_point again;  // not before
    bool told = false;
  };
  // Lets the other side in till the descriptor can be read.
  using Attend = std::function<void(const UniqueFd&)>;

  // Of the one who asked. Unimplemented where it was tried in vain a while ago, or this task has no
  // address.
  Status MayTry(const std::string& task) EXCLUDES(mutex_);
  Result<TcpDoor> OpenDoor(const std::string& task, uint64_t token) EXCLUDES(mutex_);
  // The answer of a task, which may come to a door meanwhile.
  Result<std::string> Ask(const std::string& task, const Hello& hello, const Attend& attend,
                          const RpcCallOptions& making);
  // What it has taken. `refusal`: what is said where it makes none; empty: nothing.
  Result<Hello> Taken(const std::string& task, const Hello& hello, Result<std::string> answer,
                      std::string_view refusal) EXCLUDES(mutex_);
  Result<std::shared_ptr<Link>> GetByUcx(const std::string& task, Hello hello,
                                         const RpcCallOptions& making) EXCLUDES(mutex_);
  // One over a network, or why there is none, which is noted.
  Result<std::unique_ptr<Channel>> Made(const std::string& task,
                                        Result<std::unique_ptr<Channel>> channel) EXCLUDES(mutex_);
  Result<std::shared_ptr<Link>> KeepAsked(const std::string& task, std::unique_ptr<Channel> channel,
                                          const Hello& taken) EXCLUDES(mutex_);
  // The other side has connected once for shared memory, twice for sockets, also after a first
  // attempt that came to nothing.
  Result<std::unique_ptr<Channel>> Accepted(const UniqueFd& listener) EXCLUDES(mutex_);
  Result<std::unique_ptr<Channel>> OverTcp(Result<TcpSockets> sockets) EXCLUDES(mutex_);
  // Of the one who was asked.
  Result<std::unique_ptr<Channel>> ConnectedHere(uint64_t token) EXCLUDES(mutex_);
  Result<std::unique_ptr<Channel>> ConnectedByMemory(uint64_t token, const Transports& transports);
  Result<std::unique_ptr<Channel>> ConnectedByTcp(const Hello& hello, std::string_view from)
      EXCLUDES(mutex_);
  Result<std::unique_ptr<Channel>> ConnectedByUcx(const Hello& hello) EXCLUDES(mutex_);
  void NoteFailure(const std::string& task, std::string_view why) EXCLUDES(mutex_);
  Result<Transports> StartedTransports() EXCLUDES(mutex_);
  std::unique_ptr<Channel> Shared(std::unique_ptr<Channel> channel, const Transports& transports);
  // `answer` says which way it goes. Null: there is no way to it.
  std::unique_ptr<Channel> Take(const Hello& hello, std::string_view from, Hello* answer)
      EXCLUDES(mutex_);
  std::shared_ptr<Link> Keep(const std::string& task, std::unique_ptr<Channel> channel)
      EXCLUDES(mutex_);

  Peers& peers_;
  ChannelSteps& steps_;
  const ChannelUse use_;
  const Logger* const logger_;
  std::string tcp_host_;
  std::atomic<Allocator*> step_allocator_{nullptr};
  Mutex mutex_;
  Transports transports_ GUARDED_BY(mutex_);  // null: none was needed yet
  std::map<std::string, Failure> failures_ GUARDED_BY(mutex_);
  // The hub keeps those that are open.
  std::map<std::string, std::weak_ptr<Link>> links_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
