// SPDX-License-Identifier: Apache-2.0
// TracedMemory: what the kernels of a traced step allocate, when it comes back, and what nodes put
// out, as fields of their NodeExecStats.
//
//   TracedMemory memory(run, trace.ticks(), 64 << 20);  // its contexts allocate through this now
//   Status status = executor->Run(run);
//   trace.End();
//   memory.Finish(records, trace.TakeValues());
//   for (const NodeRecord& record : records) memory.AppendFields(record, stats, &fields);
//
// The fields are TensorFlow's: `memory` with a record for each block that came and went, `output`,
// `referenced_tensor` and `memory_stats`. A block belongs to the node whose kernel asked for it,
// or, where that is not known, to the first that put it out; one of neither is left out.
// Ownership: contexts, ticks and records outlive it; it gives the contexts their allocators back.
// Threads: one.
// Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/executor/executor.h"
#include "thalweg/session/run_metadata.h"
#include "thalweg/tensor/traced_allocator.h"

namespace thalweg {

class TracedMemory {
 public:
  // Of what kernels allocated and gave back about so many `bytes` of records are kept at most.
  TracedMemory(const Executor::Step& run, const TickClock& ticks, int64_t bytes);
  TracedMemory(const TracedMemory&) = delete;
  TracedMemory& operator=(const TracedMemory&) = delete;
  ~TracedMemory();

  // What came back by then may not be known; TracedAllocator::kNothing: all is.
  int64_t ForgottenUntil() const;
  // The step and its ticks have ended. `values`: those of all records together.
  void Finish(const std::vector<NodeRecord>& records, std::vector<ValueRecord> values);
  // For the records that Finish was given, each once, in their order.
  void AppendFields(const NodeRecord& record, const StepStats& stats, std::string* fields);

 private:
  struct Lent {
    StepContext* context;
    Allocator* allocator;  // that it had
  };
  static constexpr size_t kNone = SIZE_MAX;
  struct Block : TracedAllocation {
    size_t memory = 0;      // in memories_: two devices' may have one name
    size_t record = kNone;  // whose it is
  };
  struct Memory {
    std::string name;
    std::shared_ptr<TracedAllocator> allocator;
  };

  TracedAllocator& Traced(Allocator& allocator, const StepContext& context, const TickClock& ticks,
                          int64_t bytes);
  void FindOwners(const std::vector<NodeRecord>& records);
  void FindAllocating(const std::vector<NodeRecord>& records);
  // The block that lay there at that moment; kNone: none of the step's.
  size_t BlockAt(const void* address, int64_t nanos) const;
  void AppendMemory(const NodeRecord& record, std::span<const size_t> blocks,
                    const StepStats& stats, std::string* fields) const;
  void AppendOutput(size_t v, std::string* fields) const;

  std::vector<Lent> lent_;
  KernelExecution* const work_;
  Allocator* work_allocator_ = nullptr;  // that it had
  std::vector<Memory> memories_;
  std::vector<Block> blocks_;
  std::unordered_map<const void*, std::vector<size_t>> blocks_at_;  // by their start
  std::vector<ValueRecord> values_;
  std::vector<size_t> block_of_value_;               // as BlockAt says, when its node ended
  std::vector<size_t> owned_;                        // blocks, by whose they are
  size_t record_ = 0, value_ = 0, owned_block_ = 0;  // where AppendFields goes on
};

}  // namespace thalweg
