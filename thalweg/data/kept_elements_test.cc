// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/kept_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "thalweg/data/batching.h"
#include "thalweg/data/cache.h"
#include "thalweg/data/choosing.h"
#include "thalweg/data/counting.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/prefetch.h"
#include "thalweg/data/shuffle.h"
#include "thalweg/data/test_groups.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using testing::HasSubstr;

constexpr int64_t kLimit = int64_t{4} << 20;
constexpr int64_t kNumbers = 12500;  // 100 kB

ElementSpec LargeVectors() { return {{DType::kInt64}, {PartialShape{kNumbers}}}; }

// Elements in memory that no allocator counts: the n-th is full of n.
DatasetPtr Large(int64_t n) {
  const auto fill = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    ASSIGN_OR_RETURN(Tensor made, Tensor::AllocateHost(DType::kInt64, Shape{kNumbers}));
    std::fill_n(made.mutable_data<int64_t>(), kNumbers, args[0].scalar<int64_t>());
    return std::vector<Tensor>{std::move(made)};
  });
  return MapDataset(RangeOf(n), fill, LargeVectors(), {});
}

ElementFunctionPtr KeyOfNone() {
  return FunctionOf([](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{Tensor::Scalar(int64_t{7})};
  });
}

DatasetPtr ShuffleOf(DatasetPtr input, int64_t buffer) {
  return *ShuffleDataset(
      std::move(input),
      {.buffer = buffer,
       .seeds = RefPtr<ShuffleSeeds>::Adopt(std::make_unique<ShuffleSeeds>(1, 2, true).release())});
}

DatasetPtr CacheOf(DatasetPtr input) {
  return CacheDataset(std::move(input),
                      RefPtr<MemoryCache>::Adopt(std::make_unique<MemoryCache>().release()));
}

// Many keepers of little count for little: 10,000 windows of a few bytes are no gigabyte.
TEST(SteppedChargeTest, ManySmallOnesCountForWhatTheyHold) {
  const AllocatorPtr allocator = MakeCpuAllocator(kLimit);
  std::vector<SteppedCharge> charges(10'000);
  for (SteppedCharge& charge : charges) ASSERT_TRUE(charge.Add(*allocator, 100).ok());
  EXPECT_FALSE(charges[0].Add(*allocator, kLimit).ok());
  for (SteppedCharge& charge : charges) charge.Remove(100);
  EXPECT_TRUE(charges[0].Add(*allocator, kLimit / 2).ok());
}

// Each keeps as many of `n` large elements as it can.
std::vector<std::pair<const char*, DatasetPtr>> Keepers(int64_t n) {
  const auto large = Large(n);
  const auto same = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{args[1]};
  });
  const auto size = FunctionOf([](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{Tensor::Scalar(int64_t{1000})};
  });
  const auto texts = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{
        Tensor::Scalar(std::string(100000, static_cast<char>('0' + args[0].scalar<int64_t>())))};
  });
  return {
      {"Shuffle", ShuffleOf(large, 1000)},
      {"Cache", CacheOf(large)},
      {"Batch", *BatchDataset(large, 1000, {}, {{DType::kInt64}, {PartialShape{-1, kNumbers}}})},
      {"Window", *WindowDataset(large, 1000, 1, 1, false, {{DType::kVariant}, {PartialShape()}})},
      {"GroupByWindow",
       GroupByWindowDataset(large, {.key = KeyOfNone(), .size = size, .reduce = same},
                            LargeVectors())},
      {"Unique", *UniqueDataset(MapDataset(RangeOf(n), texts,
                                           {{DType::kString}, {PartialShape(Shape())}}, {}))},
  };
}

