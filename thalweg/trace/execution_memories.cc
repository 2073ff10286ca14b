// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/execution_memories.h"

namespace thalweg {

void ExecutionMemories::Add(const ExecutionMemory& memory) {
  Node& node = nodes_.emplace_back();
  node.device = memory.device;
  node.name = memory.name;
  node.op = memory.op;
  node.outputs = static_cast<uint32_t>(memory.outputs);
  node.start = memory.start;
  node.end = memory.end;
  node.persistent = memory.persistent;
  node.allocator_in_use = memory.allocator_in_use;
  node.first_change = static_cast<uint32_t>(changes_.size());
  node.changes = static_cast<uint32_t>(memory.changes.size());
  changes_.insert(changes_.end(), memory.changes.begin(), memory.changes.end());
  node.first_value = static_cast<uint32_t>(values_.size());
  node.values = static_cast<uint32_t>(memory.values.size());
  for (const ExecutionMemory::Value& value : memory.values) {
    const auto [entry, is_new] =
        numbers_.try_emplace(value.shape, static_cast<uint32_t>(shapes_.size()));
    if (is_new) shapes_.push_back(&entry->first);
    values_.push_back({value.address, value.allocated, value.dtype, entry->second});
  }
}

}  // namespace thalweg
