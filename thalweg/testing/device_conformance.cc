// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/device_conformance.h"

#include <cstring>
#include <set>
#include <thread>

#include "thalweg/base/notification.h"

namespace thalweg {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

constexpr int64_t kCap = int64_t{64} << 20;

Status Expect(bool condition, std::string_view what) {
  return condition ? OkStatus() : Internal(what);
}

// To the device and back; both copies must say that they are done exactly once.
Result<Tensor> RoundTrip(Device& device, const Tensor& tensor) {
  Result<Tensor> there = Internal("never done");
  Notification copied;
  device.CopyFromHost(tensor, [&](Result<Tensor> result) {
    there = std::move(result);
    copied.Notify();
  });
  copied.Wait();
  if (!there.ok()) return there;
  Result<Tensor> back = Internal("never done");
  Notification returned;
  device.CopyToHost(*there, [&](Result<Tensor> result) {
    back = std::move(result);
    returned.Notify();
  });
  returned.Wait();
  return back;
}

Status ExpectSame(const Tensor& a, const Tensor& b) {
  RETURN_IF_ERROR(Expect(a.dtype() == b.dtype(), "the copy has another dtype"));
  RETURN_IF_ERROR(Expect(a.shape() == b.shape(), "the copy has another shape"));
  if (a.bytes() == 0) return OkStatus();
  return Expect(std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0, "bytes differ");
}

Status NamesAreFullAndDistinct(const Devices& devices) {
  std::set<std::string> names;
  for (const auto& device : devices) {
    RETURN_IF_ERROR(Expect(device->name().IsFull(), "the name is not full"));
    RETURN_IF_ERROR(
        Expect(device->name().job == "conformance", "the job is not the one asked for"));
    RETURN_IF_ERROR(Expect(device->name().task == 5, "the task is not the one asked for"));
    RETURN_IF_ERROR(Expect(device->incarnation() == 77, "the incarnation was not taken over"));
    RETURN_IF_ERROR(Expect(names.insert(device->full_name()).second, "two devices have one name"));
  }
  return OkStatus();
}

Status AllocationsAreAlignedAndCounted(const Devices& devices) {
  Allocator& allocator = devices.front()->allocator();
  const int64_t before = allocator.Stats().bytes_in_use;
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{4096}, size_t{3} << 20}) {
    void* block = allocator.Allocate(bytes);
    RETURN_IF_ERROR(Expect(block != nullptr, "a small block was refused"));
    RETURN_IF_ERROR(Expect(reinterpret_cast<uintptr_t>(block) % kTensorAlignment == 0,
                           "a block is not aligned"));
    RETURN_IF_ERROR(Expect(allocator.Stats().bytes_in_use >= before + static_cast<int64_t>(bytes),
                           "a block is not counted"));
    allocator.Deallocate(block, bytes);
  }
  return Expect(allocator.Stats().bytes_in_use == before, "freed blocks are still counted");
}

Status ARequestBeyondTheCapIsRefused(const Devices& devices) {
  Allocator& allocator = devices.front()->allocator();
  RETURN_IF_ERROR(Expect(allocator.Allocate(kCap * 4) == nullptr, "the cap was ignored"));
  void* block = allocator.Allocate(1024);
  RETURN_IF_ERROR(Expect(block != nullptr, "after a refusal nothing is given any more"));
  allocator.Deallocate(block, 1024);
  return OkStatus();
}

Status CopiesKeepEveryByte(const Devices& devices) {
  Device& device = *devices.front();
  for (int number = 1; number < kNumDTypes; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (!IsPlain(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{7, 1000}}) {
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(device.host_allocator(), dtype, shape));
      auto* bytes = static_cast<unsigned char*>(tensor.mutable_raw_data());
      for (size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 1);
      ASSIGN_OR_RETURN(const Tensor back, RoundTrip(device, tensor));
      RETURN_IF_ERROR(ExpectSame(tensor, back).WithContext(StrCat(dtype, shape)));
    }
  }
  return OkStatus();
}

Status CopiesMayRace(const Devices& devices) {
  std::vector<Status> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      Device& device = *devices[t % devices.size()];
      const std::vector<float> values(500, static_cast<float>(t));
      for (int i = 0; i < 100 && results[t].ok(); ++i) {
        const Tensor tensor = Tensor::Of<float>(values, Shape{500});
        const Result<Tensor> back = RoundTrip(device, tensor);
        results[t] = back.ok() ? ExpectSame(tensor, *back) : back.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) RETURN_IF_ERROR(result);
  return OkStatus();
}

}  // namespace

std::vector<DeviceCheck> DeviceChecks() {
  return {{"NamesAreFullAndDistinct", NamesAreFullAndDistinct},
          {"AllocationsAreAlignedAndCounted", AllocationsAreAlignedAndCounted},
          {"ARequestBeyondTheCapIsRefused", ARequestBeyondTheCapIsRefused},
          {"CopiesKeepEveryByte", CopiesKeepEveryByte},
          {"CopiesMayRace", CopiesMayRace}};
}

void CheckDevice(const DeviceUnderTest& device, const DeviceCheck& check) {
  Result<Devices> devices = device.factory({.job = "conformance",
                                            .task = 5,
                                            .cpu_devices = 2,
                                            .incarnation = 77,
                                            .host_allocator = MakeCpuAllocator(kCap)});
  ASSERT_TRUE(devices.ok()) << devices.status().ToString();
  if (devices->empty()) GTEST_SKIP() << "this machine has no such device";
  const Status status = check.holds(*devices);
  const auto excluded = device.exclusions.find(check.name);
  if (excluded == device.exclusions.end()) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  } else {
    EXPECT_FALSE(status.ok()) << "excluded (" << excluded->second << ") and passes: take it out";
  }
}

}  // namespace thalweg
