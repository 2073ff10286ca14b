// SPDX-License-Identifier: Apache-2.0
// Collective operations of cards on the driver and the NCCL of the tests (test_libnccl.h).
#include "thalweg/devices/gpu/cuda/cuda_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/devices/gpu/cuda/test_libcuda.h"
#include "thalweg/devices/gpu/cuda/test_libnccl.h"
#include "thalweg/devices/gpu/gpu_factory.h"
#include "thalweg/devices/gpu/test_gpu_device.h"
#include "thalweg/kernel/test_step.h"
#include "thalweg/resources/collective_instance.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Calls = std::vector<CollectiveCall>;

class CudaGroupTest : public GpuDeviceTest {
 protected:
  void SetUp() override { OpenCards(3); }
  void OpenCards(int count) {
    cards = Internal("closed");
    fake.SetCards(count);
    cards = MakeCudaDevices({.job = "localhost",
                             .device_count = {{"GPU", count}},
                             .host_allocator = MakeCpuAllocator(kLimit)});
    ASSERT_TRUE(cards.ok()) << cards.status().ToString();
    library.Mend();
  }
  // What is on the cards goes with them.
  void TearDown() override {
    fake.Mend();
    library.Mend();
    cards = Internal("closed");
    EXPECT_EQ(fake.live(), 0);
    EXPECT_EQ(library.live(), 0);
  }
  GpuDevice& Card(int number) { return static_cast<GpuDevice&>(*cards->at(number)); }

  // Waits for a minute at most.
  static Result<Tensor> CopyOf(Device& of, Copy copy, const Tensor& tensor) {
    struct Arrival {
      Result<Tensor> copied = Internal("not yet");
      Notification ended;
    };
    const auto arrival = std::make_shared<Arrival>();
    (of.*copy)(tensor, [arrival](Result<Tensor> result) {
      arrival->copied = std::move(result);
      arrival->ended.Notify();
    });
    SystemClock clock;
    if (!arrival->ended.WaitUntil(clock, Deadline::After(clock, std::chrono::seconds(60)))) {
      return DeadlineExceeded("the copy has not ended");
    }
    return arrival->copied;
  }
  Tensor On(int card, const Tensor& tensor) {
    return *CopyOf(Card(card), &Device::CopyFromHost, tensor);
  }
  Result<Tensor> From(int card, const Tensor& tensor) {
    return CopyOf(Card(card), &Device::CopyToHost, tensor);
  }

  CollectiveCall CallOn(int card, CollectiveKind kind, Tensor value, int64_t size) {
    CollectiveCall call;
    call.kind = kind;
    call.keys = {size, 1, 7};
    call.dtype = value.empty() ? DType::kFloat : value.dtype();
    if (!value.empty()) call.shape = value.shape();
    call.value = std::move(value);
    call.device = Card(card).name();
    call.memory = &Card(card);
    return call;
  }
  // Sums of one number of each card.
  Calls Sums(const std::vector<int>& on, float first) {
    Calls calls;
    for (const int card : on) {
      calls.push_back(CallOn(card, CollectiveKind::kReduce,
                             On(card, Tensor::Vector<float>({first + static_cast<float>(card)})),
                             static_cast<int64_t>(on.size())));
    }
    return calls;
  }
  static Result<std::vector<Tensor>> Together(const Calls& calls) {
    Context none;
    return GroupOf(calls)->ComputeTogether(none, calls);
  }
  // Calls on cards 0 and 1 whose values are on the host get what the host computes of them.
  void ExpectAsOnTheHost(Calls calls) {
    TestStep step;
    TestCall host(step);
    const Result<std::vector<Tensor>> wanted = CollectiveResults(host.context(), calls);
    ASSERT_TRUE(wanted.ok()) << wanted.status().ToString();
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].is_receiver()) calls[i].value = On(static_cast<int>(i), calls[i].value);
      EXPECT_TRUE(Card(static_cast<int>(i)).Takes(calls[i]));
    }
    const Result<std::vector<Tensor>> results = Together(calls);
    ASSERT_TRUE(results.ok()) << results.status().ToString();
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_TRUE(Card(static_cast<int>(i)).Has((*results)[i]));
      const Result<Tensor> got = From(static_cast<int>(i), (*results)[i]);
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      EXPECT_EQ(got->ToString(), (*wanted)[i].ToString()) << CollectiveKindName(calls[0].kind);
    }
  }

  FakeCuda& fake = FakeCuda::Get();
  FakeNccl& library = FakeNccl::Get();
  Result<std::vector<std::unique_ptr<Device>>> cards = Internal("not yet");
};

