// SPDX-License-Identifier: Apache-2.0
// Sixty-four threads at one barrier and at one staging map: each element comes out once, with both
// of its parts, whatever is cancelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "thalweg/ops/queue/barrier.h"
#include "thalweg/ops/queue/staging_map.h"
#include "thalweg/testing/waiting_call.h"

namespace thalweg {
namespace {

constexpr int kWriters = 16;  // of each part
constexpr int kTakers = 32;
constexpr int kRounds = 60;

// Runs `writer(part, t, random)` for both parts and `taker(t, random)`, each on a thread.
template <class Writer, class Taker>
void RunCrowd(Writer writer, Taker taker) {
  std::vector<std::thread> threads;
  for (int part = 0; part < 2; ++part) {
    for (int t = 0; t < kWriters; ++t) {
      threads.emplace_back([=] {
        std::mt19937 random(static_cast<uint32_t>(part * kWriters + t));
        writer(part, t, random);
      });
    }
  }
  for (int t = 0; t < kTakers; ++t) {
    threads.emplace_back([=] {
      std::mt19937 random(static_cast<uint32_t>(1000 + t));
      taker(t, random);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The numbers that thread t of a part writes, in an order of its own.
std::vector<int32_t> NumbersOf(int t, std::mt19937& random) {
  std::vector<int32_t> numbers;
  for (int i = 0; i < kRounds; ++i) numbers.push_back(t * kRounds + i);
  std::shuffle(numbers.begin(), numbers.end(), random);
  return numbers;
}

void ExpectEachOnce(const std::vector<std::vector<int32_t>>& taken) {
  std::vector<int32_t> all;
  for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<size_t>(kWriters) * kRounds);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int32_t>(i));
}

TEST(KeyedThreadsTest, ABarrierGivesEachElementOnceAndWhole) {
  const auto barrier = RefPtr<Barrier>::Adopt(
      std::make_unique<Barrier>(
          Barrier::Spec{.name = "b", .types = {DType::kInt32, DType::kInt32}, .shapes = {{}, {}}})
          .release());
  const AllocatorPtr allocator = MakeCpuAllocator();
  std::atomic<int> writing{2 * kWriters};
  std::vector<std::vector<int32_t>> taken(kTakers);
  RunCrowd(
      [&](int part, int t, std::mt19937& random) {
        for (const int32_t number : NumbersOf(t, random)) {
          const Tensor keys = Tensor::Vector<std::string>({std::to_string(number)});
          const Tensor values = Tensor::Vector<int32_t>({part == 0 ? number : -number});
          EXPECT_TRUE(barrier->Insert(part, keys, values, *allocator).ok());
        }
        if (writing.fetch_sub(1) != 1) return;
        EXPECT_TRUE(barrier->Close(false).ok());
      },
      [&](int t, std::mt19937& random) {
        for (;;) {
          const int n = static_cast<int>(random() % 4) + 1;
          WaitingCall call(std::vector<Tensor>(4), 0);
          barrier->Join(
              std::make_unique<Barrier::Take>(call.context(), call.done(), n, random() % 2 == 0));
          if (random() % 4 == 0) call.Cancel();
          const Status status = call.Await();
          if (status.code() == Code::kOutOfRange && n == 1) return;
          if (!status.ok()) continue;
          for (int64_t i = 0; i < call.value(2).dim(0); ++i) {
            const int32_t number = call.value(2).data<int32_t>()[i];
            EXPECT_EQ(call.value(3).data<int32_t>()[i], -number);
            EXPECT_EQ(call.value(1).data<std::string>()[i], std::to_string(number));
            taken[static_cast<size_t>(t)].push_back(number);
          }
        }
      });
  ExpectEachOnce(taken);
  EXPECT_EQ(barrier->ready_size() + barrier->incomplete_size(), 0);
}

TEST(KeyedThreadsTest, AStagingMapGivesEachElementOnceAndWhole) {
  for (const bool ordered : {false, true}) {
    const auto map = RefPtr<StagingMap>::Adopt(
        std::make_unique<StagingMap>(
            StagingMap::Spec{.name = "m", .ordered = ordered, .capacity = 3})
            .release());
    const std::vector<DType> types = {DType::kInt32, DType::kInt32};
    std::vector<std::vector<int32_t>> taken(kTakers);
    RunCrowd(
        [&](int part, int t, std::mt19937& random) {
          for (const int32_t number : NumbersOf(t, random)) {
            bool there = false;
            while (!there) {
              WaitingCall call({}, 0);
              map->Join(std::make_unique<StagingMap::Put>(
                  call.context(), call.done(), number, std::vector<int64_t>{part},
                  std::vector<Tensor>{Tensor::Scalar(part == 0 ? number : -number)}, 2));
              if (random() % 4 == 0) call.Cancel();
              there = call.Await().ok();
            }
          }
        },
        [&](int t, std::mt19937& random) {
          auto& mine = taken[static_cast<size_t>(t)];
          while (mine.size() < size_t{kWriters} * kRounds / kTakers) {
            WaitingCall call(std::vector<Tensor>(3), 0);
            map->Join(std::make_unique<StagingMap::Get>(StagingMap::kTakes, call.context(),
                                                        call.done(), std::nullopt,
                                                        std::vector<int64_t>{0, 1}, types));
            if (random() % 4 == 0) call.Cancel();
            if (!call.Await().ok()) continue;
            const int32_t number = call.value(1).scalar<int32_t>();
            EXPECT_EQ(call.value(0).scalar<int64_t>(), number);
            EXPECT_EQ(call.value(2).scalar<int32_t>(), -number);
            mine.push_back(number);
          }
        });
    ExpectEachOnce(taken);
    EXPECT_EQ(map->size() + map->incomplete_size(), 0);
  }
}

}  // namespace
}  // namespace thalweg
