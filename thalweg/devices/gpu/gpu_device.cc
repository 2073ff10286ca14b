// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_device.h"

#include <cstring>
#include <utility>

namespace thalweg {
namespace {

// Copies up to this size are made of bytes set aside, so that the host's may change at once.
constexpr size_t kSetAside = size_t{256} << 10;

}  // namespace

GpuDevice::GpuDevice(DeviceName name, uint64_t incarnation, std::shared_ptr<GpuDriver> driver,
                     std::shared_ptr<GpuMemory> memory, AllocatorPtr host_allocator,
                     BinaryCache binaries, const KernelRegistry* kernels)
    : Device(std::move(name), incarnation, false),
      driver_(std::move(driver)),
      memory_(std::move(memory)),
      host_allocator_(std::move(host_allocator)),
      kernels_(kernels),
      programs_(driver_, std::move(binaries)),
      queue_(driver_, memory_, full_name()) {}

Status GpuDevice::lost() const {
  if (Status broken = queue_.broken(); !broken.ok()) return broken;
  const Status memory = memory_->lost();
  return memory.ok() ? OkStatus() : LostDevice(full_name(), memory.message());
}

std::string GpuDevice::hardware() const {
  return StrCat("device: ", *name().index, ", name: ", traits().name, ", ", traits().version);
}

void GpuDevice::CopyToHost(const Tensor& tensor, CopyDone done) {
  if (!Has(tensor)) {
    return done(Internal("a copy from ", full_name(), " to the host got ", tensor.dtype(),
                         tensor.shape(), " that is not in the device's memory"));
  }
  Result<Tensor> made = Tensor::Allocate(*host_allocator_, tensor.dtype(), tensor.shape());
  if (!made.ok() || tensor.bytes() == 0) return done(std::move(made));
  // The bytes of a scalar are in its handle, which stays where it is until they have come. The
  // device's tensor is held, so that nothing behind the copy is given its block.
  const auto copy = std::make_shared<Tensor>(*std::move(made));
  const auto shared = std::make_shared<CopyDone>(std::move(done));
  const Status queued =
      queue_.Read(tensor, copy->mutable_raw_data(), [tensor, copy, shared](const Status& status) {
        (*shared)(status.ok() ? Result<Tensor>(std::move(*copy)) : Result<Tensor>(status));
      });
  if (!queued.ok()) (*shared)(queued);
}

void GpuDevice::CopyFromHost(const Tensor& tensor, CopyDone done) {
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
    const Status queued =
        queue_.Write(bytes->data(), there, GpuReaders::kQueued, [bytes](const Status&) {});
    return done(queued.ok() ? std::move(made) : Result<Tensor>(queued));
  }
  const auto shared = std::make_shared<CopyDone>(std::move(done));
  const Status queued =
      queue_.Write(tensor.raw_data(), there, GpuReaders::kWaiting,
                   [tensor, there, shared](const Status& status) {
                     (*shared)(status.ok() ? Result<Tensor>(there) : Result<Tensor>(status));
                   });
  if (!queued.ok()) (*shared)(queued);
}

}  // namespace thalweg
