// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/traced_memory.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

std::string ShapeFields(const Shape& shape) {
  std::string fields;
  for (int i = 0; i < shape.rank(); ++i) {
    std::string dim;
    AddWireInt(pb::TensorShapeProto::Dim::kSize, shape.dim(i), &dim);
    AddWireText(pb::TensorShapeProto::kDim, dim, &fields);
  }
  return fields;
}

std::string BufferFields(int64_t requested, int64_t allocated, std::string_view allocator,
                         const void* address) {
  namespace Description = pb::AllocationDescription;
  std::string fields;
  AddWireInt(Description::kRequestedBytes, requested, &fields);
  AddWireInt(Description::kAllocatedBytes, allocated, &fields);
  AddWireText(Description::kAllocatorName, allocator, &fields);
  AddWireInt(Description::kPtr, static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)),
             &fields);
  return fields;
}

constexpr std::string_view kHostMemory = "cpu";

// As TensorFlow calls the memory of a device: its type in small letters.
std::string MemoryName(const StepContext& context) {
  if (context.host_addressable) return std::string(kHostMemory);
  std::string name = context.device->type();
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// The numbers of those records that are wanted, sorted by `less`; those that it holds equal in
// their order.
template <class Wants, class Less>
std::vector<uint32_t> Sorted(const std::vector<NodeRecord>& records, const Wants& wants,
                             const Less& less) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (wants(records[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (less(records[a], records[b])) return true;
    return !less(records[b], records[a]) && a < b;
  });
  return order;
}

}  // namespace

TracedMemory::TracedMemory(const Executor::Step& run, const TickClock& ticks, int64_t bytes)
    : work_(run.work) {
  for (StepContext* const context : run.contexts) {
    lent_.push_back({context, context->allocator});
    context->allocator = &Traced(*context->allocator, *context, ticks, bytes);
  }
  if (work_ == nullptr) return;
  work_allocator_ = &work_->allocator();
  for (const Memory& memory : memories_) {
    if (&memory.allocator->inner() == work_allocator_) work_->set_allocator(*memory.allocator);
  }
}

TracedMemory::~TracedMemory() {
  // Blocks that live look at no ticks from here on, also where nobody came to Finish.
  for (const Memory& memory : memories_) memory.allocator->Take();
  for (const Lent& lent : lent_) lent.context->allocator = lent.allocator;
  if (work_ != nullptr) work_->set_allocator(*work_allocator_);
}

TracedAllocator& TracedMemory::Traced(Allocator& allocator, const StepContext& context,
                                      const TickClock& ticks, int64_t bytes) {
  for (const Memory& memory : memories_) {
    if (&memory.allocator->inner() == &allocator) return *memory.allocator;
  }
  memories_.push_back({MemoryName(context), TracedAllocator::Make(allocator, ticks)});
  memories_.back().allocator->KeepNewest(bytes);
  return *memories_.back().allocator;
}

int64_t TracedMemory::ForgottenUntil() const {
  int64_t until = TracedAllocator::kNothing;
  for (const Memory& memory : memories_) {
    until = std::max(until, memory.allocator->ForgottenUntil());
  }
  return until;
}

size_t TracedMemory::BlockAt(const void* address, int64_t nanos) const {
  const auto found = blocks_at_.find(address);
  if (address == nullptr || found == blocks_at_.end()) return kNone;
  const auto after =
      std::upper_bound(found->second.begin(), found->second.end(), nanos,
                       [&](int64_t moment, size_t b) { return moment < blocks_[b].start_nanos; });
  if (after == found->second.begin()) return kNone;
  const size_t last = *std::prev(after);
  return blocks_[last].end_nanos >= nanos ? last : kNone;
}

void TracedMemory::Finish(const std::vector<NodeRecord>& records, std::vector<ValueRecord> values) {
  values_ = std::move(values);
  for (size_t m = 0; m < memories_.size(); ++m) {
    for (const TracedAllocation& made : memories_[m].allocator->Take()) {
      blocks_at_[made.block].push_back(blocks_.size());
      blocks_.push_back({{made}, m});
    }
  }
  // What one memory gave back to the system another may have been given.
  for (auto& [address, blocks] : blocks_at_) {
    std::stable_sort(blocks.begin(), blocks.end(), [&](size_t a, size_t b) {
      return blocks_[a].start_nanos < blocks_[b].start_nanos;
    });
  }
  block_of_value_.assign(values_.size(), kNone);
  if (!blocks_.empty()) FindOwners(records);
}

// The node whose kernel asked for a block has it, in the call that had begun last.
void TracedMemory::FindAllocating(const std::vector<NodeRecord>& records) {
  std::unordered_set<int> nodes;  // most allocate nothing
  for (const Block& block : blocks_) nodes.insert(block.node);
  const std::vector<uint32_t> calls = Sorted(
      records, [&](const NodeRecord& record) { return nodes.contains(record.node); },
      [](const NodeRecord& a, const NodeRecord& b) {
        return std::tie(a.node, a.start_nanos) < std::tie(b.node, b.start_nanos);
      });
  for (Block& block : blocks_) {
    const auto after =
        std::upper_bound(calls.begin(), calls.end(), block, [&](const Block& wanted, uint32_t r) {
          return std::tie(wanted.node, wanted.start_nanos) <
                 std::tie(records[r].node, records[r].start_nanos);
        });
    if (after == calls.begin() || records[*std::prev(after)].node != block.node) continue;
    block.record = *std::prev(after);
  }
}

