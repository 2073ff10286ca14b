// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thalweg {
namespace {

// Copies up to this size are made of bytes set aside, so that the host's may change at once.
constexpr size_t kSetAside = size_t{256} << 10;

GpuCollective CollectiveOf(const CollectiveCall& call) {
  return {.kind = call.kind, .dtype = call.dtype, .merge = call.merge, .is_mean = call.is_mean};
}

// What a member gets of a value of so many rows from each of n.
Result<Shape> ResultShape(CollectiveKind kind, const Shape& value, int64_t n) {
  if (kind != CollectiveKind::kGather && kind != CollectiveKind::kReduceScatter) return value;
  Dims dims = value.dims();
  if (kind == CollectiveKind::kReduceScatter) {
    dims[0] /= n;
  } else if (__builtin_mul_overflow(dims[0], n, &dims[0])) {
    return InvalidArgument("the members' values joined have more than 2^63 rows: ", n, " of shape ",
                           value);
  }
  return Shape::Make(dims);
}

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

void GpuDevice::Meet(const std::vector<std::unique_ptr<Device>>& made) {
  for (const auto& device : made) {
    auto* const other = static_cast<GpuDevice*>(device.get());
    if (other != this && driver_->Reaches(*other->driver_)) peers_.push_back(other);
  }
}

bool GpuDevice::Reaches(const Device& other) const {
  return std::ranges::find(peers_, &other) != peers_.end();
}

Result<Tensor> GpuDevice::CopyFromPeer(const Tensor& tensor) {
  const auto from =
      std::ranges::find_if(peers_, [&](const GpuDevice* device) { return device->Has(tensor); });
  if (from == peers_.end()) {
    return Internal("a copy to ", full_name(), " got ", tensor.dtype(), tensor.shape(),
                    " that is in the memory of no device that it reaches");
  }
  ASSIGN_OR_RETURN(Tensor made, Allocate(tensor.dtype(), tensor.shape()));
  RETURN_IF_ERROR(queue_.CopyFrom((*from)->queue_, tensor, made));
  return made;
}

bool GpuDevice::Takes(const CollectiveCall& call) const {
  return !peers_.empty() && driver_->CanCollect(CollectiveOf(call));
}

Result<std::vector<Tensor>> GpuDevice::ComputeTogether(Context& /*ctx*/,
                                                       std::span<const CollectiveCall> calls) {
  GpuCollective collective = CollectiveOf(calls.front());
  const auto brings = [](const CollectiveCall& call) { return !call.is_receiver(); };
  const auto first = std::ranges::find_if(calls, brings);
  collective.sender = static_cast<int>(first - calls.begin());
  const bool is_broadcast = collective.kind == CollectiveKind::kBroadcast;
  ASSIGN_OR_RETURN(const Shape shape, ResultShape(collective.kind, first->value.shape(),
                                                  static_cast<int64_t>(calls.size())));
  std::vector<Tensor> results;
  std::vector<GpuShare> shares;
  for (const CollectiveCall& call : calls) {
    auto& device = static_cast<GpuDevice&>(*call.memory);
    Tensor result = call.value;
    if (!is_broadcast || call.is_receiver()) {
      ASSIGN_OR_RETURN(result, device.Allocate(call.dtype, shape));
    }
    shares.push_back({&device.queue_, call.value, result});
    results.push_back(std::move(result));
  }
  const auto count =
      static_cast<size_t>(collective.kind == CollectiveKind::kGather ? first->value.num_elements()
                                                                     : shape.num_elements());
  collective.count = count;
  if (count > 0) RETURN_IF_ERROR(GpuQueue::Collect(collective, shares));
  return results;
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
