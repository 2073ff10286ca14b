// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/shared_allocator.h"

#include <gtest/gtest.h>

#include "thalweg/tensor/tensor.h"
#include "thalweg/tensor/zero_pages.h"

namespace thalweg {
namespace {

constexpr size_t kLarge = size_t{1} << 20;

TEST(SharedAllocator, LargeBlocksAreTheArenasSmallAndHugeOnesAreNot) {
  auto host = MakeCpuAllocator(int64_t{1} << 30);
  auto arena = ShmArena::Make(int64_t{512} << 20);
  auto allocator = SharedAllocator::Make(host, arena);
  for (const auto& [bytes, shared] : {std::pair<size_t, bool>{1000, false},
                                      {kLarge, true},
                                      {kZeroPagesFrom - 4096, true},
                                      {kZeroPagesFrom, false}}) {
    void* const block = allocator->Allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(arena->Find(block, bytes).has_value(), shared) << bytes;
    EXPECT_GE(allocator->Stats().bytes_in_use, static_cast<int64_t>(bytes));
    allocator->Deallocate(block, bytes);
    EXPECT_EQ(allocator->Stats().bytes_in_use, 0) << bytes;
  }
}

TEST(SharedAllocator, WhatTheArenaHasNoRoomForIsTheHostsWithinItsLimit) {
  auto host = MakeCpuAllocator(16 * kLarge);
  auto arena = ShmArena::Make(8 * kLarge);
  auto allocator = SharedAllocator::Make(host, arena);
  void* const first = allocator->Allocate(6 * kLarge);
  void* const second = allocator->Allocate(6 * kLarge);
  EXPECT_TRUE(arena->Find(first, kLarge).has_value());
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(arena->Find(second, kLarge).has_value());
  EXPECT_EQ(allocator->Allocate(6 * kLarge), nullptr);
  EXPECT_EQ(allocator->Allocate(~size_t{0}), nullptr);
  allocator->Deallocate(first, 6 * kLarge);
  allocator->Deallocate(second, 6 * kLarge);
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

TEST(SharedAllocator, TensorsOutliveIt) {
  auto allocator =
      SharedAllocator::Make(MakeCpuAllocator(int64_t{1} << 30), ShmArena::Make(64 * kLarge));
  Tensor shared = *Tensor::Allocate(*allocator, DType::kFloat, Shape{1 << 20});
  Tensor small = *Tensor::Allocate(*allocator, DType::kFloat, Shape{100});
  allocator.reset();
  shared.mutable_data<float>()[(1 << 20) - 1] = 3;
  small.mutable_data<float>()[99] = 4;
  EXPECT_EQ(shared.data<float>()[(1 << 20) - 1] + small.data<float>()[99], 7);
}

}  // namespace
}  // namespace thalweg
