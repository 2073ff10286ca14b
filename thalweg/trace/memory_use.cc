// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/memory_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace thalweg {
namespace {

using Node = ExecutionMemories::Node;
using Value = ExecutionMemories::Value;

// "layer/gradients/y_grad/MatMul", "gradients_1/...": what computes gradients.
bool IsOfGradients(std::string_view name) {
  while (!name.empty()) {
    if (name.starts_with("gradients")) return true;
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) return false;
    name.remove_prefix(slash + 1);
  }
  return false;
}

bool IsVariableOp(std::string_view op) {
  return op == "VariableV2" || op == "Variable" || op == "VarHandleOp" || op == "_VarHandlesOp" ||
         op == "TemporaryVariable" || op == "AutoReloadVariable";
}

HeldKind ResidentKind(std::string_view op) {
  if (IsVariableOp(op)) return HeldKind::kVariable;
  return op == "Const" || op == "HostConst" ? HeldKind::kConstant : HeldKind::kState;
}

// What nodes of a step tell of one device, with the times of the trace.
class DeviceMemory {
 public:
  DeviceMemory(const Trace& trace, uint32_t step, uint32_t device)
      : trace_(trace), step_(trace.steps[step]) {
    use_.device = device;
    use_.step = step;
    shift_ = trace.tasks[trace.devices[device].task].offset_nanos - trace.begin_nanos;
  }

