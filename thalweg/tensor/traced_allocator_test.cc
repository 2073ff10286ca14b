// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/traced_allocator.h"

#include <gtest/gtest.h>

#include <thread>

#include "thalweg/tensor/block_bytes.h"
#include "thalweg/tensor/find_charged.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

constexpr int64_t kStillLives = TracedAllocation::kStillLives;

int64_t Now(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(clock.Now().time_since_epoch())
      .count();
}

TEST(TracedAllocatorTest, WhatIsMadeForWhichNodeAndWhenItGoes) {
  const AllocatorPtr host = MakeCpuAllocator(1 << 20);
  FakeClock clock;
  const TickClock ticks(clock);
  const auto traced = TracedAllocator::Make(*host, ticks);
  const int64_t begin = Now(clock);
  Tensor kept;
  {
    const TracedNode node(7);
    Tensor gone = *Tensor::Allocate(*traced, DType::kFloat, Shape{1000});
    clock.Advance(std::chrono::nanoseconds(5));
    const TracedNode within(8);
    kept = *Tensor::Allocate(*traced, DType::kFloat, Shape{2000});
    clock.Advance(std::chrono::nanoseconds(5));
  }
  EXPECT_EQ(TracedNode::Current(), -1);
  std::thread([&] { EXPECT_NE(traced->Allocate(600), nullptr); }).join();
  const std::vector<TracedAllocation> made = traced->Take();
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0].node, 7);
  EXPECT_EQ(made[0].bytes, 4096);  // rounded up
  EXPECT_EQ(made[0].start_nanos, begin);
  EXPECT_EQ(made[0].end_nanos, begin + 10);
  EXPECT_EQ(made[1].node, 8);
  EXPECT_EQ(made[1].start_nanos, begin + 5);
  EXPECT_EQ(made[1].end_nanos, kStillLives);
  EXPECT_EQ(made[1].block, BlockOf(kept).address);
  EXPECT_EQ(made[1].in_use, made[0].bytes + made[1].bytes);
  EXPECT_EQ(made[2].node, -1);
  EXPECT_EQ(host->Stats().bytes_in_use, made[1].bytes + made[2].bytes);
  traced->Deallocate(const_cast<void*>(made[2].block), 600);
}

TEST(TracedAllocatorTest, BlocksOutliveTheTraceAndTheAllocator) {
  AllocatorPtr host = MakeCpuAllocator(1 << 20);
  Tensor kept;
  {
    FakeClock clock;
    const TickClock ticks(clock);
    const auto traced = TracedAllocator::Make(*host, ticks);
    kept = *Tensor::Allocate(*traced, DType::kFloat, Shape{2000});
    EXPECT_EQ(traced->Take().size(), 1u);
    const Tensor later = *Tensor::Allocate(*traced, DType::kFloat, Shape{2000});
    EXPECT_TRUE(traced->Take().empty());
  }
  host.reset();
  std::fill_n(kept.mutable_data<float>(), 2000, 1.0f);
  kept = Tensor();
}

// What lives stays known however old it is; of the rest that goes first which came back first.
TEST(TracedAllocatorTest, ABoundedOneForgetsTheOldest) {
  const AllocatorPtr host = MakeCpuAllocator(1 << 20);
  FakeClock clock;
  const TickClock ticks(clock);
  const auto traced = TracedAllocator::Make(*host, ticks);
  constexpr int64_t kMost = 8;
  traced->KeepNewest(kMost * static_cast<int64_t>(sizeof(TracedAllocation)));
  EXPECT_EQ(traced->ForgottenUntil(), TracedAllocator::kNothing);
  const int64_t begin = Now(clock);
  void* const early = traced->Allocate(64);
  void* const kept = traced->Allocate(64);
  for (int i = 0; i < 100; ++i) {
    clock.Advance(std::chrono::nanoseconds(1));
    void* const block = traced->Allocate(64);
    if (i == 98) traced->Deallocate(early, 64);
    traced->Deallocate(block, 64);
  }
  const int64_t forgotten = traced->ForgottenUntil() - begin;
  EXPECT_GE(forgotten, 100 - kMost);
  EXPECT_LT(forgotten, 98);
  const std::vector<TracedAllocation> made = traced->Take();
  ASSERT_LE(made.size(), static_cast<size_t>(kMost + 2));
  ASSERT_GE(made.size(), 4u);
  EXPECT_EQ(made[0].block, early);
  EXPECT_EQ(made[0].end_nanos, begin + 99);
  EXPECT_EQ(made[1].block, kept);
  EXPECT_EQ(made[1].end_nanos, kStillLives);
  for (size_t i = 2; i < made.size(); ++i) EXPECT_GT(made[i].end_nanos, begin + forgotten);
  EXPECT_EQ(made.back().end_nanos, begin + 100);
  traced->Deallocate(kept, 64);
}

// Each time it forgets it looks at all that live.
TEST(TracedAllocatorTest, ATinyBoundIsNoSearchForEachBlock) {
  const AllocatorPtr host = MakeCpuAllocator(1 << 20);
  const SystemClock clock;
  const TickClock ticks(clock);
  const auto traced = TracedAllocator::Make(*host, ticks);
  traced->KeepNewest(1);
  constexpr int kLive = 100;
  std::vector<void*> live;
  for (int i = 0; i < kLive; ++i) live.push_back(traced->Allocate(64));
  for (int i = 0; i < kLive; ++i) traced->Deallocate(traced->Allocate(64), 64);
  EXPECT_EQ(traced->ForgottenUntil(), TracedAllocator::kNothing);
  for (int i = 0; i < 10 * kLive; ++i) traced->Deallocate(traced->Allocate(64), 64);
  EXPECT_NE(traced->ForgottenUntil(), TracedAllocator::kNothing);
  EXPECT_LE(traced->Take().size(), static_cast<size_t>(2 * kLive + 1));
  for (void* const block : live) traced->Deallocate(block, 64);
}

TEST(TracedAllocatorTest, LimitAndChargesAreTheOthers) {
  const AllocatorPtr host = MakeCpuAllocator(1 << 20);
  const SystemClock clock;
  const TickClock ticks(clock);
  const auto traced = TracedAllocator::Make(*host, ticks);
  EXPECT_EQ(traced->Allocate(2 << 20), nullptr);
  EXPECT_EQ(FindCharged(*traced), FindCharged(*host));
  HeapCharge charge;
  ASSERT_TRUE(charge.Set(*traced, 1000).ok());
  EXPECT_EQ(host->Stats().bytes_in_use, 1000);
  EXPECT_EQ(traced->Stats().limit, 1 << 20);
  EXPECT_TRUE(traced->Take().empty());
}

TEST(TracedAllocatorTest, ABlockIsTheSameThroughEveryView) {
  const AllocatorPtr host = MakeCpuAllocator(1 << 20);
  const Tensor whole = *Tensor::Allocate(*host, DType::kFloat, Shape{100, 10});
  const TensorBlock block = BlockOf(whole.Rows(50, 60));
  EXPECT_EQ(block.address, whole.raw_data());
  EXPECT_EQ(block.bytes, 4000u);
  EXPECT_EQ(block.allocator, host.get());
  EXPECT_EQ(BlockOf(Tensor::Scalar(1)).address, nullptr);
  EXPECT_EQ(BlockOf(Tensor()).address, nullptr);
  EXPECT_EQ(BlockOf(Tensor::Vector<float>({1, 2, 3})).allocator, nullptr);
}

}  // namespace
}  // namespace thalweg
