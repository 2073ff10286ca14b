// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/remote_device.h"

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"

namespace thalweg {

Result<std::unique_ptr<Device>> RemoteDevice::Make(const Message& attributes, std::string_view task,
                                                   std::string_view lost) {
  namespace Attributes = pb::DeviceAttributes;
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(attributes.GetString(Attributes::kName)));
  if (!name.IsFull()) {
    return InvalidArgument("a task has a device without a full name: ",
                           attributes.GetString(Attributes::kName));
  }
  if (!task.empty()) {
    ASSIGN_OR_RETURN(const DeviceName called, DeviceName::Parse(task));
    name.job = called.job;
    name.replica = called.replica;
    name.task = called.task;
  }
  const bool host_addressable = name.type == kCpu;
  return std::unique_ptr<Device>(
      std::make_unique<RemoteDevice>(std::move(name), attributes.GetUint(Attributes::kIncarnation),
                                     attributes.GetInt(Attributes::kMemoryLimit), host_addressable,
                                     lost.empty() ? OkStatus() : Unavailable(lost)));
}

}  // namespace thalweg
