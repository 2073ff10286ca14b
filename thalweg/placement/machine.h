// SPDX-License-Identifier: Apache-2.0
// Machine: what devices and the links between them can do, as far as placement asks.
//
//   Machine machine = Machine::Guess(devices);
//   machine.device(1).flops = 2e12;
//   machine.SetLink(0, 1, {.latency = 2e-5, .bytes_per_second = 1e10});
//
// Times are seconds, sizes bytes. Devices of one pool share what they run on: virtual CPUs of one
// process gain nothing from each other. What several cores do for one kernel is in its device's
// rates; a pool of more than one place runs several nodes at once.
// Ownership: values.
// Threads: one changes it, then reading from any.
// Errors: InvalidArgument of Validate names the device or link and the number.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/kernel/device.h"

namespace thalweg {

// Where a figure comes from.
enum class RateSource : uint8_t { kGiven, kGuessed, kMeasured };

struct DeviceModel {
  std::string name;
  double flops = 1e10;         // a second
  double bytes = 1e10;         // a second, that kernels read and write
  double node_seconds = 2e-7;  // of every node, whatever it does
  double memory_limit = std::numeric_limits<double>::infinity();
  int pool = 0;
  RateSource source = RateSource::kGiven;  // of flops and bytes
};

struct LinkModel {
  double latency = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
  RateSource source = RateSource::kGiven;
};

// "/job:worker/replica:0/task:0".
std::string TaskNameOf(const Device& device);

class Machine {
 public:
  // Links cost nothing until SetLink says so.
  explicit Machine(std::vector<DeviceModel> devices);
  // By kind, where nothing was measured (measured_rates.h): CPUs of one task share a pool and
  // memory, an accelerator is a hundred times as fast behind a bus, and tasks are a network apart.
  // The first is the client's.
  static Machine Guess(std::span<Device* const> devices);

  int num_devices() const { return static_cast<int>(devices_.size()); }
  DeviceModel& device(int d) { return devices_[d]; }
  const DeviceModel& device(int d) const { return devices_[d]; }
  const LinkModel& link(int from, int to) const { return links_[from * num_devices() + to]; }
  void SetLink(int from, int to, LinkModel link) { links_[from * num_devices() + to] = link; }
  void SetAllLinks(LinkModel link);
  // How many nodes a pool runs at once: 1 where nothing is said.
  int places(int pool) const;
  void SetPlaces(int pool, int places) { places_[pool] = places; }
  int num_pools() const;

  Status Validate() const;
  // Whether all devices compute alike.
  bool IsUniform() const;

 private:
  std::vector<DeviceModel> devices_;
  std::vector<LinkModel> links_;  // a row for each source
  std::map<int, int> places_;     // by pool
};

}  // namespace thalweg
