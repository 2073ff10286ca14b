// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/measured_rates.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "thalweg/placement/duration_text.h"

namespace thalweg {
namespace {

bool IsRate(double value) { return value > 0; }
bool IsLink(const LinkModel& link) {
  return link.latency >= 0 && std::isfinite(link.latency) && IsRate(link.bytes_per_second);
}

const LinkModel* FindLink(const std::map<std::string, LinkModel, std::less<>>& links,
                          std::string_view name) {
  const auto found = links.find(name);
  return found == links.end() || !IsLink(found->second) ? nullptr : &found->second;
}

const LinkModel* FindTasks(const MeasuredRates& rates, std::string_view a, std::string_view b) {
  const auto of_task = rates.tasks.find(a);
  return of_task == rates.tasks.end() ? nullptr : FindLink(of_task->second, b);
}

// A value goes over one after the other.
LinkModel Behind(const LinkModel& first, const LinkModel& second) {
  return {.latency = first.latency + second.latency,
          .bytes_per_second = 1 / (1 / first.bytes_per_second + 1 / second.bytes_per_second),
          .source = RateSource::kMeasured};
}

// As far as it was measured; of a device that shares its host's memory there is nothing to measure.
std::optional<LinkModel> MeasuredLink(const Device& a, const Device& b,
                                      const MeasuredRates& rates) {
  const bool is_near = TaskNameOf(a) == TaskNameOf(b);
  if (is_near && a.host_addressable() && b.host_addressable()) return std::nullopt;
  LinkModel way{.source = RateSource::kMeasured};
  if (!is_near) {
    const LinkModel* const between = FindTasks(rates, TaskNameOf(a), TaskNameOf(b));
    if (between == nullptr) return std::nullopt;
    way = Behind(way, *between);
  }
  for (const Device* const device : {&a, &b}) {
    if (device->host_addressable()) continue;
    const LinkModel* const bus = FindLink(rates.buses, device->full_name());
    if (bus != nullptr) way = Behind(way, *bus);
    if (bus == nullptr && is_near) return std::nullopt;
  }
  return way;
}

std::string AmountText(double amount, std::string_view unit) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"", "k", "M", "G", "T"};
  size_t prefix = 0;
  for (; amount >= 1000 && prefix + 1 < kPrefixes.size(); ++prefix) amount /= 1000;
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%.3g", amount);
  return StrCat(digits.data(), " ", kPrefixes[prefix], unit, "/s");
}

std::string_view SourceText(RateSource source) {
  switch (source) {
    case RateSource::kGiven:
      return " (as given)";
    case RateSource::kGuessed:
      return " (guessed)";
    case RateSource::kMeasured:
      return " (measured)";
  }
  return "";
}

}  // namespace

void MeasuredRates::AddTasks(const std::string& a, const std::string& b, const LinkModel& link) {
  tasks[a][b] = link;
  tasks[b][a] = link;
}

Machine MeasuredMachine(std::span<Device* const> devices, const MeasuredRates& rates) {
  Machine machine = Machine::Guess(devices);
  for (int d = 0; d < machine.num_devices(); ++d) {
    DeviceModel& model = machine.device(d);
    const auto found = rates.processors.find(model.name);
    if (found == rates.processors.end()) continue;
    if (!IsRate(found->second.flops) || !IsRate(found->second.bytes)) continue;
    model.flops = found->second.flops;
    model.bytes = found->second.bytes;
    const double node_seconds = found->second.node_seconds;
    if (IsRate(node_seconds) && std::isfinite(node_seconds)) model.node_seconds = node_seconds;
    model.source = RateSource::kMeasured;
  }
  for (int from = 0; from < machine.num_devices(); ++from) {
    for (int to = 0; to < machine.num_devices(); ++to) {
      if (from == to) continue;
      const std::optional<LinkModel> link = MeasuredLink(*devices[from], *devices[to], rates);
      if (link.has_value()) machine.SetLink(from, to, *link);
    }
  }
  return machine;
}

std::string RatesText(const DeviceModel& device) {
  return StrCat(AmountText(device.flops, "op"), ", ", AmountText(device.bytes, "B"), ", a node ",
                DurationText(device.node_seconds), SourceText(device.source));
}

std::string RatesText(const LinkModel& link) {
  return StrCat(
      DurationText(link.latency), ", ",
      std::isinf(link.bytes_per_second) ? "no copy" : AmountText(link.bytes_per_second, "B"),
      SourceText(link.source));
}

}  // namespace thalweg
