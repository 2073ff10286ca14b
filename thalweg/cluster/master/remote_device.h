// SPDX-License-Identifier: Apache-2.0
// RemoteDevice: a device of another task: something to place nodes on. Its memory is out of reach.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, RemoteDevice::Make(attributes));
//
// Ownership: the session owns it; it holds no memory of the other task.
// Threads: every member from any.
// Errors: InvalidArgument for attributes whose name is no device's; Internal for who copies to or
// from it; its allocator gives nothing. It is lost if it was when its task was asked, for good.
#pragma once

#include <utility>

#include "thalweg/kernel/described_device.h"
#include "thalweg/kernel/losable.h"
#include "thalweg/proto/message.h"

namespace thalweg {

class RemoteDevice : public DescribedDevice, public Losable {
 public:
  // `attributes` are DeviceAttributes, as GetStatus gives them. `task`: whose it is here, whatever
  // that calls itself; empty: the task's that it says. `lost`: why it is, in words; empty: it is
  // there. What is no CPU counts as having memory of its own.
  static Result<std::unique_ptr<Device>> Make(const Message& attributes, std::string_view task = {},
                                              std::string_view lost = {});
  RemoteDevice(DeviceName name, uint64_t incarnation, int64_t memory_limit, bool host_addressable,
               Status lost)
      : DescribedDevice(std::move(name), incarnation, memory_limit, host_addressable),
        lost_(std::move(lost)) {}

  Status lost() const override { return lost_; }

 private:
  const Status lost_;
};

}  // namespace thalweg
