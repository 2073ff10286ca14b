// SPDX-License-Identifier: Apache-2.0
// PeerLinks: channels to the other tasks, agreed by a hello that rides on GetStatus, which every
// release of TensorFlow answers without reading it.
//
//   PeerLinks links(peers, steps, ChannelUse::kAny);
//   auto link = links.Get("/job:ps/replica:0/task:0", {.timeout = timeout});
//   response += links.Accept(request.unknown_fields());  // of a GetStatus that arrives
//
// Threads: every member from any; Get makes a call.
// Errors: Unimplemented where the other task knows no channels or none can be made to it: it is
// spoken to in TensorFlow's way.
#pragma once

#include <atomic>
#include <map>
#include <memory>
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
  kAny,      // handed over within a process, else shared memory, or sockets where it cannot be made
};

class PeerLinks {
 public:
  // `logger`: is told once where shared memory cannot be had; it may be null.
  PeerLinks(Peers& peers, ChannelSteps& steps, ChannelUse use, const Logger* logger = nullptr)
      : peers_(peers), steps_(steps), use_(use), logger_(logger) {}

  // The channel to a task; made when there is none that is open.
  Result<std::shared_ptr<Link>> Get(const std::string& task, const RpcCallOptions& making)
      EXCLUDES(mutex_);
  // Bytes to add to the answer of a GetStatus; none when it brought no hello, or one that cannot be
  // followed.
  std::string Accept(std::string_view unknown_fields) EXCLUDES(mutex_);
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

  // Of the one who asked: the other side has connected once for shared memory, twice for sockets,
  // also after a first attempt that came to nothing.
  Result<std::unique_ptr<Channel>> Accepted(const UniqueFd& listener) EXCLUDES(mutex_);
  // Of the one who was asked.
  Result<std::unique_ptr<Channel>> Connected(uint64_t token) EXCLUDES(mutex_);
  Result<std::unique_ptr<Channel>> ConnectedByMemory(uint64_t token, const Transports& transports);
  Result<Transports> StartedTransports() EXCLUDES(mutex_);
  std::unique_ptr<Channel> Shared(std::unique_ptr<Channel> channel, const Transports& transports);
  // Null: there is no way to it.
  std::unique_ptr<Channel> Take(const Hello& hello);
  std::shared_ptr<Link> Keep(const std::string& task, std::unique_ptr<Channel> channel)
      EXCLUDES(mutex_);

  Peers& peers_;
  ChannelSteps& steps_;
  const ChannelUse use_;
  const Logger* const logger_;
  std::atomic<Allocator*> step_allocator_{nullptr};
  Mutex mutex_;
  Transports transports_ GUARDED_BY(mutex_);  // null: none was needed yet
  // The hub keeps those that are open.
  std::map<std::string, std::weak_ptr<Link>> links_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
