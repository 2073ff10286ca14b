// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/io_thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace thalweg {

Result<std::shared_ptr<IoThread>> IoThread::Start() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  if (!epoll.valid() || !stop.valid() ||
      epoll_ctl(epoll.get(), EPOLL_CTL_ADD, stop.get(), &event) != 0) {
    return ResourceExhausted("no epoll for an I/O thread: ", strerror(errno));
  }
  try {
    return std::shared_ptr<IoThread>(new IoThread(std::move(epoll), std::move(stop)));
  } catch (const std::system_error& e) {
    return ResourceExhausted("the system gives no I/O thread: ", e.what());
  }
}

IoThread::IoThread(UniqueFd epoll, UniqueFd stop)
    : epoll_(std::move(epoll)), stop_(std::move(stop)), thread_("io", [this] { Loop(); }) {}

IoThread::~IoThread() {
  eventfd_write(stop_.get(), 1);
  thread_.Join();
}

void IoThread::Loop() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int n = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.u64 == 0) return;
      Handle(event.data.u64, event.events);
    }
  }
}

void IoThread::Handle(uint64_t id, uint32_t events) {
  std::shared_ptr<Entry> entry;
  {
    MutexLock lock(mutex_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) return;  // removed after the event was taken
    entry = it->second;
  }
  MutexLock lock(entry->running);
  if (entry->handler) entry->handler(events);
}

Result<std::unique_ptr<IoWatch>> IoWatch::Make(std::shared_ptr<IoThread> io, int fd,
                                               std::function<void(uint32_t)> handler) {
  std::unique_ptr<IoWatch> watch(new IoWatch(std::move(io), fd));
  IoThread& thread = *watch->io_;
  auto entry = std::make_shared<IoThread::Entry>();
  {
    MutexLock lock(entry->running);
    entry->handler = [w = watch.get(), handler = std::move(handler)](uint32_t events) {
      w->Fired(events);
      handler(events);
    };
  }
  {
    MutexLock lock(thread.mutex_);
    watch->id_ = thread.next_id_++;
    thread.entries_[watch->id_] = entry;
  }
  epoll_event event{.events = EPOLLONESHOT, .data = {.u64 = watch->id_}};
  if (epoll_ctl(thread.epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    MutexLock lock(thread.mutex_);
    thread.entries_.erase(watch->id_);
    return ResourceExhausted("epoll takes no more descriptors: ", strerror(errno));
  }
  watch->entry_ = std::move(entry);
  return watch;
}

void IoWatch::Stop() {
  if (entry_ == nullptr) return;  // Make failed, or stopped before
  epoll_ctl(io_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  {
    MutexLock lock(io_->mutex_);
    io_->entries_.erase(id_);
  }
  {
    MutexLock lock(entry_->running);
    entry_->handler = nullptr;
  }
  entry_ = nullptr;
}

void IoWatch::Want(uint32_t events) {
  MutexLock lock(mutex_);
  if ((wanted_ & events) == events) return;
  wanted_ |= events;
  Ask();
}

void IoWatch::Fired(uint32_t events) {
  MutexLock lock(mutex_);
  const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  wanted_ = broken ? 0 : wanted_ & ~events;
  if (wanted_ != 0) Ask();
}

void IoWatch::Ask() {
  epoll_event event{.events = wanted_ | EPOLLONESHOT, .data = {.u64 = id_}};
  epoll_ctl(io_->epoll_.get(), EPOLL_CTL_MOD, fd_, &event);
}

}  // namespace thalweg