// Of blocks, and which of them values lie in.
void TracedMemory::FindOwners(const std::vector<NodeRecord>& records) {
  FindAllocating(records);
  std::vector<size_t> first_value(values_.empty() ? 0 : records.size());
  for (size_t r = 1; r < first_value.size(); ++r) {
    first_value[r] = first_value[r - 1] + records[r - 1].values;
  }
  const std::vector<uint32_t> by_end = Sorted(
      records, [](const NodeRecord& record) { return record.values != 0; },
      [](const NodeRecord& a, const NodeRecord& b) { return a.end_nanos < b.end_nanos; });
  for (const uint32_t r : by_end) {
    for (size_t v = first_value[r]; v < first_value[r] + records[r].values; ++v) {
      const size_t b = BlockAt(values_[v].block, records[r].end_nanos);
      block_of_value_[v] = b;
      if (b != kNone && blocks_[b].record == kNone) blocks_[b].record = r;
    }
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].record != kNone) owned_.push_back(b);
  }
  std::stable_sort(owned_.begin(), owned_.end(),
                   [&](size_t a, size_t b) { return blocks_[a].record < blocks_[b].record; });
}

void TracedMemory::AppendMemory(const NodeRecord& node, std::span<const size_t> blocks,
                                const StepStats& stats, std::string* fields) const {
  namespace Used = pb::AllocatorMemoryUsed;
  for (size_t m = 0; m < memories_.size(); ++m) {
    std::vector<std::pair<int64_t, int64_t>> changes;  // when, bytes
    int64_t total = 0, live = 0, at_end = 0, peak = 0, in_use = 0;
    for (const size_t b : blocks) {
      const Block& block = blocks_[b];
      if (block.memory != m) continue;
      changes.emplace_back(block.start_nanos, block.bytes);
      if (block.end_nanos != Block::kStillLives) {
        changes.emplace_back(block.end_nanos, -block.bytes);
      }
      total += block.bytes;
      if (block.end_nanos > node.end_nanos) at_end += block.bytes;
      in_use = block.in_use;
    }
    if (changes.empty()) continue;
    std::stable_sort(changes.begin(), changes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string used, record;
    AddWireText(Used::kAllocatorName, memories_[m].name, &used);
    for (const auto& [nanos, bytes] : changes) {
      live += bytes;
      peak = std::max(peak, live);
      record.clear();
      AddWireInt(pb::AllocationRecord::kAllocMicros,
                 stats.start_wall_micros + (nanos - stats.start_nanos) / 1000, &record);
      AddWireInt(pb::AllocationRecord::kAllocBytes, bytes, &record);
      AddWireText(Used::kAllocationRecords, record, &used);
    }
    AddWireInt(Used::kTotalBytes, total, &used);
    AddWireInt(Used::kPeakBytes, peak, &used);
    AddWireInt(Used::kLiveBytes, at_end, &used);
    AddWireInt(Used::kAllocatorBytesInUse, in_use, &used);
    AddWireText(pb::NodeExecStats::kMemory, used, fields);
  }
}

void TracedMemory::AppendOutput(size_t v, std::string* fields) const {
  namespace Description = pb::TensorDescription;
  const ValueRecord& value = values_[v];
  const size_t b = block_of_value_[v];
  const bool is_ours = b != kNone;
  std::string tensor, output;
  AddWireInt(Description::kDtype, static_cast<int64_t>(value.dtype), &tensor);
  AddWireText(Description::kShape, ShapeFields(value.shape), &tensor);
  AddWireText(Description::kAllocationDescription,
              BufferFields(value.bytes, is_ours ? blocks_[b].bytes : 0,
                           is_ours ? memories_[blocks_[b].memory].name : kHostMemory, value.block),
              &tensor);
  AddWireInt(pb::NodeOutput::kSlot, value.output, &output);
  AddWireText(pb::NodeOutput::kTensorDescription, tensor, &output);
  AddWireText(pb::NodeExecStats::kOutput, output, fields);
}

void TracedMemory::AppendFields(const NodeRecord& record, const StepStats& stats,
                                std::string* fields) {
  const size_t first = owned_block_;
  while (owned_block_ < owned_.size() && blocks_[owned_[owned_block_]].record == record_) {
    ++owned_block_;
  }
  ++record_;
  const std::span<const size_t> blocks(owned_.data() + first, owned_block_ - first);
  if (!blocks.empty()) AppendMemory(record, blocks, stats, fields);
  int64_t held = 0;
  for (const size_t end = value_ + record.values; value_ < end; ++value_) {
    const ValueRecord& value = values_[value_];
    if (value.block != nullptr) AppendOutput(value_, fields);
    held += value.held_bytes;
    if (value.held_block == nullptr || value.held_block == value.block) continue;
    AddWireText(pb::NodeExecStats::kReferencedTensor,
                BufferFields(value.held_bytes, 0, kHostMemory, value.held_block), fields);
  }
  int64_t gone = 0;  // before the node's end: scratch memory
  for (const size_t b : blocks) {
    if (blocks_[b].end_nanos <= record.end_nanos) gone += blocks_[b].bytes;
  }
  if (gone == 0 && held == 0) return;
  std::string memory;
  AddWireInt(pb::MemoryStats::kTempMemorySize, gone, &memory);
  AddWireInt(pb::MemoryStats::kPersistentMemorySize, held, &memory);
  AddWireText(pb::NodeExecStats::kMemoryStats, memory, fields);
}

}  // namespace thalweg
