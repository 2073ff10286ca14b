// SPDX-License-Identifier: Apache-2.0
// The CUDA device on the driver, the compiler and the cuBLAS of the tests (test_libcuda.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "thalweg/base/notification.h"
#include "thalweg/devices/gpu/cuda/cuda_driver.h"
#include "thalweg/devices/gpu/cuda/test_libcuda.h"
#include "thalweg/devices/gpu/gpu_factory.h"
#include "thalweg/devices/gpu/test_gpu_device.h"
#include "thalweg/testing/device_conformance.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CudaDeviceTest : public GpuDeviceTest {
 protected:
  // What is on the card goes with the device.
  void TearDown() override {
    fake.Mend();
    opened = Internal("closed");
    EXPECT_EQ(fake.live(), 0);
    EXPECT_EQ(fake.copies_of_pageable_memory(), 0);
  }
  static Tensor Count(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 0.0f);
    return Tensor::Of<float>(values, Shape{n});
  }

  FakeCuda& fake = FakeCuda::Get();
};

TEST_F(CudaDeviceTest, ACardIsDescribed) {
  const GpuTraits& traits = device->traits();
  EXPECT_EQ(traits.ToString(), "CUDA device 'Fake card'");
  EXPECT_EQ(traits.version, "compute capability: 8.0");
  EXPECT_EQ(traits.driver, "CUDA 12.4");
  // Programs look for these words (tf.test.is_gpu_available).
  EXPECT_EQ(HardwareOf(*device), "device: 0, name: Fake card, compute capability: 8.0");
  EXPECT_EQ(traits.units, 108);
  EXPECT_FALSE(traits.IsProcessor());
  EXPECT_EQ(device->allocator().Stats().limit, (int64_t{256} << 20) / 16 * 15);
}

TEST_F(CudaDeviceTest, WhoAsksForAGpuHasItByCudaAndOpensNoOpenCl) {
  opened = MakeGpuDevices({.job = "localhost",
                           .device_count = {{"GPU", 1}},
                           .host_allocator = MakeCpuAllocator(kLimit)});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  ASSERT_EQ(opened->size(), 1);
  EXPECT_EQ(static_cast<GpuDevice&>(*opened->front()).traits().api, "CUDA");
  EXPECT_TRUE(
      MakeGpuDevices({.job = "localhost", .host_allocator = MakeCpuAllocator(kLimit)})->empty());
  const Status many = MakeCudaDevices({.job = "localhost",
                                       .device_count = {{"GPU", 2}},
                                       .host_allocator = MakeCpuAllocator(kLimit)})
                          .status();
  EXPECT_EQ(many.message(),
            "2 devices of type GPU are asked for, CUDA has 1 on this machine: ask for at most so "
            "many");
}

// A launch sees the copy in front of it, a copy what was launched before, whatever its stream.
TEST_F(CudaDeviceTest, StreamsWaitForEachOther) {
  for (const int64_t n : {3, 70000, 3000000}) {
    Tensor x = There(Count(n));
    for (int i = 0; i < (n > 100000 ? 3 : 20); ++i) {
      const Result<Tensor> y = Twice(x);
      ASSERT_TRUE(y.ok()) << y.status().ToString();
      const Result<Tensor> back = Back(*y);
      ASSERT_TRUE(back.ok()) << back.status().ToString();
      EXPECT_EQ(back->flat<float>()[static_cast<size_t>(n - 1)], 2 * static_cast<float>(n - 1));
      x = There(Count(n));  // a block that was read is given out again
    }
  }
}

TEST_F(CudaDeviceTest, ACopyToTheHostHasWhatWasLaunchedBeforeIt) {
  Tensor x = There(Count(1000));
  ASSERT_TRUE(Back(x).ok());  // all is there
  fake.Hold(true);
  const Tensor y = *Twice(x);
  Notification ended;
  Result<Tensor> back = Internal("not yet");
  device->CopyToHost(y, [&](Result<Tensor> copied) {
    back = std::move(copied);
    ended.Notify();
  });
  EXPECT_FALSE(ended.HasBeenNotified());
  fake.Hold(false);
  ended.Wait();
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->flat<float>()[999], 2 * 999.0f);
}

