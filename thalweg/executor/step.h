// SPDX-License-Identifier: Apache-2.0
// StepState: one run of a plan: its iterations and frames, first error, and what its threads share.
//
// An iteration is one block of memory: slots, counters, and places for asynchronous kernels.
// `outstanding` is the only completion count: units that are ready or running, child frames, and
// one token of the iteration before (of the frame's start). At zero nothing of the iteration is
// queued or runs, and nothing can reach it any more. Blocks are recycled by the step, steps by the
// executor.
//
// For the loops of its kernels a step is a queue too: the threads of the queue, and the caller
// while it has nothing else to do.
// Ownership: the executor keeps it from step to step; it owns iterations, frames and what lies in
// their slots. Contexts, feeds and fetches are the caller's.
// Threads: as Executor says; the first and last of a step are its caller's.
// Errors: the first one (Fail) wins and cancels the step; End() gives it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/executor/executor.h"
#include "thalweg/executor/held_values.h"
#include "thalweg/executor/plan.h"
#include "thalweg/executor/ready_queue.h"

namespace thalweg {

struct FrameRun;

struct AsyncState {
  Iteration* iteration = nullptr;
  uint32_t unit = 0;
  uint32_t instr = 0;
  int64_t start = 0;  // in ticks of the trace
  Context context;
};

struct Iteration {
  const FrameCode* code = nullptr;
  uint32_t frame_number = 0;
  FrameRun* frame = nullptr;  // null: the root
  uint64_t tag = 0;
  std::atomic<int64_t> outstanding{0};
  std::atomic<Iteration*> next{nullptr};
  // Parts of `block`, as are the slots. Counters are touched through atomic_ref in parallel steps.
  uint32_t* pending = nullptr;  // with kDeadMark
  uint32_t* readers = nullptr;
  uint32_t* merges = nullptr;  // arrivals that can still come, with kFiredMark
  AsyncState* async = nullptr;
  uint8_t* next_sent = nullptr;
  // Where operands lie: the slots; the plan's constants; the frame's invariants, in the root the
  // feeds.
  Tensor* bases[3] = {};
  std::unique_ptr<std::byte[]> block;

  Tensor* slots() const { return bases[kSlots]; }
};

// Handles in slots and registers are mostly empty or inline scalars: these ways around the general
// assignment have the one branch that matters, and are inlined.
[[gnu::always_inline]] inline void Clear(Tensor& value) {
  if (value.kind() > Tensor::Kind::kInline) [[unlikely]] {
    value = Tensor();
  } else {
    new (&value) Tensor();
  }
}
[[gnu::always_inline]] inline void Put(Tensor& place, Tensor&& value) {
  if (place.kind() > Tensor::Kind::kInline) [[unlikely]] {
    place = std::move(value);
  } else {
    new (&place) Tensor(std::move(value));
  }
}

inline constexpr uint32_t kDeadMark = 1u << 31;
inline constexpr uint32_t kFiredMark = 1u << 31;

struct FrameRun {
  const FrameCode* code = nullptr;
  uint32_t number = 0;
  Iteration* parent = nullptr;
  uint64_t tag = 0;
  std::vector<Tensor> invariants;
  bool has_dead_invariant = false;
  std::vector<std::atomic<uint8_t>> exit_sent;
  Mutex mutex;
  Iteration* newest GUARDED_BY(mutex) = nullptr;
  uint64_t started GUARDED_BY(mutex) = 0;
  uint32_t live GUARDED_BY(mutex) = 0;
  struct Parked {
    uint32_t next;
    Tensor value;
  };
  std::vector<Parked> parked GUARDED_BY(mutex);  // for the iteration after `newest`
  std::vector<std::unique_ptr<Iteration>> free GUARDED_BY(mutex);
};

// Locks only where other threads take part.
template <bool kParallel>
class SCOPED_CAPABILITY StepLock {
 public:
  explicit StepLock(Mutex& mutex) ACQUIRE(mutex) NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    if constexpr (kParallel) mutex_.Lock();
  }
  StepLock(const StepLock&) = delete;
  StepLock& operator=(const StepLock&) = delete;
  ~StepLock() RELEASE() NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (kParallel) mutex_.Unlock();
  }

 private:
  Mutex& mutex_;
};

// What one thread works with; kept from step to step, so that a step allocates nothing.
struct Scratch {
  struct PendingSection {
    Iteration* iteration;
    Section section;
    bool dead;
  };
  std::unique_ptr<Tensor[]> registers;  // as many as any unit needs, all empty
  std::vector<Activation> ready;        // the thread's stack
  std::vector<PendingSection> sections;
  std::vector<Tensor> variables;         // of a frame that starts
  std::vector<FrameRun::Parked> parked;  // of an iteration that ends
};

