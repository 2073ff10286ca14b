// SPDX-License-Identifier: Apache-2.0
// DeviceKernels: what a task of ours says, when a master asks, of its devices of other kinds than
// CPU: the kernels that they have, and which are lost. It rides in GetStatus, in a field that
// TensorFlow's tasks do not know, and skip: of those a master knows no kernels but the CPU's.
//
//   RETURN_IF_ERROR(AskForKernels(request));  // the master
//   if (AsksForKernels(*request)) {           // the task
//     RETURN_IF_ERROR(AddDeviceKernels(devices, kernels, response));
//   }
//   ASSIGN_OR_RETURN(DeviceKernels found, FindDeviceKernels(*response));
//
// Ownership: values; what is added to a message it owns. Registries are shared and never change;
// they tell whether there is a kernel, and make none.
// Threads: any, on distinct messages.
// Errors: InvalidArgument for what cannot be read, or is too much.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct DeviceKernels {
  // By type of device; empty: the task has none but CPUs, or does not say.
  std::map<std::string, std::shared_ptr<const KernelRegistry>, std::less<>> of_type;
  // By full name, as the task calls it: why it is lost. The others are there.
  std::map<std::string, std::string, std::less<>> lost;
};

Status AskForKernels(Message* request);
bool AsksForKernels(const Message& request);
Status AddDeviceKernels(std::span<const std::unique_ptr<Device>> devices,
                        const KernelRegistry& kernels, Message* response);
Result<DeviceKernels> FindDeviceKernels(const Message& response);

}  // namespace thalweg
