// SPDX-License-Identifier: Apache-2.0
// MemoryUse: what held the memory of a device in one step: each block that a kernel was given, from
// when it came to when it went, what was there before, and the peak with who held it.
//
//   ASSIGN_OR_RETURN(const auto trace, ReadTrace(fs, paths, /*with_memory=*/true));
//   for (const MemoryUse& use : MemoryOfStep(*trace, 0)) Use(use.peak_bytes);
//
// A block is the values that lie in it: of the node that it was made for, and of those that wrote
// over it or handed it on. Times are those of the trace's spans. Blocks come and go in whole
// microseconds; one that came and went within one counts in no peak.
// Ownership: values; texts are numbers in the trace.
// Threads: any.
// Errors: none; what a trace does not tell is missing, which `inferred` and `unexplained_bytes`
// say.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/trace/trace.h"

namespace thalweg {

enum class HeldKind : uint8_t {
  kVariable,
  kConstant,
  kState,       // queues, tables and what else outlives a step
  kActivation,  // made outside of the gradients, and read by them
  kGradient,    // made by the gradients
  kValue,       // another value of the step
  kScratch,     // put out by no node: what a kernel needs while it runs
};
inline constexpr size_t kMemoryKinds = 7;
std::string_view MemoryKindName(HeldKind kind);

struct MemoryBlock {
  uint32_t name = 0, op = 0;  // the node that it was made for
  uint32_t last = 0;          // the node that put it out last; 0: none
  HeldKind kind = HeldKind::kValue;
  bool stays = false;          // still there at the step's end
  int64_t begin = 0, end = 0;  // of what was there before: the step's
  int64_t bytes = 0;
  int dtype = 0;       // of its first value; 0: not known
  uint32_t shape = 0;  // of the trace's memory, where the type is known
};

struct MemoryUse {
  uint32_t device = 0;
  uint32_t step = 0;
  std::vector<MemoryBlock> blocks;     // by begin
  std::vector<MemoryBlock> residents;  // there before the step: largest first
  // Of the allocator where it told, so with what no block explains; else of blocks and residents.
  int64_t peak_bytes = 0;
  int64_t peak_at = 0;            // when blocks held the most
  int64_t block_bytes = 0;        // of those then
  int64_t unexplained_bytes = 0;  // of the peak: neither blocks nor residents; 0 where not known
  bool knows_allocator = false;   // that it told
  bool inferred = false;          // when values went is taken from who read them last
  std::vector<std::pair<int64_t, int64_t>> curve;  // when, bytes of blocks from then on
};

// Of each device that tells of memory; the highest peak first.
std::vector<MemoryUse> MemoryOfStep(const Trace& trace, uint32_t step);
// What is held at the peak, blocks and residents: largest first.
std::vector<const MemoryBlock*> HoldersAtPeak(const MemoryUse& use);

// What grew from step to step and never shrank: queues, tables and variables of several steps.
struct MemoryGrowth {
  uint32_t device = 0, name = 0, op = 0;
  int64_t first = 0, last = 0;  // bytes
  uint32_t steps = 0;
};

struct MemoryOfTrace {
  uint32_t step = 0;
  std::vector<MemoryUse> uses;  // of that step, as MemoryOfStep has them
  std::vector<MemoryGrowth> growth;
};
// Looks at each step once. `step`: -1 for the one with the highest peak.
MemoryOfTrace MemoryOf(const Trace& trace, int64_t step);

}  // namespace thalweg
