// SPDX-License-Identifier: Apache-2.0
// IoThread: one thread that waits for file descriptors (epoll) and calls their handlers. One for
// all channels of an environment.
//
//   ASSIGN_OR_RETURN(auto io, IoThread::Start());
//   ASSIGN_OR_RETURN(auto watch, IoWatch::Make(io, fd, [](uint32_t events) { ... }));
//   watch->Want(EPOLLIN);        // one call of the handler; then want again
//
// Ownership: watches share the thread; a descriptor stays open until its watch has gone.
// Threads: all members from any. Handlers run on the I/O thread one at a time: short, no waiting.
// Errors: ResourceExhausted where the system gives no thread or descriptor for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/base/thread.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

class IoThread {
 public:
  static Result<std::shared_ptr<IoThread>> Start();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;
  // Never on the I/O thread.
  ~IoThread();

 private:
  friend class IoWatch;
  struct Entry {
    Mutex running;
    std::function<void(uint32_t)> handler GUARDED_BY(running);
  };
  IoThread(UniqueFd epoll, UniqueFd stop);
  void Loop();
  void Handle(uint64_t id, uint32_t events) EXCLUDES(mutex_);

  const UniqueFd epoll_;
  const UniqueFd stop_;
  Mutex mutex_;
  uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::shared_ptr<Entry>> entries_ GUARDED_BY(mutex_);
  Thread thread_;
};

class IoWatch {
 public:
  // `fd` stays open until the watch has gone.
  static Result<std::unique_ptr<IoWatch>> Make(std::shared_ptr<IoThread> io, int fd,
                                               std::function<void(uint32_t events)> handler);
  IoWatch(const IoWatch&) = delete;
  IoWatch& operator=(const IoWatch&) = delete;
  ~IoWatch() { Stop(); }
  // When it returns, the handler does not run and will not. Not from the handler. Whoever owns the
  // watch stops it before letting go of it: the handler may be using the owner's pointer.
  void Stop();

  // Adds to what the handler is called for, once for each: EPOLLIN, EPOLLOUT. Errors and hang-ups
  // come with either.
  void Want(uint32_t events) EXCLUDES(mutex_);

 private:
  IoWatch(std::shared_ptr<IoThread> io, int fd) : io_(std::move(io)), fd_(fd) {}
  void Fired(uint32_t events) EXCLUDES(mutex_);
  void Ask() REQUIRES(mutex_);

  const std::shared_ptr<IoThread> io_;
  const int fd_;
  uint64_t id_ = 0;
  std::shared_ptr<IoThread::Entry> entry_;
  Mutex mutex_;
  uint32_t wanted_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
