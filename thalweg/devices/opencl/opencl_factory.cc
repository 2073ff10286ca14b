// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_factory.h"

#include <algorithm>
#include <utility>

#include "thalweg/devices/opencl/opencl_device.h"
#include "thalweg/devices/opencl/register_kernels.h"

namespace thalweg {
namespace {

// What of a card's memory tensors may take; the driver has the rest.
int64_t LimitOf(const OpenClChoice& choice, const Allocator& host) {
  const auto own = static_cast<int64_t>(choice.memory / 16 * 15);
  // The memory of processors is the host's.
  return choice.IsProcessor() ? std::min(own, host.Stats().limit) : own;
}

Result<std::unique_ptr<Device>> MakeOne(const OpenClApi& cl, const OpenClChoice& choice,
                                        const DeviceRequest& request, int index) {
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClContext> context, OpenClContext::Make(cl, choice));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClMemory> memory,
                   OpenClMemory::Make(context, LimitOf(choice, *request.host_allocator)));
  return std::unique_ptr<Device>(std::make_unique<OpenClDevice>(
      request.NameOf(kGpu, index), request.incarnation, std::move(context), std::move(memory),
      request.host_allocator,
      BinaryCache(request.cache_directory.empty() ? "" : request.cache_directory + "/opencl"),
      request.kernels));
}

}  // namespace

Result<std::vector<std::unique_ptr<Device>>> MakeOpenClDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  const auto count = request.device_count.find(std::string(kGpu));
  if (count == request.device_count.end() || count->second <= 0) return devices;
  ASSIGN_OR_RETURN(const OpenClApi* cl, OpenClApi::Load());
  ASSIGN_OR_RETURN(const std::vector<OpenClChoice> choices, FindOpenClDevices(*cl));
  for (const OpenClChoice& choice : choices) {
    const int index = static_cast<int>(devices.size());
    if (index == count->second) break;
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, MakeOne(*cl, choice, request, index));
    devices.push_back(std::move(device));
  }
  if (static_cast<int>(devices.size()) < count->second) {
    return FailedPrecondition(count->second, " devices of type GPU are asked for, OpenCL has ",
                              devices.size(), " on this machine: ask for at most so many");
  }
  if (!devices.empty() && request.kernels != nullptr && request.ops != nullptr) {
    RETURN_IF_ERROR(AddOpenClKernels(*request.ops, *request.kernels));
  }
  return devices;
}

}  // namespace thalweg