TEST(KeptElementsTest, CountsWhatNoAllocatorCounts) {
  const AllocatorPtr allocator = MakeCpuAllocator(kLimit);
  const auto in_use = [&] { return allocator->Stats().bytes_in_use; };
  KeptElements kept("Shuffle");
  const Tensor shared = *Tensor::AllocateHost(DType::kInt64, Shape{kNumbers});
  ASSERT_TRUE(kept.Push(*allocator, {shared}).ok());
  EXPECT_LT(in_use(), 20000);  // it is the memory of who holds it, too
  Element own(1);
  own[0] = *Tensor::AllocateHost(DType::kInt64, Shape{kNumbers});
  ASSERT_TRUE(kept.Push(*allocator, std::move(own)).ok());
  EXPECT_GE(in_use(), 100000);
  EXPECT_LT(in_use(), 140000);
  ASSERT_TRUE(kept.Push(*allocator, {Tensor::Scalar(std::string(50000, 'a'))}).ok());
  EXPECT_GE(in_use(), 150000);
  Element taken;
  kept.Take(1, &taken);
  taken.clear();
  EXPECT_LT(in_use(), 90000);
  kept.Clear();
  EXPECT_EQ(in_use(), 0);
}

// What each holds, in the order in which it would come.
std::string Kept(const KeptElements& kept) {
  std::string text;
  for (size_t i = 0; i < kept.size(); ++i) {
    text += StrCat(i == 0 ? "" : " ", kept[i][0].scalar<int64_t>());
  }
  return text;
}

TEST(KeptElementsTest, TheFirstTakesThePlaceOfWhatIsTaken) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  KeptElements kept("Shuffle");
  Element element;
  int64_t next = 0;
  const auto push = [&](int n) {
    for (int i = 0; i < n; ++i) {
      element = {Tensor::Scalar(next++), Tensor::Scalar(std::string("a component"))};
      ASSERT_TRUE(kept.Push(*allocator, std::move(element)).ok());
      EXPECT_TRUE(element.empty());  // NOLINT: its room is left
    }
  };
  push(5);
  kept.Take(3, &element);
  EXPECT_EQ(element[0].scalar<int64_t>(), 3);
  EXPECT_EQ(Kept(kept), "1 2 0 4");
  kept.Pop();
  EXPECT_EQ(Kept(kept), "2 0 4");
  push(14);  // around the end of the ring, and beyond it
  EXPECT_EQ(Kept(kept), "2 0 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
  EXPECT_EQ(kept[16][1].scalar<std::string>(), "a component");
  Status other = kept.Push(*allocator, {Tensor::Scalar(int64_t{1})});
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(kept.size(), 17u);
  kept.Clear();
  EXPECT_TRUE(kept.Push(*allocator, {Tensor::Scalar(int64_t{1})}).ok());
  EXPECT_EQ(Kept(kept), "1");
}

