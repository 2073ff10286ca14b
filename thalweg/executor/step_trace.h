// SPDX-License-Identifier: Apache-2.0
// StepTrace: which node ran when, on which thread, in one step. Given to Executor::Run by who wants
// to know. Without a clock of its own it uses the system's. One that wants to know what nodes cost
// times the first calls of each and counts the others: a loop of millions leaves no more behind.
// One that wants to know what holds memory is told what nodes put out, too (TraceValues), one that
// wants to know who waited when its threads had no processor (TraceSwitches).
//
// Ownership: its clock outlives it; records go to who takes them.
// Threads: an executor's threads add batches at the same time; read the records after Run() has
// returned.
// Errors: none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/thread_switches.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct NodeRecord {
  int node = 0;             // in Program::nodes
  int thread = 0;           // 0 is the caller's
  uint64_t tag = 0;         // frame and iteration
  int64_t start_nanos = 0;  // of the trace's clock
  int64_t end_nanos = 0;
  uint32_t values = 0;         // how many of the trace's values are its outputs
  bool has_no_thread = false;  // an asynchronous kernel: `thread` went on when it had ended
};

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

// When threads of a step had no processor.
struct SwitchRecords {
  std::map<int, std::vector<ThreadSwitch>> by_thread;  // NodeRecord::thread; in order
  Status missing;                                      // why there are none, of one thread
};

class StepTrace {
 public:
  StepTrace() : clock_(&system_clock_) {}
  // The clock must outlive the trace.
  explicit StepTrace(const Clock* clock) : clock_(clock) {}
  // Traces a program with so many nodes; times `most` calls of each.
  StepTrace(const Clock* clock, size_t nodes, uint32_t most)
      : clock_(clock), most_(most), calls_(nodes) {}
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  int64_t NowNanos() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_->Now().time_since_epoch())
        .count();
  }
  // When a call of the node begins: kUntimed, or its start.
  static constexpr int64_t kUntimed = INT64_MIN;
  int64_t Start(uint32_t node) {
    if (!calls_.empty() && calls_[node].fetch_add(1, std::memory_order_relaxed) >= most_) {
      return kUntimed;
    }
    return NowNanos();
  }
  // Before the step: its nodes' outputs are to be told, too.
  void TraceValues() { traces_values_ = true; }
  bool traces_values() const { return traces_values_; }
  // Before the step, for a clock that is the system's.
  void TraceSwitches() { traces_switches_ = true; }
  bool traces_switches() const { return traces_switches_; }
  // `values`: of all records together, in their order.
  void Add(const std::vector<NodeRecord>& batch, std::vector<ValueRecord>* values)
      EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    records_.insert(records_.end(), batch.begin(), batch.end());
    values_.insert(values_.end(), std::move_iterator(values->begin()),
                   std::move_iterator(values->end()));
  }
  std::vector<NodeRecord> TakeRecords() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(records_, {});
  }
  std::vector<ValueRecord> TakeValues() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(values_, {});
  }
  // What `watch` has of the calling thread, or why it has nothing.
  void AddSwitches(int thread, ThreadSwitches::Watch* watch) EXCLUDES(mutex_) {
    if (watch->status().ok() && !watch->HasNews()) return;
    MutexLock lock(mutex_);
    if (watch->status().ok()) {
      watch->Take(&switches_.by_thread[thread]);
    } else if (switches_.missing.ok()) {
      switches_.missing = watch->status();
    }
  }
  SwitchRecords TakeSwitches() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(switches_, {});
  }
  // By node, timed or not; nothing where all are timed.
  std::vector<int64_t> Calls() const { return {calls_.begin(), calls_.end()}; }

 private:
  const SystemClock system_clock_;
  const Clock* const clock_;
  const int64_t most_ = 0;
  std::vector<std::atomic<int64_t>> calls_;
  bool traces_values_ = false;
  bool traces_switches_ = false;
  Mutex mutex_;
  std::vector<NodeRecord> records_ GUARDED_BY(mutex_);
  std::vector<ValueRecord> values_ GUARDED_BY(mutex_);
  SwitchRecords switches_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