TEST_F(CudaGroupTest, EachKindGivesWhatTheHostComputes) {
  using enum CollectiveKind;
  const auto pair = [this](CollectiveKind kind, const Tensor& a, const Tensor& b) {
    return Calls{CallOn(0, kind, a, 2), CallOn(1, kind, b, 2)};
  };
  const Tensor x = Tensor::Of<float>(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, Shape{4, 2});
  const Tensor y = Tensor::Of<float>(std::vector<float>{4, -3, 1, 8, 2, 2, 2, 2}, Shape{4, 2});
  const Tensor m = Tensor::Vector<int32_t>({1, 2, 3, 4}),
               n = Tensor::Vector<int32_t>({4, -3, 1, 8});
  for (const compute::BinaryOp merge : {compute::BinaryOp::kAdd, compute::BinaryOp::kMul,
                                        compute::BinaryOp::kMaximum, compute::BinaryOp::kMinimum}) {
    const bool is_sum = merge == compute::BinaryOp::kAdd || merge == compute::BinaryOp::kMul;
    for (const CollectiveKind kind : {kReduce, kReduceScatter}) {
      Calls calls = is_sum ? pair(kind, x, y) : pair(kind, m, n);
      for (CollectiveCall& call : calls) call.merge = merge;
      ExpectAsOnTheHost(calls);
    }
  }
  Calls mean = pair(kReduce, x, y);
  for (CollectiveCall& call : mean) call.is_mean = true;
  ExpectAsOnTheHost(mean);
  ExpectAsOnTheHost(pair(kGather, x, y));
  ExpectAsOnTheHost(pair(kGather, Tensor::Vector<bool>({true}), Tensor::Vector<bool>({false})));
  ExpectAsOnTheHost(
      pair(kReduce, Tensor::Vector<int64_t>({1, 2}), Tensor::Vector<int64_t>({5, 6})));
  ExpectAsOnTheHost(pair(kReduce, Tensor::Scalar(1.5), Tensor::Scalar(2.25)));
  ExpectAsOnTheHost(pair(kBroadcast, x, Tensor()));
  ExpectAsOnTheHost(pair(kBroadcast, Tensor(), y));
  EXPECT_EQ(std::ranges::count(library.log(), "Group 0 1"), 1) << "and kept";
}

TEST_F(CudaGroupTest, WithoutElementsNothingIsQueued) {
  Calls calls;
  for (const int card : {0, 1}) {
    calls.push_back(
        CallOn(card, CollectiveKind::kGather, *Card(card).Allocate(DType::kFloat, Shape{0, 3}), 2));
  }
  const Result<std::vector<Tensor>> results = Together(calls);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[1].shape(), (Shape{0, 3}));
  EXPECT_THAT(library.log(), IsEmpty());
}

// By an instance, as kernels come: nothing is on any stream before the last has come.
TEST_F(CudaGroupTest, TheLastMemberQueuesForAll) {
  TestStep step;
  std::vector<std::unique_ptr<TestCall>> members;
  const Calls calls = Sums({0, 1, 2}, 10);
  for (const int card : {2, 0, 1}) {
    EXPECT_THAT(library.log(), IsEmpty());
    TestCall& member = *members.emplace_back(std::make_unique<TestCall>(step));
    const auto instance = CollectiveInstance::At(step.step_resources, calls[0].keys, 0);
    (*instance)->Join({.instances = &step.step_resources}, member.context(),
                      calls[static_cast<size_t>(card)], member.done());
  }
  EXPECT_THAT(library.log(), ElementsAre("Group 0 1 2", "AllReduce 0 1 2"));
  for (size_t i = 0; i < members.size(); ++i) {
    const int card = std::vector<int>{2, 0, 1}[i];
    ASSERT_TRUE(members[i]->ended());
    ASSERT_TRUE(members[i]->Await().ok()) << members[i]->Await().ToString();
    EXPECT_TRUE(Card(card).Has(members[i]->output()));
    EXPECT_THAT(From(card, members[i]->output())->flat<float>(), ElementsAre(33));
  }
}