class StepState : public DoneSink, public WorkQueue {
 public:
  // What StepTasks leads to.
  class Tasks : public WorkQueue {
   public:
    explicit Tasks(StepState& step) : step_(step) {}
    void Schedule(Task task) override;
    int Parallelism() const override { return 1; }
    int CurrentThreadIndex() const override { return -1; }

   private:
    StepState& step_;
  };

  explicit StepState(const Plan& plan);
  ~StepState();
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

  // Between steps.
  void Begin(const Executor::Step* args);
  // A step without a caller: has the arguments copied.
  void BeginAsync(const Executor::Step& args, std::function<void(Status)> done);
  // What to call when a step without a caller is over, for the one thread that is to end it.
  std::function<void(Status)> TakeDone();
  // Takes the fetches out and empties every slot.
  Status End();

  const Plan& plan() const { return plan_; }
  const Executor::Step& args() const { return *args_; }
  Iteration& root() { return root_; }
  ReadyQueue& queue() { return queue_; }

  bool Stopped() const { return cancellation_->IsCancelled(); }
  // Something was left out because the step had stopped.
  void MarkSkipped() { skipped_.store(true, std::memory_order_relaxed); }
  // The first one wins and stops the step.
  void Fail(Status status) EXCLUDES(mutex_);
  // For an error that says what held the memory.
  HeldValues& held() { return held_; }

  Iteration* NewIteration(FrameRun& frame) REQUIRES(frame.mutex);
  static void Sweep(Iteration& iteration);
  FrameRun* NewFrame(uint32_t number, Iteration* parent) EXCLUDES(mutex_);
  void Recycle(FrameRun* frame) EXCLUDES(mutex_);
  // The caller's.
  Scratch& scratch() { return scratch_; }
  // A helper's.
  std::unique_ptr<Scratch> TakeScratch() EXCLUDES(mutex_);
  void GiveScratch(std::unique_ptr<Scratch> scratch) EXCLUDES(mutex_);

  void OnDone(uint64_t token, Status status) override;

  // For kernels of an open step, from any thread.
  void Schedule(Task task) override;
  int Parallelism() const override { return args_->queue->Parallelism(); }
  int CurrentThreadIndex() const override { return args_->queue->CurrentThreadIndex(); }

  // --- Helpers: threads of the queue that come to run units of this step, and find it over at
  // worst ---

  using HelpFunction = void (*)(void* step, uint64_t);
  // Other threads may take part, at most `most` of them. `keep_alive` owns the plan; `home` is
  // where the step goes when the last thread has left it.
  void Open(HelpFunction help, int most, std::shared_ptr<void> keep_alive);
  void SetHome(std::atomic<StepState*>* home) { home_ = home; }
  // Something was pushed: asks for one more thread unless enough are here. `first`: to begin.
  void AskForHelp(bool first = false);
  // A helper has found nothing to do. True: it must look again. False: it has left.
  bool LeaveHelp();
  // The caller has nothing to do, and sees at once what is pushed.
  void SetCallerIdle(bool idle) { caller_idle_.store(idle, std::memory_order_relaxed); }
  int NewThreadNumber() { return next_thread_.fetch_add(1, std::memory_order_relaxed); }
  // The caller and each helper let go; the last one sends the step home.
  void Release();

 private:
  bool TryAddHelper();
  void MakeBlock(Iteration* iteration);
  void ResetCounters(Iteration* iteration, bool first);

  const Plan& plan_;
  const Executor::Step* args_ = nullptr;
  Executor::Step own_args_;  // of a step without a caller
  std::function<void(Status)> done_;
  std::atomic<bool> has_caller_{true};
  Tasks tasks_{*this};
  const CancellationManager* cancellation_ = nullptr;
  Iteration root_;
  ReadyQueue queue_;
  Scratch scratch_;
  std::atomic<bool> skipped_{false};
  std::atomic<bool> failed_{false};
  HeldValues held_;
  HelpFunction help_ = nullptr;  // null: the caller is alone
  int most_helpers_ = 0;
  std::shared_ptr<void> keep_alive_;
  std::atomic<StepState*>* home_ = nullptr;
  std::atomic<int> helpers_{0};
  std::atomic<int> references_{0};
  std::atomic<int> next_thread_{1};
  std::atomic<bool> caller_idle_{false};
  Mutex mutex_;
  Status error_ GUARDED_BY(mutex_);
  std::vector<std::vector<std::unique_ptr<FrameRun>>> free_frames_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Scratch>> free_scratch_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
