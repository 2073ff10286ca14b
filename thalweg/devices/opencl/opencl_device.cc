// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "thalweg/devices/opencl/register_kernels.h"

namespace thalweg {
namespace {

// Copies up to this size are made of bytes set aside, so that the host's may change at once.
constexpr size_t kSetAside = size_t{256} << 10;

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
  DeviceName name;
  name.job = request.job;
  name.replica = 0;
  name.task = request.task;
  name.type = kGpu;
  name.index = index;
  return std::unique_ptr<Device>(std::make_unique<OpenClDevice>(
      std::move(name), request.incarnation, std::move(context), std::move(memory),
      request.host_allocator, BinaryCache(request.cache_directory.empty() ? "" : request.cache_directory + "/opencl"),
      request.kernels));
}

}  // namespace

OpenClDevice::OpenClDevice(DeviceName name, uint64_t incarnation,
                           std::shared_ptr<OpenClContext> context,
                           std::shared_ptr<OpenClMemory> memory, AllocatorPtr host_allocator,
                           BinaryCache binaries, const KernelRegistry* kernels)
    : Device(std::move(name), incarnation, false),
      context_(std::move(context)),
      memory_(std::move(memory)),
      host_allocator_(std::move(host_allocator)),
      kernels_(kernels),
      programs_(context_, std::move(binaries)),
      queue_(context_, memory_) {}

void OpenClDevice::CopyToHost(const Tensor& tensor, CopyDone done) {
  if (!Has(tensor)) {
    return done(Internal("a copy from ", full_name(), " to the host got ", tensor.dtype(),
                         tensor.shape(), " that is not in the device's memory"));
  }
  Result<Tensor> made = Tensor::Allocate(*host_allocator_, tensor.dtype(), tensor.shape());
  if (!made.ok() || tensor.bytes() == 0) return done(std::move(made));
  // The bytes of a scalar are in its handle, which stays where it is until they have come.
  const auto copy = std::make_shared<Tensor>(*std::move(made));
  const auto shared = std::make_shared<CopyDone>(std::move(done));
  const Status queued =
      queue_.Read(tensor, copy->mutable_raw_data(), [copy, shared](const Status& status) {
        (*shared)(status.ok() ? Result<Tensor>(std::move(*copy)) : Result<Tensor>(status));
      });
  if (!queued.ok()) (*shared)(queued);
}

void OpenClDevice::CopyFromHost(const Tensor& tensor, CopyDone done) {
  if (Has(tensor)) {
    return done(Internal("a copy from the host to ", full_name(), " got ", tensor.dtype(),
                         tensor.shape(), " that is in the device's memory already"));
  }
  Result<Tensor> made = Allocate(tensor.dtype(), tensor.shape());
  if (!made.ok() || tensor.bytes() == 0) return done(std::move(made));
  const Tensor there = *made;
  if (tensor.bytes() <= kSetAside) {
    const auto bytes = std::make_shared<std::vector<char>>(tensor.bytes());
    std::memcpy(bytes->data(), tensor.raw_data(), tensor.bytes());
    // What goes wrong from now on is the queue's error.
    const Status queued = queue_.Write(bytes->data(), there, [bytes](const Status&) {});
    return done(queued.ok() ? std::move(made) : Result<Tensor>(queued));
  }
  const auto shared = std::make_shared<CopyDone>(std::move(done));
  const Status queued =
      queue_.Write(tensor.raw_data(), there, [tensor, there, shared](const Status& status) {
        (*shared)(status.ok() ? Result<Tensor>(there) : Result<Tensor>(status));
      });
  if (!queued.ok()) (*shared)(queued);
}

Result<std::vector<std::unique_ptr<Device>>> MakeOpenClDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  const auto count = request.device_count.find(std::string(kGpu));
  const bool asked = count != request.device_count.end();
  if (asked && count->second <= 0) return devices;
  const Result<const OpenClApi*> cl = OpenClApi::Load();
  if (!cl.ok()) return asked ? Result<decltype(devices)>(cl.status()) : std::move(devices);
  const Result<std::vector<OpenClChoice>> choices = FindOpenClDevices(**cl);
  if (!choices.ok()) return asked ? Result<decltype(devices)>(choices.status()) : std::move(devices);
  for (const OpenClChoice& choice : *choices) {
    const int index = static_cast<int>(devices.size());
    if (asked ? index == count->second : choice.IsProcessor()) break;
    Result<std::unique_ptr<Device>> device = MakeOne(**cl, choice, request, index);
    if (device.ok()) devices.push_back(*std::move(device));
    if (!device.ok() && asked) return device.status();
  }
  if (asked && static_cast<int>(devices.size()) < count->second) {
    return FailedPrecondition(count->second, " devices of type GPU are asked for, OpenCL has ",
                              devices.size(), " on this machine: ask for at most so many");
  }
  if (!devices.empty() && request.kernels != nullptr && request.ops != nullptr) {
    RETURN_IF_ERROR(AddOpenClKernels(*request.ops, *request.kernels));
  }
  return devices;
}

}  // namespace thalweg