// A kernel of the CPU behind one of the card's waits for a copy where it is called, also in `done`.
TEST_F(CudaDeviceTest, WhatIsCalledWhenACopyEndsMayWaitForAnother) {
  const Tensor x = There(Count(10)), y = There(Count(20));
  Notification ended;
  device->CopyToHost(x, [&](const Result<Tensor>& copied) {
    EXPECT_TRUE(copied.ok());
    EXPECT_TRUE(Back(y).ok());
    ended.Notify();
  });
  ended.Wait();
}

TEST_F(CudaDeviceTest, UploadsStandInTheQueueWhateverTheirSize) {
  for (const int64_t n : {10, 65536, 65537, 5000000}) {
    const Result<Tensor> x = Uploaded(*device, Count(n));
    ASSERT_TRUE(x.ok());
    const Result<Tensor> back = Back(*Twice(*x));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->flat<float>()[static_cast<size_t>(n - 1)], 2 * static_cast<float>(n - 1));
  }
}

TEST_F(CudaDeviceTest, ProductsOfTheLibraryAreThoseOfRows) {
  ASSERT_TRUE(device->has_products());
  const Tensor a = There(Tensor::Of<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3}));
  const Tensor at = There(Tensor::Of<float>(std::vector<float>{1, 4, 2, 5, 3, 6}, Shape{3, 2}));
  const Tensor b =
      There(Tensor::Of<float>(std::vector<float>{1, 0, 2, 1, 0, 1, 1, 3, 2, 0, 0, 1}, Shape{3, 4}));
  const Tensor bt =
      There(Tensor::Of<float>(std::vector<float>{1, 0, 2, 0, 1, 0, 2, 1, 0, 1, 3, 1}, Shape{4, 3}));
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Tensor c = *device->Allocate(DType::kFloat, Shape{2, 4});
      const GpuProduct product = {
          .m = 2, .n = 4, .k = 3, .transpose_a = transpose_a, .transpose_b = transpose_b};
      ASSERT_TRUE(
          device->queue().Multiply(product, transpose_a ? at : a, transpose_b ? bt : b, c).ok());
      EXPECT_THAT(Back(c)->flat<float>(), ElementsAre(7, 2, 4, 10, 16, 5, 13, 25));
    }
  }
  // Two by one factor that is shared.
  const Tensor pair = There(
      Tensor::Of<float>(std::vector<float>{1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12}, Shape{2, 2, 3}));
  const Tensor c = *device->Allocate(DType::kFloat, Shape{2, 2, 4});
  const GpuProduct product = {.count = 2, .m = 2, .n = 4, .k = 3, .step_a = 6, .step_b = 0};
  ASSERT_TRUE(device->queue().Multiply(product, pair, b, c).ok());
  EXPECT_THAT(Back(c)->flat<float>(),
              ElementsAre(7, 2, 4, 10, 16, 5, 13, 25, 14, 4, 8, 20, 32, 10, 26, 50));
}

TEST_F(CudaDeviceTest, AKernelThatDoesNotCompileNamesTheDeviceAndTheFault) {
  const Status status = device->programs().Find("__kernel void f() { nonsense; }", "f").status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("CUDA device 'Fake card' (CUDA 12.4)"));
  EXPECT_THAT(status.message(), HasSubstr("identifier \"nonsense\" is undefined"));
}

TEST_F(CudaDeviceTest, AnImageOfAnotherDriverNamesTheRemedy) {
  fake.Fail("cuModuleLoadData", 222);
  EXPECT_THAT(device->programs().Find(kTwiceSource, "twice").status().message(),
              HasSubstr("is NVRTC newer than the driver?"));
}

