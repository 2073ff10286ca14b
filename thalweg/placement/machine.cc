// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/machine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// Orders of magnitude: they say what is far and what is near, what is fast and what is slow.
constexpr double kCpuFlops = 5e10;
constexpr double kCpuBytes = 1e10;
constexpr double kCpuNode = 2e-7;
constexpr double kAcceleratorFlops = 5e12;
constexpr double kAcceleratorBytes = 5e11;
constexpr double kAcceleratorNode = 5e-6;
// A pointer, within one memory.
constexpr LinkModel kHandOver{.latency = 1e-6, .source = RateSource::kGuessed};
constexpr LinkModel kBus{.latency = 1e-5, .bytes_per_second = 1e10, .source = RateSource::kGuessed};
constexpr LinkModel kNetwork{
    .latency = 1e-4, .bytes_per_second = 1e9, .source = RateSource::kGuessed};

Status CheckRate(const std::string& of, std::string_view what, double value) {
  if (value > 0) return OkStatus();
  return InvalidArgument("Machine: ", what, " of ", of, " must be above 0, got ", value);
}

Status CheckTime(const std::string& of, std::string_view what, double value) {
  if (value >= 0 && std::isfinite(value)) return OkStatus();
  return InvalidArgument("Machine: ", what, " of ", of, " must be a number of seconds, got ",
                         value);
}

}  // namespace

std::string TaskNameOf(const Device& device) {
  DeviceName task = device.name();
  task.type.reset();
  task.index.reset();
  return task.ToString();
}

Machine::Machine(std::vector<DeviceModel> devices)
    : devices_(std::move(devices)), links_(devices_.size() * devices_.size()) {}

Machine Machine::Guess(std::span<Device* const> devices) {
  std::vector<DeviceModel> models;
  std::map<std::string, int> pools;
  for (Device* const device : devices) {
    DeviceModel model{.name = device->full_name(), .source = RateSource::kGuessed};
    const int64_t limit = device->allocator().Stats().limit;
    if (limit > 0) model.memory_limit = static_cast<double>(limit);
    const bool is_cpu = device->type() == kCpu;
    model.flops = is_cpu ? kCpuFlops : kAcceleratorFlops;
    model.bytes = is_cpu ? kCpuBytes : kAcceleratorBytes;
    model.node_seconds = is_cpu ? kCpuNode : kAcceleratorNode;
    const std::string pool = is_cpu ? TaskNameOf(*device) : device->full_name();
    model.pool = pools.emplace(pool, static_cast<int>(pools.size())).first->second;
    models.push_back(std::move(model));
  }
  Machine machine(std::move(models));
  for (int from = 0; from < machine.num_devices(); ++from) {
    for (int to = 0; to < machine.num_devices(); ++to) {
      if (from == to) continue;
      const Device &a = *devices[from], &b = *devices[to];
      const bool is_near = TaskNameOf(a) == TaskNameOf(b);
      const bool shares_memory = a.host_addressable() && b.host_addressable();
      machine.SetLink(from, to, !is_near ? kNetwork : shares_memory ? kHandOver : kBus);
    }
  }
  return machine;
}

void Machine::SetAllLinks(LinkModel link) {
  for (int from = 0; from < num_devices(); ++from) {
    for (int to = 0; to < num_devices(); ++to) {
      if (from != to) SetLink(from, to, link);
    }
  }
}

int Machine::places(int pool) const {
  const auto found = places_.find(pool);
  return found == places_.end() ? 1 : found->second;
}

int Machine::num_pools() const {
  int pools = 0;
  for (const DeviceModel& device : devices_) pools = std::max(pools, device.pool + 1);
  return pools;
}

Status Machine::Validate() const {
  if (devices_.empty()) return InvalidArgument("Machine: there must be a device");
  for (const DeviceModel& device : devices_) {
    const std::string of = StrCat("device '", device.name, "'");
    RETURN_IF_ERROR(CheckRate(of, "flops", device.flops));
    RETURN_IF_ERROR(CheckRate(of, "bytes", device.bytes));
    RETURN_IF_ERROR(CheckRate(of, "memory_limit", device.memory_limit));
    RETURN_IF_ERROR(CheckTime(of, "node_seconds", device.node_seconds));
    // Pools are numbers of a table: one of a billion would be a table of a billion.
    if (device.pool < 0 || device.pool >= num_devices()) {
      return InvalidArgument("Machine: pool of ", of, " must be from 0 to ", num_devices() - 1,
                             ", got ", device.pool);
    }
    if (places(device.pool) < 1) {
      return InvalidArgument("Machine: pool ", device.pool, " of ", of, " must have a place, got ",
                             places(device.pool));
    }
  }
  for (int from = 0; from < num_devices(); ++from) {
    for (int to = 0; to < num_devices(); ++to) {
      const std::string of =
          StrCat("the link from '", devices_[from].name, "' to '", devices_[to].name, "'");
      RETURN_IF_ERROR(CheckTime(of, "latency", link(from, to).latency));
      RETURN_IF_ERROR(CheckRate(of, "bytes_per_second", link(from, to).bytes_per_second));
    }
  }
  return OkStatus();
}

bool Machine::IsUniform() const {
  return std::ranges::all_of(devices_, [&](const DeviceModel& device) {
    const DeviceModel& first = devices_.front();
    return device.flops == first.flops && device.bytes == first.bytes &&
           device.node_seconds == first.node_seconds;
  });
}

}  // namespace thalweg
