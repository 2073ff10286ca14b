// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/memory_json.h"

#include <algorithm>
#include <array>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/memory_use.h"

namespace thalweg {
namespace {

constexpr size_t kMostJsonHolders = 1000, kMostJsonPoints = 400;

void WriteHolder(const Trace& trace, const MemoryUse& use, const MemoryBlock& block,
                 JsonWriter* json) {
  json->BeginObject().Key("bytes").Number(block.bytes);
  json->Key("kind").Text(MemoryKindName(block.kind));
  json->Key("node").Text(trace.texts[block.name]).Key("op").Text(trace.texts[block.op]);
  if (block.last != 0 && block.last != block.name) {
    json->Key("now_of").Text(trace.texts[block.last]);
  }
  if (block.dtype != 0) {
    json->Key("dtype").Text(ElementTypeName(block.dtype)).Key("shape").BeginList();
    for (const int64_t dim : trace.memory.Shape(block.shape)) json->Number(dim);
    json->EndList();
  }
  json->Key("since_nanos").Number(block.begin).Key("until_nanos");
  block.stays ? json->Null() : json->Number(block.end);
  const NodeFacts* const facts = trace.FactsOf(use.device, block.name);
  if (facts != nullptr && facts->site != 0) json->Key("line").Text(trace.texts[facts->site]);
  json->EndObject();
}

// The highest point of each of so many parts of the step.
void WriteCurve(const Trace& trace, const MemoryUse& use, JsonWriter* json) {
  const TraceStep& step = trace.steps[use.step];
  const int64_t span = std::max<int64_t>(step.recorded_end - step.recorded_begin, 1);
  json->Key("curve").BeginList();
  int64_t live = 0;
  size_t next = 0;
  for (size_t part = 0; part < kMostJsonPoints; ++part) {
    const auto number = static_cast<int64_t>(part);
    const int64_t begin =
        step.recorded_begin + span / static_cast<int64_t>(kMostJsonPoints) * number;
    const int64_t end =
        part + 1 == kMostJsonPoints
            ? INT64_MAX
            : begin + std::max<int64_t>(span / static_cast<int64_t>(kMostJsonPoints), 1);
    int64_t most = live;
    for (; next < use.curve.size() && use.curve[next].first < end; ++next) {
      live = use.curve[next].second;
      most = std::max(most, live);
    }
    json->BeginList().Number(begin).Number(most).EndList();
  }
  json->EndList();
}

void WriteDevice(const Trace& trace, const MemoryUse& use, JsonWriter* json) {
  const std::vector<const MemoryBlock*> holders = HoldersAtPeak(use);
  std::array<int64_t, kMemoryKinds> kinds{};
  for (const MemoryBlock* const block : holders)
    kinds[static_cast<size_t>(block->kind)] += block->bytes;
  json->BeginObject().Key("device").Text(trace.devices[use.device].name);
  json->Key("peak_bytes").Number(use.peak_bytes).Key("peak_nanos").Number(use.peak_at);
  json->Key("step_bytes").Number(use.block_bytes);
  json->Key("unexplained_bytes").Number(use.unexplained_bytes);
  json->Key("knows_allocator").Bool(use.knows_allocator).Key("inferred").Bool(use.inferred);
  json->Key("kinds").BeginObject();
  for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
    json->Key(MemoryKindName(static_cast<HeldKind>(kind))).Number(kinds[kind]);
  }
  json->EndObject().Key("holders_at_peak").Number(holders.size()).Key("holders").BeginList();
  for (size_t i = 0; i < std::min(holders.size(), kMostJsonHolders); ++i) {
    WriteHolder(trace, use, *holders[i], json);
  }
  json->EndList();
  WriteCurve(trace, use, json);
  json->EndObject();
}

void WriteGrowth(const Trace& trace, const std::vector<MemoryGrowth>& grown, JsonWriter* json) {
  json->Key("growth").BeginList();
  for (const MemoryGrowth& growth : grown) {
    json->BeginObject().Key("node").Text(trace.texts[growth.name]);
    json->Key("op").Text(trace.texts[growth.op]);
    json->Key("device").Text(trace.devices[growth.device].name);
    json->Key("first_bytes").Number(growth.first).Key("last_bytes").Number(growth.last);
    json->Key("steps").Number(growth.steps).EndObject();
  }
  json->EndList();
}

}  // namespace

Result<std::string> MemoryJson(const Trace& trace, int64_t wanted) {
  const MemoryOfTrace memory = MemoryOf(trace, wanted);
  const uint32_t step = wanted < 0 ? memory.step : static_cast<uint32_t>(wanted);
  if (memory.uses.empty()) {
    return InvalidArgument(trace.files.empty() ? "the trace" : trace.files.front(),
                           ": expected nodes that tell of memory (memory, output or memory_stats "
                           "of NodeExecStats), found none in step ",
                           step, " (RunOptions.trace_level=FULL_TRACE records them)");
  }
  JsonWriter json;
  json.BeginObject().Key("files").BeginList();
  for (const std::string& file : trace.files) json.Text(file);
  const TraceStep& of = trace.steps[step];
  json.EndList().Key("step").Number(step).Key("steps").Number(trace.steps.size());
  json.Key("begin_nanos")
      .Number(of.recorded_begin)
      .Key("time_nanos")
      .Number(of.recorded_end - of.recorded_begin);
  json.Key("has_graph").Bool(!trace.facts.empty());
  json.Key("devices").BeginList();
  for (const MemoryUse& use : memory.uses) WriteDevice(trace, use, &json);
  json.EndList();
  WriteGrowth(trace, memory.growth, &json);
  json.Key("notes").BeginList();
  for (const std::string& note : trace.notes) json.Text(note);
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