TEST_F(CudaDeviceTest, NoMemoryIsToldWithSizeAndLimit) {
  const Status large = device->Allocate(DType::kFloat, Shape{100 << 20}).status();
  EXPECT_EQ(large.code(), Code::kResourceExhausted);
  fake.Fail("cuMemAlloc_v2", 2, true);
  const Status refused = device->Allocate(DType::kFloat, Shape{8 << 20}).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  fake.Mend();
  EXPECT_TRUE(device->Allocate(DType::kFloat, Shape{8 << 20}).ok());
}

TEST_F(CudaDeviceTest, MoreGroupsThanADimensionHasAreLeftToOthers) {
  const Tensor x = There(Count(3));
  GpuLaunch launch(*device->programs().Find(kTwiceSource, "twice"));
  launch.Add(x).Add(x).Value(uint32_t{3});
  const Status status = device->queue().Run(launch, {1, 65536, 1}, {1, 1, 1});
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("runs up to 65535 groups"));
  EXPECT_TRUE(Back(x).ok()) << "the device goes on";
}

TEST_F(CudaDeviceTest, ALostCardIsUnavailableForGoodAndTheNextOneWorks) {
  const Tensor x = There(Count(3));
  fake.Break(700);
  const Status copied = Back(x).status();
  EXPECT_EQ(copied.code(), Code::kUnavailable);
  EXPECT_THAT(copied.message(), HasSubstr("/device:GPU:0 is lost"));
  EXPECT_THAT(copied.message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
  EXPECT_THAT(copied.message(), HasSubstr("start it anew"));
  fake.Mend();
  EXPECT_EQ(Twice(x).status().code(), Code::kUnavailable);
  EXPECT_FALSE(WhyLost(*device).ok());
  Open("");
  EXPECT_THAT(Back(*Twice(There(Count(3))))->flat<float>(), ElementsAre(0, 2, 4));
}

TEST_F(CudaDeviceTest, ACardThatIsLostWhereItGivesNoMemoryCountsAsLost) {
  fake.Fail("cuMemAlloc_v2", 2, true);
  EXPECT_FALSE(device->Allocate(DType::kFloat, Shape{8 << 20}).ok());
  EXPECT_TRUE(WhyLost(*device).ok()) << "no memory is no loss";
  fake.Fail("cuMemAlloc_v2", 700, true);
  EXPECT_FALSE(device->Allocate(DType::kFloat, Shape{8 << 20}).ok());
  const Status lost = WhyLost(*device);
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("/device:GPU:0 is lost"));
  EXPECT_THAT(lost.message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

// Processors are no answer to who has a card that cannot be used.
TEST_F(CudaDeviceTest, ACardThatCannotBeLookedForIsNotReplaced) {
  fake.Fail("cuDeviceGetCount", 999);
  const Status status = MakeGpuDevices({.job = "localhost",
                                        .device_count = {{"GPU", 1}},
                                        .host_allocator = MakeCpuAllocator(kLimit)})
                            .status();
  EXPECT_THAT(status.message(), HasSubstr("look for devices"));
  EXPECT_THAT(status.message(), Not(HasSubstr("by OpenCL")));
}

// Whatever call fails: a word, nothing that hangs, nothing that leaks (TearDown).
TEST_F(CudaDeviceTest, EveryCallMayFail) {
  for (const char* call :
       {"cuMemAlloc_v2", "cuMemAllocHost_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
        "cuStreamWaitEvent", "cuEventCreate", "cuEventRecord", "cuEventSynchronize",
        "cuModuleLoadData", "cuLaunchKernel", "cuStreamCreate"}) {
    SCOPED_TRACE(call);
    for (const int64_t n : {int64_t{10}, int64_t{3000000}}) {
      Open("");
      fake.Fail(call, 2, true);
      const Status status = [&] {
        ASSIGN_OR_RETURN(const Tensor x, Copied(&Device::CopyFromHost, Count(n)));
        ASSIGN_OR_RETURN(const Tensor y, Twice(x));
        return Back(y).status();
      }();
      EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
      fake.Mend();
    }
  }
  Open("");
  fake.Fail("cuCtxPushCurrent_v2", 4, true);
  EXPECT_EQ(Copied(&Device::CopyFromHost, Count(10)).status().code(), Code::kResourceExhausted);
  fake.Mend();
  fake.Fail("cuDevicePrimaryCtxRetain", 2);
  const Status status =
      MakeOneUnderTest({.job = "localhost", .host_allocator = MakeCpuAllocator(kLimit)}).status();
  EXPECT_THAT(status.message(), HasSubstr("CUDA device 'Fake card' cannot be used"));
}

// As where another library has reset the card.
TEST_F(CudaDeviceTest, AContextThatIsGoneLeavesThatOfOthersCurrent) {
  const CudaApi& cuda = **CudaApi::Load();
  int object = 0;
  const auto other = reinterpret_cast<cu::ContextId>(&object);
  ASSERT_EQ(cuda.CtxPushCurrent(other), 0);
  fake.Fail("cuCtxPushCurrent_v2", 709);
  { const CurrentCuda refused(cuda, other); }
  cu::ContextId current = nullptr;
  EXPECT_EQ(cuda.CtxPopCurrent(&current), 0);
  EXPECT_EQ(current, other);
}

TEST_F(CudaDeviceTest, TensorsKeepItsMemory) {
  Tensor kept = There(Count(3));
  opened->clear();
  EXPECT_GT(fake.live(), 0);
  kept = Tensor();
  EXPECT_EQ(fake.live(), 0);
}

// Two cards of one driver: what goes from `device` to `second`.
class CudaPeersTest : public CudaDeviceTest {
 protected:
  void SetUp() override { OpenCards(2); }
  void OpenCards(int count) {
    fake.SetCards(count);
    cards = MakeCudaDevices({.job = "localhost",
                             .device_count = {{"GPU", count}},
                             .host_allocator = MakeCpuAllocator(kLimit)});
    ASSERT_TRUE(cards.ok()) << cards.status().ToString();
    device = Card(0);
    second = Card(1);
  }
  GpuDevice* Card(int number) const {
    return static_cast<GpuDevice*>(cards->at(static_cast<size_t>(number)).get());
  }
  void TearDown() override {
    fake.Mend();
    cards = Internal("closed");
    CudaDeviceTest::TearDown();
  }
  Result<Tensor> BackFrom(GpuDevice* card, const Tensor& tensor) {
    std::swap(device, card);
    Result<Tensor> back = Back(tensor);
    std::swap(device, card);
    return back;
  }

  Result<std::vector<std::unique_ptr<Device>>> cards = Internal("not yet");
  GpuDevice* second = nullptr;
};

TEST_F(CudaPeersTest, CardsOfOneDriverReachEachOther) {
  EXPECT_TRUE(CopiesFrom(*second, *device) && CopiesFrom(*device, *second));
  EXPECT_FALSE(CopiesFrom(*device, *device));
  EXPECT_FALSE(fake.reaches_other(1));
  const Result<Tensor> copy = second->CopyFromPeer(There(Count(10)));
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_TRUE(second->Has(*copy));
  EXPECT_EQ(BackFrom(second, *copy)->flat<float>()[9], 9.0f);
  EXPECT_TRUE(fake.reaches_other(1));
  EXPECT_FALSE(fake.reaches_other(0)) << "nothing goes that way";
  EXPECT_TRUE(second->CopyFromPeer(*device->Allocate(DType::kFloat, Shape{0})).ok());
  EXPECT_THAT(second->CopyFromPeer(Count(3)).status().message(),
              HasSubstr("in the memory of no device that it reaches"));
}

TEST_F(CudaPeersTest, ItIsAsOfEveryDevice) {
  for (const DeviceCheck& check : DeviceChecks()) {
    if (check.name != "CopiesFromPeersKeepEveryByte" && check.name != "CopiesMayRace") continue;
    const Status status = check.holds(*cards);
    EXPECT_TRUE(status.ok()) << check.name << ": " << status.ToString();
  }
}

// Whichever card is behind: the copy waits for what makes the tensor, and what is given its block
// waits for the copy, though nobody holds it.
TEST_F(CudaPeersTest, ACopyIsBehindWhatMakesItAndInFrontOfWhatOverwritesIt) {
  for (const int late : {0, 1}) {
    const Tensor ones = There(Tensor::Of<float>(std::vector<float>(1000, 1.0f), Shape{1000}));
    const Tensor x = There(Count(1000));
    ASSERT_TRUE(Back(x).ok());
    const int before = fake.copies_between_cards();
    fake.Hold(true, late);
    Tensor y = *Twice(x);
    const void* const block = y.raw_data();
    const Result<Tensor> copy = second->CopyFromPeer(y);  // nobody waits
    ASSERT_TRUE(copy.ok()) << copy.status().ToString();
    EXPECT_EQ(fake.copies_between_cards(), before + 1);
    y = Tensor();
    std::vector<Tensor> z;  // until one is where y was; what ended meanwhile is free, too
    do z.push_back(*Twice(ones));
    while (z.back().raw_data() != block && z.size() < 100);
    ASSERT_EQ(z.back().raw_data(), block);
    EXPECT_TRUE(fake.Settle(0) && fake.Settle(1));
    fake.Hold(false, late);
    const Result<Tensor> back = BackFrom(second, *copy);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->flat<float>()[999], 2 * 999.0f);
    EXPECT_EQ(Back(z.back())->flat<float>()[999], 2.0f);
  }
}

// What the copy was to read goes when it has ended, also where a call behind it has failed.
TEST_F(CudaPeersTest, EveryCallOfACopyMayFail) {
  for (const char* function :
       {"cuMemcpyPeerAsync", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}) {
    SCOPED_TRACE(function);
    const Tensor x = There(Count(10));
    ASSERT_TRUE(second->CopyFromPeer(x).ok());
    const int live = fake.live();
    fake.Fail(function, 1, true);
    const Status status = second->CopyFromPeer(x).status();
    EXPECT_EQ(status.code(), Code::kInternal) << status.ToString();
    fake.Fail(function, 0);
    EXPECT_EQ(fake.live(), live);
    EXPECT_TRUE(second->CopyFromPeer(x).ok()) << "both go on";
  }
  fake.Fail("cuCtxEnablePeerAccess", 217, true);
  OpenCards(2);
  EXPECT_TRUE(second->CopyFromPeer(There(Count(10))).ok()) << "the driver has another way";
}

TEST_F(CudaPeersTest, ACopyThatFailsWhenItIsQueuedHasEnded) {
  const Tensor x = There(Count(10));
  ASSERT_TRUE(second->CopyFromPeer(x).ok());
  for (const char* function : {"cuEventRecord", "cuStreamWaitEvent"}) {
    const int queued = fake.copies_between_cards() + 1;
    fake.Fail(function, 1, false, 1);  // behind the copy
    fake.Hold(true, 1);
    std::thread releases([&] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (fake.copies_between_cards() < queued && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      fake.Hold(false, 1);
    });
    EXPECT_EQ(second->CopyFromPeer(x).status().code(), Code::kInternal) << function;
    EXPECT_EQ(fake.ended_copies_between_cards(), queued) << function;
    releases.join();
  }
}

TEST_F(CudaPeersTest, NoMemoryThereIsToldOfTheDeviceThatHasNone) {
  const Tensor x = There(Count(1 << 20));
  fake.Fail("cuMemAlloc_v2", 2, true);
  const Status status = second->CopyFromPeer(x).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  fake.Mend();
  EXPECT_TRUE(second->CopyFromPeer(x).ok());
}

TEST_F(CudaPeersTest, ALostCardIsNamedAndTheOtherGoesOn) {
  for (const int lost : {0, 1}) {
    OpenCards(2);
    const Tensor x = There(Count(10));
    ASSERT_TRUE(second->CopyFromPeer(x).ok());
    fake.Break(700, lost);
    const Status status = second->CopyFromPeer(x).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(StrCat("/device:GPU:", lost, " is lost")));
    EXPECT_FALSE(WhyLost(*Card(lost)).ok());
    EXPECT_TRUE(WhyLost(*Card(1 - lost)).ok());
    fake.Mend();
  }
}