  void Add(const Node& node) { nodes_.push_back(&node); }
  MemoryUse Use(const std::unordered_set<uint64_t>& read_by_gradients) {
    std::stable_sort(nodes_.begin(), nodes_.end(),
                     [](const auto* a, const auto* b) { return a->end < b->end; });
    AddResidents();
    use_.inferred = std::all_of(nodes_.begin(), nodes_.end(),
                                [](const auto* node) { return node->changes == 0; });
    for (const Node* const node : nodes_) {
      use_.inferred ? AddValues(*node) : AddChanges(*node);
    }
    NameBlocks(read_by_gradients);
    std::stable_sort(use_.blocks.begin(), use_.blocks.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
    FindPeak();
    return std::move(use_);
  }

 private:
  int64_t At(int64_t nanos) const {
    return std::clamp(nanos + shift_, step_.recorded_begin, step_.recorded_end);
  }

  void AddResidents() {
    std::unordered_map<uint64_t, const Value*> described;
    for (const Node* const node : nodes_) {
      for (const Value& value : trace_.memory.ValuesOf(*node)) {
        if (value.address != 0 && value.dtype != 0) described.emplace(value.address, &value);
      }
    }
    std::map<uint64_t, size_t> seen;  // by what they refer to, or their node
    for (const Node* const node : nodes_) {
      if (node->persistent == 0) continue;
      const std::span<const Value> values = trace_.memory.ValuesOf(*node);
      const Value* const value = values.empty() ? nullptr : &values.back();
      uint64_t key = node->name;
      if (value != nullptr && value->address != 0) key = value->address;
      const auto [found, is_new] = seen.emplace(key, use_.residents.size());
      if (!is_new) continue;
      MemoryBlock& block = use_.residents.emplace_back(NewBlock(*node));
      block.kind = ResidentKind(trace_.texts[node->op]);
      block.stays = true;
      block.begin = step_.recorded_begin;
      block.end = step_.recorded_end;
      block.bytes = node->persistent;
      if (block.kind == HeldKind::kState || value == nullptr) continue;
      const auto type = described.find(value->address);
      const Value& known = type == described.end() ? *value : *type->second;
      block.dtype = known.dtype;
      block.shape = known.shape;
    }
    AddConstants();
    std::stable_sort(use_.residents.begin(), use_.residents.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  }

  // Of the graph, where they do not run as nodes.
  void AddConstants() {
    std::unordered_set<uint32_t> told;
    for (const MemoryBlock& block : use_.residents) told.insert(block.name);
    for (const auto& [key, facts] : trace_.facts) {
      const auto name = static_cast<uint32_t>(key);
      if (key >> 32 != use_.device || facts.constant_bytes == 0 || told.contains(name)) continue;
      use_.residents.push_back({.name = name,
                                .op = facts.op,
                                .kind = HeldKind::kConstant,
                                .stays = true,
                                .begin = step_.recorded_begin,
                                .end = step_.recorded_end,
                                .bytes = facts.constant_bytes});
    }
  }

  MemoryBlock NewBlock(const Node& node) const {
    return {.name = node.name, .op = node.op, .kind = HeldKind::kScratch};
  }

  // A block that came is gone with the first of as many bytes that goes behind it.
  void AddChanges(const Node& node) {
    const size_t first = use_.blocks.size();
    for (const ExecutionMemory::Change& change : trace_.memory.ChangesOf(node)) {
      if (change.bytes > 0) {
        MemoryBlock& block = use_.blocks.emplace_back(NewBlock(node));
        block.begin = At(change.nanos);
        block.end = step_.recorded_end;
        block.stays = true;
        block.bytes = change.bytes;
        addresses_.push_back(0);
        continue;
      }
      for (size_t b = first; b < use_.blocks.size(); ++b) {
        MemoryBlock& block = use_.blocks[b];
        if (!block.stays || block.bytes != -change.bytes) continue;
        block.stays = false;
        block.end = std::max(block.begin, At(change.nanos));
        break;
      }
    }
    // Which of them are outputs: of as many bytes as these were given, the ones that live longest.
    for (const Value& value : trace_.memory.ValuesOf(node)) {
      size_t longest = use_.blocks.size();
      for (size_t b = first; b < use_.blocks.size(); ++b) {
        if (addresses_[b] != 0 || value.address == 0 || use_.blocks[b].bytes != value.allocated ||
            IsGoneBefore(node, use_.blocks[b])) {
          continue;
        }
        if (longest == use_.blocks.size() || use_.blocks[b].end > use_.blocks[longest].end)
          longest = b;
      }
      if (longest == use_.blocks.size() || IsOfAnother(node, value.address)) continue;
      SetValue(longest, value);
    }
  }
  // Gone before its node had ended: no output.
  bool IsGoneBefore(const Node& node, const MemoryBlock& block) const {
    return block.end < At(node.end) - 1000;
  }
  // The value lies in the block of a node that ended before.
  bool IsOfAnother(const Node& node, uint64_t address) const {
    const auto found = at_.find(address);
    if (found == at_.end()) return false;
    const MemoryBlock& block = use_.blocks[found->second.back()];
    return block.name != node.name && block.end > At(node.end);
  }
  void SetValue(size_t block, const Value& value) {
    addresses_[block] = value.address;
    at_[value.address].push_back(block);
    use_.blocks[block].dtype = value.dtype;
    use_.blocks[block].shape = value.shape;
  }

  // Without records of what came and went: an output lives until its last reader has ended.
  void AddValues(const Node& node) {
    for (const Value& value : trace_.memory.ValuesOf(node).first(node.outputs)) {
      if (value.address == 0 || value.allocated == 0 || node.persistent > 0) continue;
      const auto found = at_.find(value.address);
      if (found != at_.end() && use_.blocks[found->second.back()].end >= At(node.start)) continue;
      MemoryBlock& block = use_.blocks.emplace_back(NewBlock(node));
      block.begin = At(node.start);
      block.bytes = value.allocated;
      const auto last = LastRead(node.name);
      block.stays = last < 0;
      block.end = block.stays ? step_.recorded_end : std::max(last, At(node.end));
      addresses_.push_back(0);
      SetValue(use_.blocks.size() - 1, value);
    }
  }
  int64_t LastRead(uint32_t name) {
    if (last_reads_.empty()) {
      const auto read = [&](uint32_t reader, int64_t end) {
        const NodeFacts* const facts = trace_.FactsOf(use_.device, reader);
        if (facts == nullptr) return;
        for (const uint32_t input : facts->inputs) {
          int64_t& last = last_reads_.try_emplace(input, -1).first->second;
          last = std::max(last, end);
        }
      };
      for (size_t s = step_.first; s < step_.last; ++s) {
        const TraceSpan& span = trace_.spans[s];
        if (span.device == use_.device) read(span.name, span.end);
      }
      // A filter takes spans away, not when values were read, nor what is told of memory.
      for (const TraceLastRun& taken : step_.taken) {
        if (taken.device == use_.device) read(taken.name, taken.end);
      }
      for (const Node* const node : nodes_) read(node->name, At(node->end));
      last_reads_.try_emplace(0, -1);
    }
    const auto found = last_reads_.find(name);
    return found == last_reads_.end() ? -1 : found->second;
  }

  // Values that others put out lie in blocks that were there: they wrote over them, or handed them
  // on.
  void NameBlocks(const std::unordered_set<uint64_t>& read_by_gradients) {
    std::vector<bool> is_read(use_.blocks.size());
    std::unordered_map<uint64_t, std::vector<int64_t>> latest_ends;  // of a block and those before
    for (auto& [address, blocks] : at_) {
      std::stable_sort(blocks.begin(), blocks.end(), [&](size_t a, size_t b) {
        return use_.blocks[a].begin < use_.blocks[b].begin;
      });
      std::vector<int64_t>& latest = latest_ends[address];
      for (const size_t b : blocks) {
        const int64_t end = use_.blocks[b].end;
        latest.push_back(latest.empty() ? end : std::max(latest.back(), end));
      }
    }
    for (const Node* const node : nodes_) {
      for (const Value& value : trace_.memory.ValuesOf(*node).first(node->outputs)) {
        const auto found = at_.find(value.address);
        if (found == at_.end()) continue;
        const int64_t end = At(node->end);
        const std::vector<int64_t>& latest = latest_ends[found->first];
        const auto after = std::upper_bound(
            found->second.begin(), found->second.end(), end,
            [&](int64_t moment, size_t b) { return moment < use_.blocks[b].begin; });
        for (auto i = static_cast<size_t>(after - found->second.begin());
             i > 0 && latest[i - 1] >= end - 1000; --i) {
          const size_t b = found->second[i - 1];
          MemoryBlock& block = use_.blocks[b];
          if (block.end < end - 1000) continue;
          block.last = node->name;
          if (read_by_gradients.contains(Trace::NodeKey(use_.device, node->name)))
            is_read[b] = true;
        }
      }
    }
    for (size_t b = 0; b < use_.blocks.size(); ++b) {
      MemoryBlock& block = use_.blocks[b];
      if (addresses_[b] == 0) continue;
      block.kind = IsOfGradients(trace_.texts[block.name]) ? HeldKind::kGradient
                   : is_read[b]                            ? HeldKind::kActivation
                                                           : HeldKind::kValue;
    }
  }

  void FindPeak() {
    // Of the same moment what goes comes first.
    std::vector<std::pair<int64_t, int64_t>> changes;
    for (const MemoryBlock& block : use_.blocks) {
      if (block.end <= block.begin && !block.stays) continue;
      changes.emplace_back(block.begin, block.bytes);
      if (!block.stays) changes.emplace_back(block.end, -block.bytes);
    }
    std::sort(changes.begin(), changes.end());
    int64_t live = 0;
    use_.peak_at = step_.recorded_begin;
    for (const auto& [at, bytes] : changes) {
      live += bytes;
      if (!use_.curve.empty() && use_.curve.back().first == at) {
        use_.curve.back().second = live;
      } else {
        use_.curve.emplace_back(at, live);
      }
      if (live <= use_.block_bytes) continue;
      use_.block_bytes = live;
      use_.peak_at = at;
    }
    int64_t in_use = 0, counted = use_.block_bytes;
    for (const Node* const node : nodes_) in_use = std::max(in_use, node->allocator_in_use);
    for (const MemoryBlock& block : use_.residents) {
      // An allocator counts no constants of the graph.
      if (in_use == 0 || block.kind != HeldKind::kConstant) counted += block.bytes;
    }
    use_.knows_allocator = in_use > 0;
    use_.peak_bytes = std::max(in_use, counted);
    use_.unexplained_bytes = use_.peak_bytes - counted;
  }

  const Trace& trace_;
  const TraceStep& step_;
  int64_t shift_ = 0;
  std::vector<const Node*> nodes_;
  std::vector<uint64_t> addresses_;                       // by block; 0: of no output
  std::unordered_map<uint64_t, std::vector<size_t>> at_;  // blocks by address, in their order
  std::unordered_map<uint32_t, int64_t> last_reads_;
  MemoryUse use_;
};

std::unordered_set<uint64_t> ReadByGradients(const Trace& trace) {
  std::unordered_set<uint64_t> read;
  for (const auto& [key, facts] : trace.facts) {
    const auto name = static_cast<uint32_t>(key);
    if (!IsOfGradients(trace.texts[name])) continue;
    for (const uint32_t input : facts.inputs) {
      if (!IsOfGradients(trace.texts[input])) read.insert((key >> 32 << 32) | input);
    }
  }
  return read;
}

std::map<uint32_t, DeviceMemory> ByDevice(const Trace& trace, uint32_t number) {
  std::map<uint32_t, DeviceMemory> devices;
  const TraceStep& step = trace.steps[number];
  for (const Node& node : trace.memory.nodes()) {
    const int64_t start =
        node.start - trace.begin_nanos + trace.tasks[trace.devices[node.device].task].offset_nanos;
    if (start < step.recorded_begin || start > step.recorded_end) continue;
    devices.try_emplace(node.device, trace, number, node.device).first->second.Add(node);
  }
  return devices;
}

std::vector<MemoryUse> UsesOfStep(const Trace& trace, uint32_t step,
                                  const std::unordered_set<uint64_t>& read_by_gradients) {
  std::vector<MemoryUse> uses;
  for (auto& [device, memory] : ByDevice(trace, step)) {
    uses.push_back(memory.Use(read_by_gradients));
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const auto& a, const auto& b) { return a.peak_bytes > b.peak_bytes; });
  return uses;
}

// What was there before each of the steps, which are told in their order.
class GrowthOfSteps {
 public:
  void Add(const std::vector<MemoryUse>& uses) {
    for (const MemoryUse& use : uses) {
      for (const MemoryBlock& block : use.residents) {
        const std::pair key(use.device, block.name);
        MemoryGrowth& growth = grown_[key];
        if (growth.steps++ == 0) {
          growth = {use.device, block.name, block.op, block.bytes, block.bytes, 1};
        }
        if (block.bytes < growth.last) shrank_.insert(key);
        growth.last = block.bytes;
      }
    }
  }
  std::vector<MemoryGrowth> Found() const {
    std::vector<MemoryGrowth> found;
    for (const auto& [key, growth] : grown_) {
      if (growth.last > growth.first && !shrank_.contains(key)) found.push_back(growth);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.last - a.first > b.last - b.first;
    });
    return found;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, MemoryGrowth> grown_;  // by device and name
  std::set<std::pair<uint32_t, uint32_t>> shrank_;
};

}  // namespace

