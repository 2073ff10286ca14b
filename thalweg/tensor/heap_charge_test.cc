// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/heap_charge.h"

#include <gtest/gtest.h>

#include "thalweg/tensor/find_charged.h"

namespace thalweg {
namespace {

// Counts blocks only.
class PlainAllocator : public Allocator {
 public:
  void* Allocate(size_t) override { return nullptr; }
  void Deallocate(void*, size_t) override {}
  AllocatorStats Stats() const override { return {}; }
  void Trim() override {}
};

// Counts what is charged and nothing else.
class CountingAllocator final : public ChargedAllocator {
 public:
  void* Allocate(size_t) override { return nullptr; }
  void Deallocate(void*, size_t) override {}
  AllocatorStats Stats() const override { return {}; }
  void Trim() override {}
  bool Charge(size_t bytes) override {
    charged += bytes;
    return true;
  }
  void Discharge(size_t bytes) override { charged -= bytes; }

  size_t charged = 0;
};

TEST(HeapChargeTest, WhoeverCountsIsFound) {
  const AllocatorPtr host = MakeCpuAllocator();
  EXPECT_EQ(FindCharged(*host), dynamic_cast<ChargedAllocator*>(host.get()));
  CountingAllocator counting;
  EXPECT_EQ(FindCharged(counting), &counting);
  PlainAllocator plain;
  EXPECT_EQ(FindCharged(plain), nullptr);
}

TEST(HeapChargeTest, AChargeIsCountedWhileItIsHeld) {
  const AllocatorPtr host = MakeCpuAllocator();
  CountingAllocator counting;
  PlainAllocator plain;
  {
    HeapCharge on_host, on_counting, on_plain;
    EXPECT_TRUE(on_host.Set(*host, 1000).ok());
    EXPECT_TRUE(on_counting.Set(counting, 1000).ok());
    EXPECT_TRUE(on_counting.Set(counting, 300).ok());
    EXPECT_TRUE(on_plain.Set(plain, 1000).ok());
    EXPECT_EQ(host->Stats().bytes_in_use, 1000);
    EXPECT_EQ(counting.charged, 300u);
    EXPECT_EQ(on_plain.bytes(), 0u);
  }
  EXPECT_EQ(host->Stats().bytes_in_use, 0);
  EXPECT_EQ(counting.charged, 0u);
}

}  // namespace
}  // namespace thalweg