// The driver says it to whichever card asks first.
TEST_F(CudaPeersTest, TheSendersLossIsNotTheReceivers) {
  const Tensor x = There(Count(10));
  fake.Fail("cuMemcpyPeerAsync", 700);
  fake.Fail("cuStreamQuery", 700);  // of what the first card has queued
  EXPECT_THAT(second->CopyFromPeer(x).status().message(), HasSubstr("/device:GPU:0 is lost"));
  EXPECT_FALSE(WhyLost(*device).ok());
  EXPECT_TRUE(WhyLost(*second).ok());
}

// Queued on both cards before the first one's kernel faults.
TEST_F(CudaPeersTest, WhatCameFromACardThatFaultsIsGivenToNobody) {
  const Result<Tensor> copy = second->CopyFromPeer(There(Count(10)));
  ASSERT_TRUE(copy.ok());
  fake.Break(700, 0);
  for (int i = 0; i < 2; ++i) {
    const Status status = BackFrom(second, *copy).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("/device:GPU:0 is lost"));
    EXPECT_FALSE(WhyLost(*second).ok()) << "it has what nobody knows";
    fake.Mend();
  }
}

TEST_F(CudaPeersTest, NorIsWhatCameByWayOfAThird) {
  OpenCards(3);
  Result<Tensor> copy = second->CopyFromPeer(There(Count(10)));
  ASSERT_TRUE(copy.ok());
  copy = Card(2)->CopyFromPeer(*copy);
  ASSERT_TRUE(copy.ok());
  fake.Break(700, 0);
  EXPECT_THAT(BackFrom(Card(2), *copy).status().message(), HasSubstr("/device:GPU:0 is lost"));
}

