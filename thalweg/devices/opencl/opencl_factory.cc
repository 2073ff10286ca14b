// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_factory.h"

#include <algorithm>
#include <utility>

#include "thalweg/devices/opencl/opencl_device.h"
#include "thalweg/devices/opencl/register_kernels.h"

namespace thalweg {
namespace {

// What of a card's memory tensors may take; the driver has the rest.
int64_t LimitOf(const OpenClChoice& choice, const DeviceRequest& request) {
  auto own = static_cast<int64_t>(choice.memory / 16 * 15);
  // The memory of processors is the host's.
  if (choice.IsProcessor()) own = std::min(own, request.host_allocator->Stats().limit);
  return static_cast<int64_t>(static_cast<double>(own) * request.gpu_memory_fraction);
}

// Those that are to be GPU:0, GPU:1, ...: the first ones, or as the request numbers them.
Result<std::vector<OpenClChoice>> Visible(const std::vector<OpenClChoice>& there,
                                          const DeviceRequest& request) {
  if (request.visible_gpus.empty()) return there;
  std::vector<OpenClChoice> visible;
  for (const int number : request.visible_gpus) {
    if (number < 0 || static_cast<size_t>(number) >= there.size()) {
      return InvalidArgument("visible_device_list names GPU ", number, ", OpenCL has ",
                             there.size(), " on this machine, counted from 0");
    }
    visible.push_back(there[number]);
  }
  return visible;
}

Result<std::unique_ptr<Device>> MakeOne(const OpenClApi& cl, const OpenClChoice& choice,
                                        const DeviceRequest& request, int index) {
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClContext> context, OpenClContext::Make(cl, choice));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClMemory> memory,
                   OpenClMemory::Make(context, LimitOf(choice, request)));
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
  ASSIGN_OR_RETURN(const std::vector<OpenClChoice> there, FindOpenClDevices(*cl));
  ASSIGN_OR_RETURN(const std::vector<OpenClChoice> choices, Visible(there, request));
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
