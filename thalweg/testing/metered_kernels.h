// SPDX-License-Identifier: Apache-2.0
// MeteredKernels: every kernel of a registry, with what it takes from malloc during a call and does
// not charge to the step's allocator (tensor/heap_charge.h).
//
//   MeteredKernels::Wrap(originals, registry);
//   registries.devices = {MakeMeteredDevices};
//   ...;  // a step
//   for (const auto& [op, excess] : MeteredKernels::Excess()) ...
//
// The excess of a call is the most bytes that it held at once uncharged, less the strings and the
// blocks of malloc that it leaves in its outputs as far as those of its inputs are as long: the
// executor charges these. What it leaves elsewhere counts in any case.
// Ownership: the originals stay; those of the last Wrap are what kernels are made from.
// Threads: one.
// Errors: none of its own.
#pragma once

#include <map>
#include <string>

#include "thalweg/kernel/device_factory.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

struct HeapExcess {
  int64_t bytes = 0;
  int64_t of_inputs = 0;  // bytes of the call's inputs, with their strings
};

class MeteredKernels {
 public:
  static void Wrap(const KernelRegistry& originals, KernelRegistry& metered);
  // The largest excess of each operation in the calls since Forget.
  static const std::map<std::string, HeapExcess>& Excess();
  static void Forget();
};

// CPU devices whose allocator tells the HeapMeter what is charged to it.
Result<std::vector<std::unique_ptr<Device>>> MakeMeteredDevices(const DeviceRequest& request);

}  // namespace thalweg
