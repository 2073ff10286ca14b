// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/fake/fake_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "thalweg/devices/fake/fake_kernel.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The host as the kernels inside see it; devices are leaves, so it is none of devices/cpu.
class InsideDevice : public Device {
 public:
  InsideDevice(DeviceName name, uint64_t incarnation, AllocatorPtr allocator)
      : Device(std::move(name), incarnation), allocator_(std::move(allocator)) {}
  Allocator& allocator() override { return *allocator_; }
  Allocator& host_allocator() override { return *allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  const AllocatorPtr allocator_;
};

bool IsThere(const std::string& file) { return !file.empty() && access(file.c_str(), F_OK) == 0; }

DeviceName OfCpu(DeviceName name) {
  name.type = kCpu;
  return name;
}

}  // namespace

FakeDevice::FakeDevice(DeviceName name, uint64_t incarnation, std::shared_ptr<FakeMemory> memory,
                       AllocatorPtr host_allocator, const KernelRegistry& kernels,
                       std::string gone_file)
    : Device(name, incarnation, false),
      memory_(std::move(memory)),
      host_allocator_(std::move(host_allocator)),
      kernels_(kernels),
      inside_(std::make_unique<InsideDevice>(OfCpu(std::move(name)), incarnation, host_allocator_)),
      gone_file_(std::move(gone_file)) {}

Status FakeDevice::lost() const {
  if (!lost_.load() && IsThere(gone_file_)) lost_.store(true);
  return lost_.load() ? LostDevice(full_name(), "it was taken away on purpose") : OkStatus();
}

void FakeDevice::CopyToHost(const Tensor& tensor, CopyDone done) {
  if (Status gone = lost(); !gone.ok()) return done(std::move(gone));
  if (!Has(tensor)) {
    return done(Internal("a copy from ", full_name(), " to the host got ", tensor.dtype(),
                         tensor.shape(), " that is not in the device's memory"));
  }
  Result<Tensor> copy = Tensor::Allocate(*host_allocator_, tensor.dtype(), tensor.shape());
  if (copy.ok() && tensor.bytes() > 0) {
    std::memcpy(copy->mutable_raw_data(), memory_->Readable(tensor.raw_data()), tensor.bytes());
  }
  done(std::move(copy));
}

void FakeDevice::CopyFromHost(const Tensor& tensor, CopyDone done) {
  if (Status gone = lost(); !gone.ok()) return done(std::move(gone));
  if (Has(tensor)) {
    return done(Internal("a copy from the host to ", full_name(), " got ", tensor.dtype(),
                         tensor.shape(), " that is in the device's memory already"));
  }
  done(Store(tensor));
}

void FakeDevice::Meet(const std::vector<std::unique_ptr<Device>>& made) {
  for (const auto& device : made) {
    if (device.get() != this) peers_.push_back(static_cast<const FakeDevice*>(device.get()));
  }
}

bool FakeDevice::Reaches(const Device& other) const {
  return std::ranges::find(peers_, &other) != peers_.end();
}

Result<Tensor> FakeDevice::CopyFromPeer(const Tensor& tensor) {
  RETURN_IF_ERROR(lost());
  const auto from =
      std::ranges::find_if(peers_, [&](const FakeDevice* device) { return device->Has(tensor); });
  if (from == peers_.end()) {
    return Internal("a copy to ", full_name(), " got ", tensor.dtype(), tensor.shape(),
                    " that is in the memory of no device that it reaches");
  }
  RETURN_IF_ERROR((*from)->lost());
  return Store((*from)->Readable(tensor));
}

bool FakeDevice::Takes(const CollectiveCall& call) const {
  return !peers_.empty() && call.kind != CollectiveKind::kAllToAll &&
         call.merge == compute::BinaryOp::kAdd;
}

Result<std::vector<Tensor>> FakeDevice::ComputeTogether(Context& ctx,
                                                        std::span<const CollectiveCall> calls) {
  std::vector<CollectiveCall> readable(calls.begin(), calls.end());
  for (CollectiveCall& call : readable) {
    auto& device = static_cast<FakeDevice&>(*call.memory);
    RETURN_IF_ERROR(device.lost());
    if (call.is_receiver()) continue;
    if (!device.Has(call.value)) {
      return Internal("a collective operation got ", call.value.dtype(), call.value.shape(),
                      " that is not in the memory of ", device.full_name());
    }
    call.value = device.Readable(call.value);
  }
  ASSIGN_OR_RETURN(std::vector<Tensor> results, CollectiveResults(ctx, readable));
  for (size_t rank = 0; rank < results.size(); ++rank) {
    ASSIGN_OR_RETURN(results[rank],
                     static_cast<FakeDevice&>(*calls[rank].memory).Store(results[rank]));
  }
  return results;
}

Tensor FakeDevice::Readable(const Tensor& tensor) const {
  return Tensor::FromBuffer(tensor.dtype(), tensor.shape(), memory_->Readable(tensor.raw_data()),
                            [held = tensor] {});
}

Result<Tensor> FakeDevice::Store(const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor stored, Allocate(tensor.dtype(), tensor.shape()));
  if (tensor.bytes() > 0) {
    std::memcpy(memory_->Readable(stored.raw_data()), tensor.raw_data(), tensor.bytes());
  }
  return stored;
}

Result<std::vector<std::unique_ptr<Device>>> MakeFakeDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  const auto count = request.device_count.find(std::string(kFake));
  if (count == request.device_count.end() || count->second <= 0) return devices;
  const char* const gone = std::getenv("THALWEG_FAKE_DEVICE_GONE");
  const std::string gone_file = gone == nullptr ? "" : gone;
  if (IsThere(gone_file)) {
    return Unavailable("no device of type FAKE is there: ", gone_file, " says that it is gone");
  }
  static const KernelRegistry none;
  if (request.kernels != nullptr && request.ops != nullptr) {
    RETURN_IF_ERROR(AddFakeKernels(*request.ops, *request.kernels));
  }
  for (int i = 0; i < count->second; ++i) {
    ASSIGN_OR_RETURN(auto memory, FakeMemory::Make(request.host_allocator->Stats().limit));
    devices.push_back(std::make_unique<FakeDevice>(
        request.NameOf(kFake, i), request.incarnation, std::move(memory), request.host_allocator,
        request.kernels == nullptr ? none : *request.kernels, gone_file));
  }
  for (const auto& device : devices) static_cast<FakeDevice&>(*device).Meet(devices);
  return devices;
}

}  // namespace thalweg
