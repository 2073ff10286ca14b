// SPDX-License-Identifier: Apache-2.0
// TransportContext: what the transports of one task share: the thread that waits for descriptors,
// the arena that tasks of this host read, the task's address, and which hosts it connects to.
//
//   ASSIGN_OR_RETURN(const TransportContext::Started parts, context.Start());
//   RETURN_IF_ERROR(context.MayConnect(hello.task, hello.tcp.host, from));
//
// Ownership: outlives the transports.
// Threads: every member from any; set_host before the others.
// Errors: ResourceExhausted where the system gives no thread; PermissionDenied for a host that a
// hello may not lead to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/log.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/inproc_listeners.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/shm/arena.h"
#include "thalweg/cluster/transport/shm/shared_allocator.h"

namespace thalweg {

class TransportContext {
 public:
  struct Options {
    AllocatorPtr allocator;
    const Logger* logger = nullptr;                        // may be null
    std::shared_ptr<InprocListeners> inproc;               // of this process; null: none
    std::function<void(std::function<void()>)> when_idle;  // what is to be called now and then
    // "HOST:PORT" of a task as the cluster has it; "" for one that it has not.
    std::function<std::string(const std::string& task)> address_of;
  };
  explicit TransportContext(Options options) : options_(std::move(options)) {}

  // The numeric address at which other hosts reach this task; "": none.
  void set_host(std::string host) { host_ = std::move(host); }
  const std::string& host() const { return host_; }
  const std::shared_ptr<InprocListeners>& inproc() const { return options_.inproc; }

  // What channels to other processes need; made by the first call.
  struct Started {
    std::shared_ptr<IoThread> io;
    std::shared_ptr<ShmArena> arena;
    std::shared_ptr<SharedAllocator> allocator;
    Status memory;  // why shared memory cannot be had
  };
  Result<Started> Start() EXCLUDES(mutex_);

  // A hello is anybody's: it leads only to where it came from (`from`) or to where the cluster has
  // the task that it names. PermissionDenied for another `host`.
  Status MayConnect(const std::string& task, std::string_view host, std::string_view from) const;
  bool IsOfCluster(const std::string& task) const;

  // Some channel goes through shared memory: steps take theirs from it.
  void UseSharedMemory(const Started& parts) {
    step_allocator_.store(parts.allocator.get(), std::memory_order_release);
  }
  // Null: there is no shared memory yet.
  Allocator* step_allocator() const { return step_allocator_.load(std::memory_order_acquire); }
  // Gives shared memory without tensors back to the system, but for a piece that may be needed
  // soon.
  void TrimMemory() EXCLUDES(mutex_);

 private:
  const Options options_;
  std::string host_;
  std::atomic<Allocator*> step_allocator_{nullptr};
  Mutex mutex_;
  Started started_ GUARDED_BY(mutex_);  // null: nothing was needed yet
};

}  // namespace thalweg
