// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/task_rates.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "thalweg/cluster/peers/status_field.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

// Beyond all numbers that TensorFlow has given to fields of these messages.
constexpr uint32_t kRatesField = 20263;
// Of the request: that it asks, and each task. Of the response: entries, each with a name and two
// numbers, or three.
constexpr uint32_t kAsks = 1, kTask = 2;
constexpr uint32_t kProcessor = 1, kBus = 2, kLink = 3;
constexpr uint32_t kName = 1, kFirst = 2, kSecond = 3, kThird = 4;
constexpr size_t kMostEntries = 10'000;

// What goes beyond what can be said, as infinity does, is 0 there.
uint64_t Rate(double value) {
  return value > 0 && value < 1e18 ? static_cast<uint64_t>(std::llround(value)) : 0;
}

struct Entry {
  std::string name;
  uint64_t first = 0, second = 0, third = 0;
};

void AddEntry(uint32_t kind, const Entry& said, std::string* to) {
  std::string entry;
  AddWireText(kName, said.name, &entry);
  AddWireNumber(kFirst, said.first, &entry);
  AddWireNumber(kSecond, said.second, &entry);
  AddWireNumber(kThird, said.third, &entry);
  AddWireText(kind, entry, to);
}

// Nanoseconds, and bytes a second.
void AddLink(uint32_t kind, const std::string& name, const LinkModel& link, std::string* to) {
  AddEntry(kind,
           {.name = name, .first = Rate(link.latency * 1e9), .second = Rate(link.bytes_per_second)},
           to);
}
// Operations and bytes a second, and nanoseconds.
void AddProcessor(const std::string& name, const MeasuredRates::Processor& processor,
                  std::string* to) {
  AddEntry(kProcessor,
           {.name = name,
            .first = Rate(processor.flops),
            .second = Rate(processor.bytes),
            .third = Rate(processor.node_seconds * 1e9)},
           to);
}

bool ReadEntry(std::string_view bytes, Entry* entry) {
  const bool whole =
      VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
        if (field == kName) entry->name = text;
        if (field == kFirst) entry->first = number;
        if (field == kSecond) entry->second = number;
        if (field == kThird) entry->third = number;
      });
  return whole && !entry->name.empty();
}

LinkModel LinkOf(const Entry& entry) {
  return {.latency = static_cast<double>(entry.first) * 1e-9,
          .bytes_per_second = entry.second == 0 ? std::numeric_limits<double>::infinity()
                                                : static_cast<double>(entry.second),
          .source = RateSource::kMeasured};
}

}  // namespace

Status AskForRates(const std::vector<std::string>& tasks, Message* request) {
  std::string bytes;
  AddWireNumber(kAsks, 1, &bytes);
  for (const std::string& task : tasks) AddWireText(kTask, task, &bytes);
  return AddStatusField(kRatesField, bytes, request);
}

std::optional<std::vector<std::string>> RatesAsked(const Message& request) {
  bool whole = true;
  const std::string_view bytes = FindStatusField(request, kRatesField, &whole);
  if (bytes.empty() || !whole) return std::nullopt;
  std::vector<std::string> tasks;
  whole = VisitWireFields(bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == kTask && tasks.size() < kMostEntries) tasks.emplace_back(text);
  });
  return whole ? std::optional(std::move(tasks)) : std::nullopt;
}

Status AddRates(const TaskRates& rates, Message* response) {
  std::string bytes;
  for (const auto& [name, processor] : rates.devices.processors) {
    AddProcessor(name, processor, &bytes);
  }
  for (const auto& [name, bus] : rates.devices.buses) AddLink(kBus, name, bus, &bytes);
  for (const auto& [task, link] : rates.links) AddLink(kLink, task, link, &bytes);
  return AddStatusField(kRatesField, bytes, response);
}

Result<TaskRates> FindRates(const Message& response) {
  TaskRates found;
  bool whole = true;
  size_t count = 0;
  const std::string_view bytes = FindStatusField(response, kRatesField, &whole);
  whole &= VisitWireFields(bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field != kProcessor && field != kBus && field != kLink) return;
    Entry entry;
    whole &= ReadEntry(text, &entry);
    if (!whole || ++count > kMostEntries) return;
    if (field == kProcessor) {
      found.devices.processors[entry.name] = {
          .flops = static_cast<double>(entry.first),
          .bytes = static_cast<double>(entry.second),
          .node_seconds = static_cast<double>(entry.third) * 1e-9};
    }
    if (field == kBus) found.devices.buses[entry.name] = LinkOf(entry);
    if (field == kLink) found.links[entry.name] = LinkOf(entry);
  });
  if (whole && count <= kMostEntries) return found;
  return InvalidArgument("a task's answer to GetStatus has ", whole ? "too many" : "malformed",
                         " figures of its devices and links");
}

}  // namespace thalweg
