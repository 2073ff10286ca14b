// SPDX-License-Identifier: Apache-2.0
// RemoteDevice: a device of another task: something to place nodes on. Its memory is out of reach.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, RemoteDevice::Make(attributes));
//
// Ownership: the session owns it; it holds no memory of the other task.
// Threads: every member from any.
// Errors: InvalidArgument for attributes whose name is no device's; Internal for who copies to or
// from it; its allocator gives nothing.
#pragma once

#include "thalweg/kernel/described_device.h"
#include "thalweg/proto/message.h"

namespace thalweg {

class RemoteDevice : public DescribedDevice {
 public:
  // `attributes` are DeviceAttributes, as GetStatus gives them. `task`: whose it is here, whatever
  // that calls itself; empty: the task's that it says.
  static Result<std::unique_ptr<Device>> Make(const Message& attributes,
                                              std::string_view task = {});
  using DescribedDevice::DescribedDevice;
};

}  // namespace thalweg
