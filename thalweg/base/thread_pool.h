// SPDX-License-Identifier: Apache-2.0
// ThreadPool: the project's own threads. One pool belongs to an environment; sessions and kernels
// share it.
//
//   ThreadPool pool({.threads = 4});
//   pool.Schedule(task);
//
// Every worker has a work-stealing deque; tasks from other threads come through an inbox. A worker
// without work spins for about 100 us, yielding the processor now and then, and parks. Workers run
// in the engine's floating-point state.
// Ownership: owns its threads; what a task points at belongs to who scheduled it.
// Threads: all calls from any thread. The destructor runs what was scheduled, then joins; nobody
// may schedule meanwhile except tasks that run in the pool. In a process that was forked from the
// pool's there are no workers: tasks wait for who helps.
// Errors: std::system_error where the system gives fewer threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "thalweg/base/event_count.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/thread.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/base/work_stealing_deque.h"

namespace thalweg {

class ThreadPool : public WorkQueue {
 public:
  struct Options {
    int threads = 0;                       // 0: tasks run in Schedule()
    int spin_micros = 100;                 // before an idle worker parks
    bool pin = false;                      // worker i to the i-th processor this process may use
    std::function<void(int index)> start;  // runs first on every worker
  };

  explicit ThreadPool(Options options);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override;

  void Schedule(Task task) override;
  int Parallelism() const override { return static_cast<int>(workers_.size()); }
  int CurrentThreadIndex() const override;

 private:
  struct Worker {
    WorkStealingDeque<Task> deque;
    uint32_t random;  // whom to steal from next; the worker's own
  };

  void Stop();
  void Loop(int index);
  bool Find(Worker& self, Task* task);
  bool TakeFromInbox(Task* task) EXCLUDES(mutex_);
  bool SpinForTask(Worker& self, Task* task);
  bool ParkForTask(Worker& self, Task* task);
  bool HasWork() const;

  const Options options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  EventCount events_;
  alignas(64) std::atomic<int32_t> spinning_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<int64_t> inbox_size_{0};
  Mutex mutex_;
  std::deque<Task> inbox_ GUARDED_BY(mutex_);
  const ThreadOwner owner_;
  std::vector<Thread> threads_;  // last: started when all else is ready
};

}  // namespace thalweg