TEST_F(CudaPeersTest, WhatCameBeforeIsThere) {
  const Tensor x = There(Count(10));
  const Result<Tensor> copy = second->CopyFromPeer(x);
  ASSERT_TRUE(copy.ok());
  ASSERT_TRUE(BackFrom(second, *copy).ok());
  fake.Break(700, 0);
  for (int i = 0; i < 2; ++i) {
    const Result<Tensor> back = BackFrom(second, *copy);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->flat<float>()[9], 9.0f);
    EXPECT_EQ(second->CopyFromPeer(x).status().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(WhyLost(*second).ok());
}

TEST(CudaCompilerTest, ACardHasItsOwnCodeOrThatOfTheNewestBeforeIt) {
  const Result<const CudaCompiler*> compiler = CudaCompiler::Load(12);
  ASSERT_TRUE(compiler.ok());
  EXPECT_EQ((*compiler)->TargetFor("x", 80)->ToOption(), "--gpu-architecture=sm_80");
  EXPECT_EQ((*compiler)->TargetFor("x", 89)->ToOption(), "--gpu-architecture=compute_80");
  const Status old = (*compiler)->TargetFor("Tesla", 35).status();
  EXPECT_EQ(old.code(), Code::kFailedPrecondition);
  EXPECT_EQ(old.message(),
            "CUDA device 'Tesla' has compute capability 3.5, NVRTC 12.4 compiles for 5.2 and "
            "later: install an older NVRTC, and name its folder in LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace thalweg
