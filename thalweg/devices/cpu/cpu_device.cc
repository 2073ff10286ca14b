// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/cpu/cpu_device.h"

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

Result<std::vector<std::unique_ptr<Device>>> MakeCpuDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < request.cpu_devices; ++i) {
    devices.push_back(std::make_unique<CpuDevice>(request.NameOf(kCpu, i), request.incarnation,
                                                  request.host_allocator));
  }
  return devices;
}

}  // namespace thalweg
