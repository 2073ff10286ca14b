// SPDX-License-Identifier: Apache-2.0
// WorkQueue: somebody else's threads. The project has one implementation (ThreadPool); an embedding
// program can supply its own, and InlineQueue has no threads at all.
//
//   queue.Schedule(Task{&RunStep, step, 7});  // RunStep(step, 7) runs once, somewhere, later
//   ScheduleClosure(queue, [request] { Handle(request); });  // the same with a heap allocation
//
// No part of the engine waits for a task to *start*: whoever waits for a result does the work
// itself if no thread has come. So a queue whose threads are all busy, or all inside the engine
// already, costs speed and never a deadlock.
// Ownership: a Task owns nothing: its object lives until it has run; ScheduleClosure owns the copy
// it makes.
// Threads: all calls from any thread.
// Errors: a task must not throw. A queue runs every task it took, also those taken before its
// destruction began.
// Ordering: what came before Schedule(t) is visible to t.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace thalweg {

// A function and two words for it.
struct Task {
  void (*run)(void* object, uint64_t argument);
  void* object;
  uint64_t argument;
};

class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  virtual void Schedule(Task task) = 0;
  // How many tasks can run at once. 0: Schedule() runs its task before it returns.
  virtual int Parallelism() const = 0;
  // 0 .. Parallelism()-1 on a thread of this queue, -1 on any other.
  virtual int CurrentThreadIndex() const = 0;
};

class InlineQueue : public WorkQueue {
 public:
  void Schedule(Task task) override { task.run(task.object, task.argument); }
  int Parallelism() const override { return 0; }
  int CurrentThreadIndex() const override { return -1; }
};

template <class Closure>
void ScheduleClosure(WorkQueue& queue, Closure closure) {
  Closure* const boxed = std::make_unique<Closure>(std::move(closure)).release();
  queue.Schedule(Task{[](void* object, uint64_t) {
                        const std::unique_ptr<Closure> owned(static_cast<Closure*>(object));
                        (*owned)();
                      },
                      boxed, 0});
}

}  // namespace thalweg
