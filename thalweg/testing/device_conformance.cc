// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/device_conformance.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "thalweg/base/notification.h"
#include "thalweg/kernel/peer_copies.h"

namespace thalweg {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

constexpr int64_t kCap = int64_t{64} << 20;

Status Expect(bool condition, std::string_view what) {
  return condition ? OkStatus() : Internal(what);
}

using Copy = void (Device::*)(const Tensor&, Device::CopyDone);

// Says that it is done exactly once.
Result<Tensor> Copied(Device& device, Copy copy, const Tensor& tensor) {
  struct Call {
    Result<Tensor> result = Internal("never done");
    std::atomic<int> times{0};
    Notification ended;
  };
  const auto call = std::make_shared<Call>();
  (device.*copy)(tensor, [call](Result<Tensor> result) {
    if (call->times.fetch_add(1) > 0) return;
    call->result = std::move(result);
    call->ended.Notify();
  });
  call->ended.Wait();
  if (call->times.load() > 1) return Internal("a copy was done twice");
  return call->result;
}

Result<Tensor> RoundTrip(Device& device, const Tensor& tensor) {
  ASSIGN_OR_RETURN(const Tensor there, Copied(device, &Device::CopyFromHost, tensor));
  return Copied(device, &Device::CopyToHost, there);
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

Tensor Made(Device& device, DType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::Allocate(device.host_allocator(), dtype, shape);
  auto* bytes = static_cast<unsigned char*>(tensor.mutable_raw_data());
  for (size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 1);
  return tensor;
}

Status CopiesKeepEveryByte(const Devices& devices) {
  Device& device = *devices.front();
  for (int number = 1; number < kNumDTypes; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (!IsPlain(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{7, 1000}}) {
      const Tensor tensor = Made(device, dtype, shape);
      ASSIGN_OR_RETURN(const Tensor back, RoundTrip(device, tensor));
      RETURN_IF_ERROR(ExpectSame(tensor, back).WithContext(StrCat(dtype, shape)));
    }
  }
  return OkStatus();
}

// What is there is in the device's memory, whatever its size, and is counted.
Status TensorsAreTheDevices(const Devices& devices) {
  Device& device = *devices.front();
  const int64_t before = device.allocator().Stats().bytes_in_use;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{7, 1000}}) {
    ASSIGN_OR_RETURN(const Tensor made, device.Allocate(DType::kFloat, shape));
    RETURN_IF_ERROR(Expect(made.dtype() == DType::kFloat && made.shape() == shape,
                           "a tensor of another dtype or shape"));
    if (device.host_addressable()) continue;
    RETURN_IF_ERROR(Expect(made.kind() == Tensor::Kind::kBuffer, "a scalar is in its handle"));
    RETURN_IF_ERROR(Expect(
        device.allocator().Stats().bytes_in_use >= before + static_cast<int64_t>(made.bytes()),
        "a tensor is not in the device's memory"));
  }
  return Expect(device.allocator().Stats().bytes_in_use == before, "what is gone is still counted");
}

// Each copy has the bytes that the host's tensor had when it was asked for, and all are there at
// once.
Status CopiesComeInOrder(const Devices& devices) {
  Device& device = *devices.front();
  std::vector<Tensor> there;
  for (int i = 0; i < 64; ++i) {
    const Tensor here = Tensor::Of<float>(std::vector<float>(1 + 100 * i, static_cast<float>(i)),
                                          Shape{1 + 100 * i});
    ASSIGN_OR_RETURN(Tensor copy, Copied(device, &Device::CopyFromHost, here));
    there.push_back(std::move(copy));
    if (i % 3 == 2) there.erase(there.begin());  // its block may be given out again
  }
  for (const Tensor& tensor : there) {
    ASSIGN_OR_RETURN(const Tensor back, Copied(device, &Device::CopyToHost, tensor));
    const int64_t number = (back.num_elements() - 1) / 100;
    const auto expected = static_cast<float>(number);
    const auto values = back.flat<float>();
    RETURN_IF_ERROR(Expect(
        std::all_of(values.begin(), values.end(), [=](float value) { return value == expected; }),
        "a copy has the bytes of another"));
  }
  return OkStatus();
}

// A copy that finds no room says so, and later ones are made.
Status ACopyBeyondTheCapIsRefused(const Devices& devices) {
  Device& device = *devices.front();
  const Result<Tensor> huge = device.Allocate(DType::kFloat, Shape{kCap});
  RETURN_IF_ERROR(Expect(huge.status().code() == Code::kResourceExhausted,
                         "a tensor beyond the cap is not ResourceExhausted"));
  if (!device.host_addressable()) {
    // Bytes of nobody: no page of them is touched, as none is to be copied.
    static constexpr char kNothing = 0;
    const Tensor here =
        Tensor::FromBuffer(DType::kInt8, Shape{4 * kCap}, const_cast<char*>(&kNothing), [] {});
    RETURN_IF_ERROR(Expect(
        Copied(device, &Device::CopyFromHost, here).status().code() == Code::kResourceExhausted,
        "a copy beyond the cap is not ResourceExhausted"));
  }
  return RoundTrip(device, Tensor::Vector<float>({1, 2})).status();
}

// Strings are objects of the host.
Status ObjectsAreRefused(const Devices& devices) {
  Device& device = *devices.front();
  if (device.host_addressable()) return OkStatus();
  const Tensor text = Tensor::Vector<std::string>({"a"});
  return Expect(
      Copied(device, &Device::CopyFromHost, text).status().code() == Code::kInvalidArgument,
      "strings are not refused");
}

// Of every two devices of which one takes tensors of the other: every byte, also of a tensor that
// nobody holds any more, and of nothing else.
Status CopiesFromPeersKeepEveryByte(const Devices& devices) {
  for (const auto& from : devices) {
    for (const auto& to : devices) {
      if (!CopiesFrom(*to, *from)) continue;
      RETURN_IF_ERROR(Expect(from != to, "a device is its own peer"));
      auto& peers = dynamic_cast<PeerCopies&>(*to);
      for (const DType dtype : {DType::kBool, DType::kFloat, DType::kInt64}) {
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{700, 1000}}) {
          const Tensor here = Made(*from, dtype, shape);
          ASSIGN_OR_RETURN(Tensor there, Copied(*from, &Device::CopyFromHost, here));
          ASSIGN_OR_RETURN(const Tensor copy, peers.CopyFromPeer(there));
          there = Tensor();
          // May be given the block that it had.
          const Tensor other = Made(*from, DType::kInt8, Shape{9});
          RETURN_IF_ERROR(Copied(*from, &Device::CopyFromHost, other).status());
          ASSIGN_OR_RETURN(const Tensor back, Copied(*to, &Device::CopyToHost, copy));
          RETURN_IF_ERROR(ExpectSame(here, back).WithContext(StrCat(dtype, shape)));
        }
      }
      RETURN_IF_ERROR(
          Expect(peers.CopyFromPeer(Made(*from, DType::kFloat, Shape{3})).status().code() ==
                     Code::kInternal,
                 "a tensor of the host's is no error"));
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
          {"TensorsAreTheDevices", TensorsAreTheDevices},
          {"CopiesComeInOrder", CopiesComeInOrder},
          {"ACopyBeyondTheCapIsRefused", ACopyBeyondTheCapIsRefused},
          {"ObjectsAreRefused", ObjectsAreRefused},
          {"CopiesFromPeersKeepEveryByte", CopiesFromPeersKeepEveryByte},
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
