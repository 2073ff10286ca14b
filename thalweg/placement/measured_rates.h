// SPDX-License-Identifier: Apache-2.0
// MeasuredRates: what was measured of devices and of the links between them, as far as it was;
// MeasuredMachine: the machine of some devices by that, and by a guess where nothing was.
//
//   MeasuredRates rates;
//   rates.processors[devices[0]->full_name()] = {.flops = 1e11, .bytes = 2e10};
//   rates.AddTasks("/job:a/replica:0/task:0", "/job:b/replica:0/task:0",
//                  {.latency = 2e-5, .bytes_per_second = 1e9});
//   const Machine machine = MeasuredMachine(devices, rates);
//
// A link between devices of two tasks is that of the tasks, and those from either host to its
// device where these were measured, one after the other.
// Ownership: values.
// Threads: one changes it, then reading from any.
// Errors: none; what is no rate (Machine::Validate) is taken for not measured.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/placement/machine.h"

namespace thalweg {

struct MeasuredRates {
  struct Processor {
    double flops = 0, bytes = 0;  // as in DeviceModel
    double node_seconds = 0;      // 0: not measured
  };
  std::map<std::string, Processor, std::less<>> processors;  // by full name of the device
  // Between a device whose memory the host cannot address and its host, by the device's full name.
  std::map<std::string, LinkModel, std::less<>> buses;
  // Between two tasks, by both names.
  std::map<std::string, std::map<std::string, LinkModel, std::less<>>, std::less<>> tasks;

  void AddTasks(const std::string& a, const std::string& b, const LinkModel& link);
};

Machine MeasuredMachine(std::span<Device* const> devices, const MeasuredRates& rates);

// For people: "50 Gop/s, 10 GB/s, a node 0.2 us (guessed)", "100 us, 1 GB/s (measured)".
std::string RatesText(const DeviceModel& device);
std::string RatesText(const LinkModel& link);

}  // namespace thalweg
