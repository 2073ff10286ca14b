// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

#include "thalweg/base/floating_point.h"
#include "thalweg/base/spin.h"
#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

struct CurrentThread {
  const ThreadPool* pool;
  int index;
};
thread_local constinit CurrentThread current_thread{nullptr, -1};

void PinToProcessor(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  int skip = index % std::max(CPU_COUNT(&allowed), 1);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skip-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

}  // namespace

ThreadPool::ThreadPool(Options options) : options_(std::move(options)) {
  const int threads = std::max(options_.threads, 0);
  for (int i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->random = static_cast<uint32_t>(i) + 1;
  }
  threads_.reserve(static_cast<size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back(StrCat(i), [this, i] { Loop(i); });
  } catch (const std::system_error&) {
    Stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  // In a fork its locks may be those of workers that are not here.
  if (owner_.IsThisProcess()) Stop();
}

void ThreadPool::Stop() {
  stop_.store(true, std::memory_order_seq_cst);
  events_.NotifyAll();
  threads_.clear();
}

void ThreadPool::Schedule(Task task) {
  if (workers_.empty()) return task.run(task.object, task.argument);
  if (const int index = CurrentThreadIndex(); index >= 0) {
    workers_[static_cast<size_t>(index)]->deque.Push(task);
  } else {
    MutexLock lock(mutex_);
    inbox_.push_back(task);
    inbox_size_.fetch_add(1, std::memory_order_release);
  }
  // A spinning worker will see the task and wake another one if there is more. The
  // read-modify-write orders the push before the look: a worker that stops spinning later looks for
  // tasks once more.
  if (spinning_.fetch_add(0, std::memory_order_acq_rel) == 0) events_.NotifyOne();
}

int ThreadPool::CurrentThreadIndex() const {
  return current_thread.pool == this ? current_thread.index : -1;
}

bool ThreadPool::TakeFromInbox(Task* task) {
  if (inbox_size_.load(std::memory_order_acquire) == 0) return false;
  MutexLock lock(mutex_);
  if (inbox_.empty()) return false;
  *task = inbox_.front();
  inbox_.pop_front();
  inbox_size_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool ThreadPool::Find(Worker& self, Task* task) {
  if (self.deque.Pop(task) || TakeFromInbox(task)) return true;
  self.random = self.random * 1664525u + 1013904223u;
  const size_t n = workers_.size();
  const size_t first = (self.random >> 8) % n;
  for (size_t i = 0; i < n; ++i) {
    Worker& victim = *workers_[(first + i) % n];
    if (&victim == &self) continue;
    while (!victim.deque.Empty()) {
      if (victim.deque.Steal(task)) return true;
    }
  }
  return false;
}

bool ThreadPool::HasWork() const {
  if (inbox_size_.load(std::memory_order_acquire) != 0) return true;
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return !worker->deque.Empty(); });
}

bool ThreadPool::SpinForTask(Worker& self, Task* task) {
  spinning_.fetch_add(1, std::memory_order_acq_rel);
  Spinner spinner(std::chrono::microseconds(options_.spin_micros));
  bool found = false;
  do {
    found = Find(self, task);
  } while (!found && !stop_.load(std::memory_order_relaxed) && spinner.Spin());
  // The last one to leave wakes a successor if there is more: Schedule() relied on somebody
  // spinning.
  const bool last = spinning_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (found && last && HasWork()) events_.NotifyOne();
  return found;
}

// False when the pool ends.
bool ThreadPool::ParkForTask(Worker& self, Task* task) {
  for (;;) {
    const EventCount::Key key = events_.Prepare();
    if (Find(self, task)) {
      events_.Cancel();
      // What came just before it stopped spinning relied on it, too.
      if (HasWork()) events_.NotifyOne();
      return true;
    }
    if (stop_.load(std::memory_order_seq_cst)) {
      events_.Cancel();
      return false;
    }
    events_.Wait(key);
    if (SpinForTask(self, task)) return true;
  }
}

void ThreadPool::Loop(int index) {
  current_thread = {this, index};
  if (options_.pin) PinToProcessor(index);
  if (options_.start) options_.start(index);
  const FloatingPointScope floating_point;
  Worker& self = *workers_[static_cast<size_t>(index)];
  Task task;
  while (Find(self, &task) || SpinForTask(self, &task) || ParkForTask(self, &task)) {
    task.run(task.object, task.argument);
  }
}

}  // namespace thalweg