TEST_F(CudaGroupTest, AMemberOfTheCpuBringsAllToTheHost) {
  TestStep step;
  TestCall one(step), two(step), three(step);
  Calls calls = Sums({0, 1}, 10);
  for (CollectiveCall& call : calls) call.keys.group_size = 3;
  calls.push_back(CallOn(2, CollectiveKind::kReduce, Tensor::Vector<float>({100}), 3));
  calls.back().memory = nullptr;
  calls.back().device.type = "CPU";
  const auto instance = CollectiveInstance::At(step.step_resources, calls[0].keys, 0);
  (*instance)->Join({}, one.context(), calls[0], one.done());
  (*instance)->Join({}, two.context(), calls[2], two.done());
  (*instance)->Join({}, three.context(), calls[1], three.done());
  for (TestCall* const member : {&one, &two, &three}) {
    ASSERT_TRUE(member->ended() && member->Await().ok());
    EXPECT_THAT(member->output().flat<float>(), ElementsAre(121));
  }
  EXPECT_THAT(library.log(), IsEmpty());
}

TEST_F(CudaGroupTest, ItIsBehindWhatMakesItsValuesAndInFrontOfWhatOverwritesThem) {
  const auto full = [](float value) {
    return Tensor::Of<float>(std::vector<float>(1000, value), Shape{1000});
  };
  device = &Card(1);
  const Tensor x = On(1, full(3)), ones = On(1, full(1));
  Calls calls = {CallOn(0, CollectiveKind::kReduce, On(0, full(10)), 2)};
  for (const int late : {0, 1}) {
    fake.Hold(true, late);
    calls.resize(1);
    calls.push_back(CallOn(1, CollectiveKind::kReduce, *Twice(x), 2));
    const void* const block = calls[1].value.raw_data();
    const Result<std::vector<Tensor>> results = Together(calls);  // nobody waits
    ASSERT_TRUE(results.ok());
    calls.resize(1);
    std::vector<Tensor> next;  // until one is where the operand was: what ended is free, too
    do next.push_back(*Twice(ones));
    while (next.back().raw_data() != block && next.size() < 100);
    ASSERT_EQ(next.back().raw_data(), block);
    fake.Hold(false, late);
    for (const int card : {0, 1}) {
      EXPECT_EQ(From(card, (*results)[static_cast<size_t>(card)])->flat<float>()[999], 16);
    }
    EXPECT_EQ(From(1, next.back())->flat<float>()[999], 2);
  }
}

// Groups that share cards, and copies between them, from a thread each: whatever stands in one
// queue in front of another stands so in all.
TEST_F(CudaGroupTest, NoTwoOperationsWaitForEachOther) {
  constexpr int kRounds = 150;
  const std::vector<std::vector<int>> groups = {{0, 1}, {1, 2}, {0, 1, 2}, {0, 2}};
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (const std::vector<int>& on : groups) {
    threads.emplace_back([&, on] {
      const Calls calls = Sums(on, 10);
      float sum = 0;
      for (const int card : on) sum += 10 + static_cast<float>(card);
      Result<std::vector<Tensor>> results = Internal("not yet");
      for (int i = 0; i < kRounds; ++i) results = Together(calls);
      for (size_t i = 0; i < on.size(); ++i) {
        const Result<Tensor> back = From(on[i], (*results)[i]);
        right += back.ok() && back->flat<float>()[0] == sum ? 1 : 0;
      }
    });
  }
  for (const int from : {0, 1, 2}) {
    threads.emplace_back([&, from] {
      const Tensor x = On(from, Tensor::Vector<float>({3}));
      Result<Tensor> copy = Internal("not yet");
      for (int i = 0; i < kRounds; ++i) copy = Card((from + 1) % 3).CopyFromPeer(x);
      const Result<Tensor> back = From((from + 1) % 3, *copy);
      right += back.ok() && back->flat<float>()[0] == 3 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 2 + 2 + 3 + 2 + 3);
}

TEST_F(CudaGroupTest, EveryCallMayFail) {
  for (const char* function :
       {"ncclCommInitAll", "ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"}) {
    SCOPED_TRACE(function);
    OpenCards(2);
    const Calls calls = Sums({0, 1}, 10);
    library.Fail(function, 2);
    const Status status = Together(calls).status();
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("NCCL: "));
    EXPECT_THAT(status.message(),
                HasSubstr("on device 'Fake card': unhandled system error (run with "
                          "NCCL_DEBUG=INFO for details) (2)"));
    EXPECT_EQ(library.live(), std::string_view(function) == "ncclGroupStart" ? 2 : 0);
  }
}

TEST_F(CudaGroupTest, NoMemoryForAResultIsEverybodysErrorBeforeAnythingIsQueued) {
  Calls calls;
  for (const int card : {0, 1}) {
    calls.push_back(CallOn(card, CollectiveKind::kGather,
                           *Card(card).Allocate(DType::kFloat, Shape{4 << 20}), 2));
  }
  fake.Fail("cuMemAlloc_v2", 2, true);
  EXPECT_EQ(Together(calls).status().code(), Code::kResourceExhausted);
  EXPECT_THAT(library.log(), IsEmpty());
  fake.Fail("cuMemAlloc_v2", 0);
  EXPECT_TRUE(Together(calls).ok());
}

TEST_F(CudaGroupTest, WhatFailedBeforeItWasQueuedIsTriedAnew) {
  const Calls calls = Sums({0, 1}, 10);
  library.Fail("ncclCommInitAll", 2);
  EXPECT_FALSE(Together(calls).ok());
  const Result<std::vector<Tensor>> results = Together(calls);
  ASSERT_TRUE(results.ok()) << results.status().ToString();
  EXPECT_THAT(From(0, (*results)[0])->flat<float>(), ElementsAre(21));
}

// The others' streams would wait for it for ever.
TEST_F(CudaGroupTest, ACardThatFaultsFreesTheOthersAndIsNamed) {
  for (const int lost : {0, 1}) {
    OpenCards(2);
    const Calls calls = Sums({0, 1}, 10);
    fake.Hold(true, lost);
    const Result<std::vector<Tensor>> results = Together(calls);
    ASSERT_TRUE(results.ok());
    fake.Break(700, lost);
    fake.Hold(false, lost);
    const Status status = From(1 - lost, (*results)[static_cast<size_t>(1 - lost)]).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(StrCat("/device:GPU:", lost, " is lost")));
    EXPECT_EQ(library.aborts(), 2);
    EXPECT_EQ(Together(calls).status().code(), Code::kUnavailable);
    fake.Mend();
    fake.SetCards(2);
  }
}

