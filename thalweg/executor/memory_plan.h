// SPDX-License-Identifier: Apache-2.0
// MemoryPlan: how many bytes of values a plan holds at once, known before it runs.
//
// Walks the plan's code in the order in which one thread would run it. Counted are the buffers that
// kernels make for their outputs: each from the kernel's call to the value's last use. It is a
// bound: no kernel is believed to work in place, both sides of a cond count, and sizes are those of
// the values, without a kernel's workspace and the allocator's rounding. A loop counts as one
// iteration. Constants, feeds and variables are not the step's.
// Ownership: values.
// Threads: any.
// Errors: none; what is not known counts as empty and is counted.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg {

struct MemoryPlan {
  int64_t peak_bytes = 0;
  int peak_node = -1;          // in Program::nodes: the peak is reached when it runs
  int64_t unknown_values = 0;  // whose size is not known; they count as empty
};

inline constexpr int64_t kUnknownBytes = -1;
inline constexpr int64_t kFirstInputsBytes = -2;  // the buffer of the first input, once more
// By node of the program and output: its size, 0 for what needs no buffer, or one of the above.
using OutputBytes = std::vector<std::vector<int64_t>>;

}  // namespace thalweg
