// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_factory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "thalweg/devices/gpu/cuda/cuda_driver.h"
#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/devices/gpu/opencl/opencl_driver.h"
#include "thalweg/devices/gpu/register_kernels.h"

namespace thalweg {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

// A device that may be made.
struct Candidate {
  GpuTraits traits;
  std::string cache;  // the folder of its binaries
  std::function<Result<std::shared_ptr<GpuDriver>>()> make;
};
using Candidates = std::vector<Candidate>;

template <class Driver, class Api, class Choice>
Candidate Of(const Api& api, const Choice& choice, std::string cache) {
  return {choice, std::move(cache), [&api, choice]() -> Result<std::shared_ptr<GpuDriver>> {
            ASSIGN_OR_RETURN(std::shared_ptr<Driver> driver, Driver::Make(api, choice));
            return std::shared_ptr<GpuDriver>(std::move(driver));
          }};
}

Status AddCuda(Candidates* candidates) {
  ASSIGN_OR_RETURN(const CudaApi* cuda, CudaApi::Load());
  ASSIGN_OR_RETURN(const std::vector<CudaChoice> choices, FindCudaDevices(*cuda));
  if (choices.empty()) return OkStatus();
  // Without a compiler none of them is of use.
  RETURN_IF_ERROR(CudaCompiler::Load(cuda->major()).status());
  for (const CudaChoice& choice : choices) {
    candidates->push_back(Of<CudaDriver>(*cuda, choice, "/cuda"));
  }
  return OkStatus();
}

// `but_nvidia`: CUDA has NVIDIA's cards already.
Status AddOpenCl(bool but_nvidia, Candidates* candidates) {
  ASSIGN_OR_RETURN(const OpenClApi* cl, OpenClApi::Load());
  ASSIGN_OR_RETURN(const std::vector<OpenClChoice> choices, FindOpenClDevices(*cl));
  for (const OpenClChoice& choice : choices) {
    if (but_nvidia && choice.vendor.starts_with("NVIDIA")) continue;
    candidates->push_back(Of<OpenClDriver>(*cl, choice, "/opencl"));
  }
  return OkStatus();
}

// What of a card's memory tensors may take; the driver has the rest.
int64_t LimitOf(const GpuTraits& traits, const DeviceRequest& request) {
  auto own = static_cast<int64_t>(traits.memory / 16 * 15);
  // The memory of processors is the host's.
  if (traits.IsProcessor()) own = std::min(own, request.host_allocator->Stats().limit);
  return static_cast<int64_t>(static_cast<double>(own) * request.gpu_memory_fraction);
}

int CountOf(const DeviceRequest& request) {
  const auto count = request.device_count.find(std::string(kGpu));
  return count == request.device_count.end() ? 0 : count->second;
}

// How many candidates must be known, so that it is clear which ones are asked for.
size_t NeededOf(const DeviceRequest& request) {
  const auto last = std::ranges::max_element(request.visible_gpus);
  const int most = last == request.visible_gpus.end() ? CountOf(request) : *last + 1;
  return static_cast<size_t>(std::max(most, 0));
}

// Those that are to be GPU:0, GPU:1, ...: the first ones, or as the request numbers them.
Result<Candidates> Visible(Candidates there, std::string_view api, const DeviceRequest& request) {
  if (request.visible_gpus.empty()) return there;
  Candidates visible;
  for (const int number : request.visible_gpus) {
    if (number < 0 || static_cast<size_t>(number) >= there.size()) {
      return InvalidArgument("visible_device_list names GPU ", number, ", ", api, " has ",
                             there.size(), " on this machine, counted from 0");
    }
    visible.push_back(there[number]);
  }
  return visible;
}

Result<std::unique_ptr<Device>> MakeOne(const Candidate& candidate, const DeviceRequest& request,
                                        int index) {
  ASSIGN_OR_RETURN(std::shared_ptr<GpuDriver> driver, candidate.make());
  ASSIGN_OR_RETURN(std::shared_ptr<GpuMemory> memory,
                   GpuMemory::Make(driver, LimitOf(candidate.traits, request)));
  return std::unique_ptr<Device>(std::make_unique<GpuDevice>(
      request.NameOf(kGpu, index), request.incarnation, std::move(driver), std::move(memory),
      request.host_allocator,
      BinaryCache(request.cache_directory.empty() ? "" : request.cache_directory + candidate.cache),
      request.kernels));
}

// `api`: whose they are, for errors.
Result<Devices> MakeOf(Candidates there, std::string_view api, const DeviceRequest& request) {
  ASSIGN_OR_RETURN(const Candidates candidates, Visible(std::move(there), api, request));
  const int count = CountOf(request);
  Devices devices;
  for (const Candidate& candidate : candidates) {
    const int index = static_cast<int>(devices.size());
    if (index == count) break;
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, MakeOne(candidate, request, index));
    devices.push_back(std::move(device));
  }
  for (const auto& device : devices) static_cast<GpuDevice&>(*device).Meet(devices);
  if (static_cast<int>(devices.size()) < count) {
    return FailedPrecondition(count, " devices of type GPU are asked for, ", api, " has ",
                              devices.size(), " on this machine: ask for at most so many");
  }
  if (!devices.empty() && request.kernels != nullptr && request.ops != nullptr) {
    RETURN_IF_ERROR(AddGpuKernels(*request.ops, *request.kernels));
    const auto collects = [](const auto& device) {
      return static_cast<const GpuDevice&>(*device).has_collectives();
    };
    if (std::ranges::any_of(devices, collects)) {
      RETURN_IF_ERROR(AddCollectiveKernels(*request.kernels, kGpu));
    }
  }
  return devices;
}

}  // namespace

Result<Devices> MakeGpuDevices(const DeviceRequest& request) {
  if (CountOf(request) <= 0) return Devices();
  const size_t needed = NeededOf(request);
  Candidates there;
  const Status cuda = AddCuda(&there);
  const size_t of_cuda = there.size();
  if (of_cuda < needed) {
    const Status opencl = AddOpenCl(of_cuda > 0, &there);
    // NVIDIA's cards are here and cannot be used: processors are not what was asked for.
    const auto cards = std::ranges::count_if(
        there, [](const Candidate& candidate) { return !candidate.traits.IsProcessor(); });
    const bool is_unusable = !cuda.ok() && cuda.code() != Code::kNotFound;
    if (is_unusable && static_cast<size_t>(cards) < needed) return cuda;
    if (!opencl.ok() && of_cuda == 0) {
      return Status(opencl.code(), StrCat("no device of type GPU: by CUDA: ", cuda.message(),
                                          "; by OpenCL: ", opencl.message()));
    }
  }
  const std::string_view api = of_cuda == 0              ? "OpenCL"
                               : of_cuda == there.size() ? "CUDA"
                                                         : "CUDA and OpenCL";
  return MakeOf(std::move(there), api, request);
}

Result<Devices> MakeCudaDevices(const DeviceRequest& request) {
  if (CountOf(request) <= 0) return Devices();
  Candidates there;
  RETURN_IF_ERROR(AddCuda(&there));
  return MakeOf(std::move(there), "CUDA", request);
}

Result<Devices> MakeOpenClDevices(const DeviceRequest& request) {
  if (CountOf(request) <= 0) return Devices();
  Candidates there;
  RETURN_IF_ERROR(AddOpenCl(false, &there));
  return MakeOf(std::move(there), "OpenCL", request);
}

}  // namespace thalweg
