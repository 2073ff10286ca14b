// SPDX-License-Identifier: Apache-2.0
// StepTrace: which node ran when, on which thread, in one step. Given to Executor::Run by who wants
// to know. Without a clock of its own it uses the system's; while the step runs, times are ticks of
// a TickClock. One that wants to know what nodes cost times the first calls of each and counts the
// others: a loop of millions leaves no more behind.
// One that wants to know what holds memory is told what nodes put out, too (TraceValues), one that
// wants to know who waited when its threads had no processor (TraceSwitches). One that is bounded
// (KeepNewest) keeps the end of a long step, and tells how much came before.
//
//   StepTrace trace(&clock);
//   trace.KeepNewest(64 << 20);  // bytes
//   RETURN_IF_ERROR(executor->Run({.contexts = contexts, .trace = &trace}));
//   for (const NodeRecord& record : trace.TakeRecords()) Use(record);
//
// Ownership: its clock outlives it; records go to who takes them.
// Threads: an executor's threads add batches at the same time; End, LeaveOut and what takes are for
// one, when Run() has returned.
// Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/thread_switches.h"
#include "thalweg/base/tick_clock.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct NodeRecord {
  int node = 0;             // in Program::nodes
  int thread = 0;           // 0 is the caller's
  int64_t start_nanos = 0;  // of the trace's clock; ticks, as long as the trace has not ended
  int64_t end_nanos = 0;
  uint32_t values = 0;             // how many of the trace's values are its outputs
  uint32_t has_no_thread : 1 = 0;  // an asynchronous kernel: `thread` went on when it had ended
};
static_assert(sizeof(NodeRecord) == 32);

// An output with a buffer, or one that leads to a resource.
struct ValueRecord {
  int output = 0;
  DType dtype = DType::kInvalid;  // of a reference to a variable: its value's, as all of this
  Shape shape;
  const void* block = nullptr;  // where its buffer is
  int64_t bytes = 0;            // that the value shows of it
  int64_t held_bytes = 0;       // of a reference or handle: what the resource keeps
  const void* held_block = nullptr;
};

// What a bounded trace has not kept.
struct LeftOutRecords {
  static constexpr int64_t kNothing = INT64_MIN;
  int64_t until_nanos = kNothing;  // all that ended later is there
  std::vector<int64_t> by_node;    // executions; as long as the last node of which there are any
};

// When threads of a step had no processor.
struct SwitchRecords {
  std::map<int, std::vector<ThreadSwitch>> by_thread;  // NodeRecord::thread; in order
  // When some thread that helped that one in a loop could have gone on; in order, apart.
  std::map<int, std::vector<ThreadSwitch>> of_helpers;
  Status missing;  // why there are none, of one thread
};

class StepTrace {
 public:
  StepTrace() : ticks_(system_clock_) {}
  // The clock must outlive the trace.
  explicit StepTrace(const Clock* clock) : ticks_(*clock) {}
  // Traces a program with so many nodes; times `most` calls of each.
  StepTrace(const Clock* clock, size_t nodes, uint32_t most)
      : ticks_(*clock), most_(most), calls_(nodes) {}
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  const TickClock& ticks() const { return ticks_; }
  // Before a call of the node: whether it is to be timed.
  bool IsTimed(uint32_t node) {
    return calls_.empty() || calls_[node].fetch_add(1, std::memory_order_relaxed) < most_;
  }
  // Before the step: its nodes' outputs are to be told, too.
  void TraceValues() { traces_values_ = true; }
  bool traces_values() const { return traces_values_; }
  // Before the step, for a clock that is the system's.
  void TraceSwitches() { traces_switches_ = true; }
  bool traces_switches() const { return traces_switches_; }
  // Before the step: records take about so many bytes at most, and so do switches. The oldest go.
  void KeepNewest(int64_t bytes) { most_bytes_ = bytes; }
  // When a thread hands over what it has, within a loop too. Small next to what is kept, large next
  // to what handing over costs.
  static constexpr int64_t kBatchBytes = 256 << 10;
  static int64_t BytesOf(const std::vector<NodeRecord>& records,
                         const std::vector<ValueRecord>& values) {
    return static_cast<int64_t>(records.size() * sizeof(NodeRecord) +
                                values.size() * sizeof(ValueRecord));
  }
  int64_t bytes() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return bytes_;
  }
  // Takes what is in them. `values`: of all records together, in their order.
  void Add(std::vector<NodeRecord>* records, std::vector<ValueRecord>* values) EXCLUDES(mutex_);
  // The step has ended: times are known. Called by whatever needs that; more calls do nothing.
  void End() EXCLUDES(mutex_);
  // The step has ended. Leaves out as well what ended by then, as something else of it is not
  // known, and what is beyond the bound, which is exact from now on. Before all that takes.
  void LeaveOut(int64_t until_nanos) EXCLUDES(mutex_);
  LeftOutRecords TakeLeftOut() EXCLUDES(mutex_);
  std::vector<NodeRecord> TakeRecords() EXCLUDES(mutex_);
  std::vector<ValueRecord> TakeValues() EXCLUDES(mutex_);
  // What `watch` has of the calling thread, or why it has nothing.
  void AddSwitches(int thread, ThreadSwitches::Watch* watch) EXCLUDES(mutex_) {
    if (!watch->status().ok() || watch->HasNews()) AddNews(thread, watch, false);
  }
  // What `watch` has of the calling thread, which helped that one.
  void AddHelperSwitches(int thread, ThreadSwitches::Watch* watch) EXCLUDES(mutex_) {
    if (!watch->status().ok() || watch->HasNews()) AddNews(thread, watch, true);
  }
  SwitchRecords TakeSwitches() EXCLUDES(mutex_);
  // By node, timed or not; nothing where all are timed.
  std::vector<int64_t> Calls() const { return {calls_.begin(), calls_.end()}; }

 private:
  struct Batch {
    std::vector<NodeRecord> records;
    std::vector<ValueRecord> values;
  };
  struct Switch {
    int thread = 0;
    bool of_helper = false;
    ThreadSwitch times;
  };
  template <class T>
  std::vector<T> TakeAll(std::vector<T> Batch::*part) EXCLUDES(mutex_);
  void AddNews(int thread, ThreadSwitches::Watch* watch, bool of_helper) EXCLUDES(mutex_);
  // Of the oldest batch, the first so many.
  void DropFirst(size_t records) REQUIRES(mutex_);
  void NoteLeftOut(const NodeRecord& record) REQUIRES(mutex_);

  const SystemClock system_clock_;
  TickClock ticks_;
  const int64_t most_ = 0;
  std::vector<std::atomic<int64_t>> calls_;
  bool traces_values_ = false;
  bool traces_switches_ = false;
  int64_t most_bytes_ = INT64_MAX;
  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::deque<Batch> batches_ GUARDED_BY(mutex_);  // oldest first
  int64_t bytes_ GUARDED_BY(mutex_) = 0;          // of all of them
  LeftOutRecords left_out_ GUARDED_BY(mutex_);
  std::deque<Switch> switches_ GUARDED_BY(mutex_);  // those of a thread in order
  std::vector<ThreadSwitch> news_ GUARDED_BY(mutex_);
  int64_t switches_gone_until_ GUARDED_BY(mutex_) = LeftOutRecords::kNothing;
  Status switches_missing_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