TEST(KeptElementsTest, SmallElementsCountToo) {
  const AllocatorPtr allocator = MakeCpuAllocator(kLimit);
  KeptElements kept("Shuffle");
  Status status;
  while (status.ok() && kept.size() < 200000) {
    status = kept.Push(*allocator, {Tensor::Scalar(int64_t{1})});
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_GT(kept.size(), 30000u);
  while (!kept.empty()) kept.Pop();
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

TEST(KeptElementsTest, StagesThatKeepTooMuchSaySo) {
  for (const int threads : {0, 2}) {
    for (const auto& [stage, dataset] : Keepers(60)) {
      SCOPED_TRACE(stage);
      Puller puller(dataset, threads, kLimit);
      Result<std::optional<Element>> next = puller.Next();
      for (int i = 0; i < 60 && next.ok() && next->has_value(); ++i) next = puller.Next();
      EXPECT_EQ(next.status().code(), Code::kResourceExhausted);
      EXPECT_THAT(std::string(next.status().message()), HasSubstr(StrCat("a ", stage, " stage")));
      EXPECT_THAT(std::string(next.status().message()), HasSubstr("of 4194304 in use"));
    }
  }
}

// To its end, in its middle, after an error, saved and restored.
TEST(KeptElementsTest, NothingStaysChargedWhenAPassIsGone) {
  for (const auto& [stage, dataset] : Keepers(20)) {
    SCOPED_TRACE(stage);
    const bool cached = std::string_view(stage) == "Cache";
    Puller whole(dataset, 2, 10 * kLimit);
    (void)whole.Rest();
    EXPECT_EQ(whole.bytes_in_use() > 0, cached);
    if (cached) continue;
    Puller first(dataset, 2, 10 * kLimit);
    (void)first.Rest(1);
    const Result<std::vector<Tensor>> state = first.Save();
    ASSERT_TRUE(state.ok());
    Puller second(dataset, 2, 10 * kLimit);
    ASSERT_TRUE(second.Restore(*state).ok());
    (void)second.Rest();
    EXPECT_EQ(second.bytes_in_use(), 0);
  }
}

TEST(KeptElementsTest, APrefetchMakesNoMoreThanThereIsRoomFor) {
  for (const int64_t buffer : {int64_t{1000}, kAutoBuffer}) {
    Puller puller(PrefetchDataset(Large(200), buffer), 2, kLimit);
    int64_t count = 0;
    while (true) {
      const Result<std::optional<Element>> next = puller.Next();
      ASSERT_TRUE(next.ok()) << next.status().ToString();
      if (!next->has_value()) break;
      ASSERT_EQ((**next)[0].flat<int64_t>()[1], count++);
    }
    EXPECT_EQ(count, 200);
    EXPECT_EQ(puller.bytes_in_use(), 0);
  }
}

// A map takes no more elements that no allocator counts than there is room for, and one.
TEST(KeptElementsTest, AMapHasNoMoreUnderWayThanThereIsRoomFor) {
  std::atomic<int64_t> at_once{0}, most{0};
  const auto first = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{Tensor::Scalar(args[0].flat<int64_t>()[1])};
  });
  const DatasetPtr counted = MapDataset(
      Large(200), FunctionOf([&](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
        most = std::max<int64_t>(most, ++at_once);
        return std::vector<Tensor>{args[0]};
      }),
      LargeVectors(), {});
  const DatasetPtr mapped = MapDataset(counted, first, IntSpec(), {.calls = 1000});
  Puller puller(mapped, 2, kLimit);
  for (int64_t i = 0; i < 200; ++i) {
    const Result<std::optional<Element>> next = puller.Next();
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    ASSERT_EQ((**next)[0].scalar<int64_t>(), i);
    --at_once;
  }
  EXPECT_LE(most, kLimit / (kNumbers * 8) + 1);
  EXPECT_GT(most, 10);
  EXPECT_EQ(puller.bytes_in_use(), 0);
}

TEST(OwedChargeTest, WhatFindsNoRoomCountsOnceThereIsSome) {
  const AllocatorPtr allocator = MakeCpuAllocator(kLimit);
  const auto half = [] {
    return Element{*Tensor::AllocateHost(DType::kInt64, Shape{kLimit / 16 - 4096})};
  };
  OwedCharge charge;
  const Element first = half(), second = half(), third = half();
  const size_t one = charge.Add(*allocator, first);
  EXPECT_EQ(charge.Add(*allocator, second), one);
  EXPECT_TRUE(charge.IsPaid(*allocator));
  EXPECT_EQ(charge.Add(*allocator, third), one);
  EXPECT_FALSE(charge.IsPaid(*allocator));
  charge.Remove(one);  // of any of them: what is owed goes first
  EXPECT_TRUE(charge.IsPaid(*allocator));
  EXPECT_GT(allocator->Stats().bytes_in_use, kLimit / 2);
  const Element texts{Tensor::Scalar(std::string(kLimit, 'a'))};
  const size_t long_one = charge.Add(*allocator, texts);
  EXPECT_GT(long_one, static_cast<size_t>(kLimit));
  EXPECT_FALSE(charge.IsPaid(*allocator));
  charge.Remove(one);
  EXPECT_FALSE(charge.IsPaid(*allocator));
  charge.Remove(long_one);
  charge.Remove(one);
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace thalweg
