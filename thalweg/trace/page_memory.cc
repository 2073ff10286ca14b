// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/page_memory.h"

#include <unordered_map>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/memory_curve.h"
#include "thalweg/trace/page_column.h"
#include "thalweg/trace/page_columns.h"

namespace thalweg {
namespace {

// Of a device in a step: beyond these a curve shows the highest of neighbors, and small holders
// are not named.
constexpr size_t kMostPagePoints = size_t{1} << 18, kMostPageHolders = size_t{1} << 16;

// All that the page is told of one device in one step.
struct ToldUse {
  MemoryUse use;
  std::vector<MemoryPoint> curve;
  std::vector<const MemoryBlock*> holders;
};

class PageMemory {
 public:
  PageMemory(const Trace& trace, std::string* page) : trace_(trace), page_(page) {}

  void Append(const std::vector<uint32_t>& steps) {
    for (const uint32_t step : steps) {
      for (MemoryUse& use : MemoryOfStep(trace_, step)) {
        ToldUse& told = told_.emplace_back();
        told.use = std::move(use);
        told.curve = MemoryCurve(told.use, kMostPagePoints);
        told.holders = LargestHolders(told.use, kMostPageHolders);
      }
    }
    if (told_.empty()) return;
    AppendCurves();
    AppendHolders();
    AppendHeads();
  }

 private:
  // Times are differences from the one before, of each use from 0; so are the bytes of a kind.
  void AppendCurves() {
    {
      PageColumn times("memory-at", page_);
      for (const ToldUse& told : told_) {
        int64_t last = 0;
        for (const MemoryPoint& point : told.curve) {
          times.AddSigned(point.at - last);
          last = point.at;
        }
      }
    }
    for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
      const std::string name = "memory-" + std::to_string(kind);
      PageColumn bytes(name, page_);
      for (const ToldUse& told : told_) {
        int64_t last = 0;
        for (const MemoryPoint& point : told.curve) {
          bytes.AddSigned(point.bytes[kind] - last);
          last = point.bytes[kind];
        }
      }
    }
  }

  void AppendHolders() {
    const auto append = [&](const char* name, const auto& value_of) {
      PageColumn column(name, page_);
      for (const ToldUse& told : told_) {
        for (const MemoryBlock* const block : told.holders) column.AddSigned(value_of(*block));
      }
    };
    append("holder-begin", [](const MemoryBlock& block) { return block.begin; });
    append("holder-time", [](const MemoryBlock& block) { return block.end - block.begin; });
    append("holder-bytes", [](const MemoryBlock& block) { return block.bytes; });
    append("holder-kind",
           [](const MemoryBlock& block) { return static_cast<int64_t>(block.kind); });
    append("holder-name", [&](const MemoryBlock& block) { return NumberOf(block.name); });
    append("holder-now", [&](const MemoryBlock& block) {
      return NumberOf(block.last == 0 ? block.name : block.last);
    });
  }
  int64_t NumberOf(uint32_t text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, names_.size());
    if (is_new) names_.push_back(text);
    return static_cast<int64_t>(entry->second);
  }

  void AppendHeads() {
    JsonWriter json;
    json.BeginObject().Key("kinds").BeginList();
    for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
      json.Text(MemoryKindName(static_cast<HeldKind>(kind)));
    }
    json.EndList().Key("names").BeginList();
    for (const uint32_t text : names_) json.Text(trace_.texts[text]);
    json.EndList().Key("uses").BeginList();
    for (const ToldUse& told : told_) {
      const MemoryUse& use = told.use;
      json.BeginObject().Key("device").Number(use.device).Key("step").Number(use.step);
      json.Key("end").Number(trace_.steps[use.step].recorded_end);
      json.Key("peak_bytes").Number(use.peak_bytes).Key("peak_at").Number(use.peak_at);
      json.Key("unexplained").Number(use.unexplained_bytes).Key("inferred").Bool(use.inferred);
      json.Key("points").Number(told.curve.size());
      json.Key("holders").Number(told.holders.size()).EndObject();
    }
    json.EndList().EndObject();
    AppendPageJson("memory", json.Take(), page_);
  }

  const Trace& trace_;
  std::string* const page_;
  std::vector<ToldUse> told_;
  std::vector<uint32_t> names_;
  std::unordered_map<uint32_t, size_t> numbers_;
};

}  // namespace

void AppendPageMemory(const Trace& trace, const std::vector<uint32_t>& steps, std::string* page) {
  if (!trace.memory.empty()) PageMemory(trace, page).Append(steps);
}

}  // namespace thalweg
