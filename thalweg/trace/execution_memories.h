// SPDX-License-Identifier: Apache-2.0
// ExecutionMemories: what the executions of a trace tell of memory (ExecutionMemory), of which
// there may be millions: what each has several of lies one behind the other, and each shape once.
//
//   ExecutionMemory memory;
//   ExecutionMemories memories;
//   memories.Add(memory);
//   for (const ExecutionMemories::Node& node : memories.nodes()) Use(memories.ChangesOf(node));
//
// Ownership: owns everything; what ChangesOf, ValuesOf and Shape give is valid until the next Add.
// Threads: one fills it; then reading from any.
// Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "thalweg/trace/execution_memory.h"

namespace thalweg {

class ExecutionMemories {
 public:
  // As ExecutionMemory has them.
  struct Value {
    uint64_t address = 0;
    int64_t allocated = 0;
    int dtype = 0;
    uint32_t shape = 0;  // of Shape()
  };
  struct Node {
    uint32_t device = 0, name = 0, op = 0;
    uint32_t outputs = 0;
    int64_t start = 0, end = 0;
    int64_t persistent = 0;
    int64_t allocator_in_use = 0;
    uint32_t first_change = 0, changes = 0;
    uint32_t first_value = 0, values = 0;
  };
  static_assert(sizeof(Node) == 64 && sizeof(Value) == 24);

  void Add(const ExecutionMemory& memory);
  template <class Goes>
  void EraseNodesIf(const Goes& goes) {
    std::erase_if(nodes_, goes);
  }
  bool empty() const { return nodes_.empty(); }
  // In the order in which they were added.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const ExecutionMemory::Change> ChangesOf(const Node& node) const {
    return std::span(changes_).subspan(node.first_change, node.changes);
  }
  std::span<const Value> ValuesOf(const Node& node) const {
    return std::span(values_).subspan(node.first_value, node.values);
  }
  const std::vector<int64_t>& Shape(uint32_t number) const { return *shapes_[number]; }

 private:
  std::vector<Node> nodes_;
  std::vector<ExecutionMemory::Change> changes_;
  std::vector<Value> values_;
  std::map<std::vector<int64_t>, uint32_t> numbers_;
  std::vector<const std::vector<int64_t>*> shapes_;  // keys of numbers_
};

}  // namespace thalweg