// That nobody knew of when the operation came.
TEST_F(CudaGroupTest, ACardThatHadFaultedIsNamedAndNotNccl) {
  OpenCards(2);
  const Calls calls = Sums({0, 1}, 10);
  fake.Break(700, 1);
  library.Fail("ncclGroupEnd", 1);
  const Status status = Together(calls).status();
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("/device:GPU:1 is lost"));
}

TEST_F(CudaGroupTest, WhatNcclSaysLaterIsTheErrorOfAll) {
  const Calls calls = Sums({0, 1}, 10);
  fake.Hold(true, 1);
  const Result<std::vector<Tensor>> results = Together(calls);
  ASSERT_TRUE(results.ok());
  library.SetAsyncError(6);
  const Status of_first = From(0, (*results)[0]).status();
  fake.Hold(false, 1);
  for (const Status& status : {of_first, From(1, (*results)[1]).status()}) {
    EXPECT_EQ(status.code(), Code::kInternal) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("NCCL: queued work on device 'Fake card': remote "
                                            "process exited (6)"));
  }
  EXPECT_FALSE(WhyLost(Card(0)).ok());
  EXPECT_EQ(library.live(), 0);
}

TEST_F(CudaGroupTest, KernelsAreThereWhereCardsComputeTogether) {
  struct Waits : AsyncKernel {
    void ComputeAsync(Context&, Done done) override { std::move(done)(OkStatus()); }
  };
  KernelRegistry kernels;
  kernels.Add<Waits>("CollectiveReduce", kCpu, {{"T", DType::kFloat}});
  kernels.Add<Waits>("CollectiveBcastRecvV2", kCpu, {{"T", DType::kFloat}});
  const auto there = [&] {
    std::vector<std::vector<std::string>> host;
    for (const KernelEntry* entry : kernels.Entries()) {
      if (entry->device_type == kGpu && entry->op.starts_with("Collective")) {
        host.push_back(entry->host_memory);
      }
    }
    return host;
  };
  cards = Internal("closed");
  for (const int count : {1, 2, 2}) {
    fake.SetCards(count);
    const auto made = MakeCudaDevices({.job = "localhost",
                                       .device_count = {{"GPU", count}},
                                       .host_allocator = MakeCpuAllocator(kLimit),
                                       .ops = AllRegistries().ops.get(),
                                       .kernels = &kernels});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    if (count == 1) {
      EXPECT_THAT(there(), IsEmpty());
    }
  }
  EXPECT_THAT(there(), ElementsAre(ElementsAre("group_size", "group_key", "instance_key", "shape"),
                                   IsEmpty()));
}

}  // namespace
}  // namespace thalweg