std::string_view MemoryKindName(HeldKind kind) {
  constexpr std::string_view kNames[] = {"variables",   "constants", "queues, tables",
                                         "activations", "gradients", "other values",
                                         "scratch"};
  static_assert(std::size(kNames) == kMemoryKinds);
  return kNames[static_cast<size_t>(kind)];
}

std::vector<MemoryUse> MemoryOfStep(const Trace& trace, uint32_t step) {
  return UsesOfStep(trace, step, ReadByGradients(trace));
}

MemoryOfTrace MemoryOf(const Trace& trace, int64_t step) {
  const std::unordered_set<uint64_t> read = ReadByGradients(trace);
  MemoryOfTrace memory;
  GrowthOfSteps growth;
  int64_t most = -1;
  for (uint32_t number = 0; number < trace.steps.size(); ++number) {
    std::vector<MemoryUse> uses = UsesOfStep(trace, number, read);
    growth.Add(uses);
    const int64_t peak = uses.empty() ? -1 : uses.front().peak_bytes;
    if (step < 0 ? peak <= most : number != step) continue;
    most = peak;
    memory.step = number;
    memory.uses = std::move(uses);
  }
  memory.growth = growth.Found();
  return memory;
}

std::vector<const MemoryBlock*> HoldersAtPeak(const MemoryUse& use) {
  std::vector<const MemoryBlock*> holders;
  for (const MemoryBlock& block : use.residents) holders.push_back(&block);
  for (const MemoryBlock& block : use.blocks) {
    const bool is_there = block.begin <= use.peak_at && (block.stays || block.end > use.peak_at);
    if (is_there) holders.push_back(&block);
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  return holders;
}

}  // namespace thalweg
