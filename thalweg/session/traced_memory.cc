// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/traced_memory.h"

#include <algorithm>
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
  if (address == nullptr || found == blocks_at_.end()) return blocks_.size();
  const auto after =
      std::upper_bound(found->second.begin(), found->second.end(), nanos,
                       [&](int64_t moment, size_t b) { return moment < blocks_[b].start_nanos; });
  if (after == found->second.begin()) return blocks_.size();
  const size_t last = *std::prev(after);
  return blocks_[last].end_nanos >= nanos ? last : blocks_.size();
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
  records_ = &records;
  if (!values_.empty()) {
    first_value_.reserve(records.size() + 1);
    size_t value = 0;
    for (const NodeRecord& record : records) {
      first_value_.push_back(value);
      value += record.values;
    }
    first_value_.push_back(value);
  }
  block_of_value_.assign(values_.size(), blocks_.size());
  if (!blocks_.empty()) FindOwners();
}

TracedMemory::NodeMemory TracedMemory::MemoryOf(size_t record) const {
  NodeMemory memory;
  if (!first_value_.empty()) {
    memory.first_value = first_value_[record];
    memory.last_value = first_value_[record + 1];
  }
  if (!first_block_.empty()) {
    const size_t first = first_block_[record];
    memory.blocks = std::span(owned_).subspan(first, first_block_[record + 1] - first);
  }
  memory.end_nanos = (*records_)[record].end_nanos;
  return memory;
}

// Of blocks, and which of them values lie in.
void TracedMemory::FindOwners() {
  const std::vector<NodeRecord>& records = *records_;
  constexpr size_t kNobody = SIZE_MAX;
  std::vector<size_t> owner(blocks_.size(), kNobody);
  // Of the nodes that asked for any.
  std::unordered_map<int, std::vector<size_t>> records_of;
  for (const Block& block : blocks_) records_of[block.node];
  std::vector<size_t> by_end;  // those with values
  for (size_t r = 0; r < records.size(); ++r) {
    if (const auto calls = records_of.find(records[r].node); calls != records_of.end()) {
      calls->second.push_back(r);
    }
    if (records[r].values != 0) by_end.push_back(r);
  }
  for (auto& [node, calls] : records_of) {
    std::sort(calls.begin(), calls.end(),
              [&](size_t a, size_t b) { return records[a].start_nanos < records[b].start_nanos; });
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const std::vector<size_t>& calls = records_of[blocks_[b].node];
    const auto after =
        std::upper_bound(calls.begin(), calls.end(), blocks_[b].start_nanos,
                         [&](int64_t nanos, size_t r) { return nanos < records[r].start_nanos; });
    if (after != calls.begin()) owner[b] = *std::prev(after);
  }
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](size_t a, size_t b) { return records[a].end_nanos < records[b].end_nanos; });
  std::vector<std::pair<size_t, size_t>> owned;  // record, block
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (owner[b] != kNobody) owned.emplace_back(owner[b], b);
  }
  for (const size_t r : by_end) {
    for (size_t v = first_value_[r]; v < first_value_[r + 1]; ++v) {
      const size_t b = BlockAt(values_[v].block, records[r].end_nanos);
      block_of_value_[v] = b;
      if (b == blocks_.size() || owner[b] != kNobody) continue;
      owner[b] = r;
      owned.emplace_back(r, b);
    }
  }
  std::stable_sort(owned.begin(), owned.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  first_block_.assign(records.size() + 1, 0);
  for (const auto& [record, block] : owned) {
    ++first_block_[record + 1];
    owned_.push_back(block);
  }
  for (size_t r = 0; r < records.size(); ++r) first_block_[r + 1] += first_block_[r];
}

void TracedMemory::AppendMemory(const NodeMemory& node, const StepStats& stats,
                                std::string* fields) const {
  namespace Used = pb::AllocatorMemoryUsed;
  for (size_t m = 0; m < memories_.size(); ++m) {
    std::vector<std::pair<int64_t, int64_t>> changes;  // when, bytes
    int64_t total = 0, live = 0, at_end = 0, peak = 0, in_use = 0;
    for (const size_t b : node.blocks) {
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
  const bool is_ours = b < blocks_.size();
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

void TracedMemory::AppendFields(size_t record, const StepStats& stats, std::string* fields) const {
  if (first_value_.empty() && first_block_.empty()) return;
  const NodeMemory node = MemoryOf(record);
  if (node.first_value == node.last_value && node.blocks.empty()) return;
  AppendMemory(node, stats, fields);
  int64_t held = 0;
  for (size_t v = node.first_value; v < node.last_value; ++v) {
    const ValueRecord& value = values_[v];
    if (value.block != nullptr) AppendOutput(v, fields);
    held += value.held_bytes;
    if (value.held_block == nullptr || value.held_block == value.block) continue;
    AddWireText(pb::NodeExecStats::kReferencedTensor,
                BufferFields(value.held_bytes, 0, kHostMemory, value.held_block), fields);
  }
  int64_t gone = 0;  // before the node's end: scratch memory
  for (const size_t b : node.blocks) {
    if (blocks_[b].end_nanos <= node.end_nanos) gone += blocks_[b].bytes;
  }
  if (gone == 0 && held == 0) return;
  std::string memory;
  AddWireInt(pb::MemoryStats::kTempMemorySize, gone, &memory);
  AddWireInt(pb::MemoryStats::kPersistentMemorySize, held, &memory);
  AddWireText(pb::NodeExecStats::kMemoryStats, memory, fields);
}

}  // namespace thalweg
