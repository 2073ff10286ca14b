// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/call_pace.h"

#include <gtest/gtest.h>

#include <atomic>

#include "thalweg/data/mapping.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using std::chrono::microseconds;

size_t CallsAfter(CallPace::Time time, int64_t bytes) {
  CallPace pace;
  pace.Took(time, bytes);
  return pace.CallsOfTask();
}

TEST(CallPaceTest, ATaskIsOfAsManyCallsAsTakeItsTime) {
  EXPECT_EQ(CallPace().CallsOfTask(), 1u);
  EXPECT_EQ(CallsAfter(CallPace::Time(0), 0), 32u);
  EXPECT_EQ(CallsAfter(microseconds(1), 8), 32u);
  EXPECT_EQ(CallsAfter(microseconds(5), 8), 10u);
  EXPECT_EQ(CallsAfter(microseconds(26), 8), 1u);
  EXPECT_EQ(CallsAfter(std::chrono::seconds(1), 8), 1u);
}

TEST(CallPaceTest, ResultsOfATaskAreSmall) {
  EXPECT_EQ(CallsAfter(microseconds(1), 32 * 1024), 2u);
  EXPECT_EQ(CallsAfter(microseconds(1), int64_t{1} << 40), 1u);
}

TEST(CallPaceTest, FollowsWhatCallsTake) {
  CallPace pace;
  for (int i = 0; i < 10; ++i) pace.Took(microseconds(1), 8);
  EXPECT_EQ(pace.CallsOfTask(), 32u);
  pace.Took(std::chrono::milliseconds(1), 8);
  EXPECT_EQ(pace.CallsOfTask(), 1u);
  for (int i = 0; i < 40; ++i) pace.Took(microseconds(1), 8);
  EXPECT_EQ(pace.CallsOfTask(), 32u);
}

constexpr int64_t kElements = 5000;

TEST(ShortCallsTest, ComeInOrderAndNoMoreAtOnceThanMay) {
  for (const int64_t calls : {2, 3}) {
    for (const bool deterministic : {true, false}) {
      std::atomic<int64_t> at_once{0}, most{0}, sum{0};
      const DatasetPtr mapped = MapDataset(
          RangeOf(kElements), IntFunction([&](int64_t x) {
            const int64_t now = ++at_once;
            for (int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);)
              continue;
            sum += x;
            --at_once;
            return x * 3;
          }),
          IntSpec(), {.calls = calls, .deterministic = deterministic});
      Puller puller(mapped, 4);
      std::vector<int64_t> found;
      for (const Element& element : puller.Rest(kElements + 1)) {
        found.push_back(element[0].scalar<int64_t>());
      }
      if (!deterministic) std::sort(found.begin(), found.end());
      ASSERT_EQ(found.size(), static_cast<size_t>(kElements));
      for (int64_t i = 0; i < kElements; ++i) ASSERT_EQ(found[static_cast<size_t>(i)], i * 3);
      EXPECT_EQ(sum, kElements * (kElements - 1) / 2) << "each call is made once";
      EXPECT_LE(most, calls);
    }
  }
}

TEST(ShortCallsTest, AnErrorIsThatOfItsElement) {
  const DatasetPtr mapped =
      MapDataset(RangeOf(kElements),
                 FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
                   if (args[0].scalar<int64_t>() % 100 == 77)
                     return InvalidArgument("seventy-seven");
                   return std::vector<Tensor>{args[0]};
                 }),
                 IntSpec(), {.calls = 2});
  Puller puller(mapped, 2);
  for (int64_t i = 0; i < kElements; ++i) {
    const Result<std::optional<Element>> next = puller.Next();
    ASSERT_EQ(next.ok(), i % 100 != 77) << i;
    if (!next.ok()) continue;
    ASSERT_EQ((**next)[0].scalar<int64_t>(), i);
  }
}

// What is under way is saved too, wherever the pass stands.
TEST(ShortCallsTest, APassGoesOnWhereItWasSaved) {
  const DatasetPtr mapped = MapDataset(RangeOf(300), IntFunction([](int64_t x) { return x + 1; }),
                                       IntSpec(), {.calls = 2});
  Puller puller(mapped, 2);
  for (int64_t i = 0; i < 300; ++i) {
    Result<std::vector<Tensor>> state = puller.Save();
    ASSERT_TRUE(state.ok());
    if (i % 37 == 0) {
      Puller other(mapped, 2);
      ASSERT_TRUE(other.Restore(*std::move(state)).ok());
      const std::vector<Element> rest = other.Rest();
      ASSERT_EQ(rest.size(), static_cast<size_t>(300 - i));
      EXPECT_EQ(rest.front()[0].scalar<int64_t>(), i + 1);
      EXPECT_EQ(rest.back()[0].scalar<int64_t>(), 300);
    }
    const Result<std::optional<Element>> next = puller.Next();
    ASSERT_TRUE(next.ok());
    ASSERT_EQ((**next)[0].scalar<int64_t>(), i + 1);
  }
}

// A pass that ends while calls are under way waits for none that nobody has begun.
TEST(ShortCallsTest, APassMayEndAtAnyTime) {
  for (size_t taken = 0; taken < 200; taken += 13) {
    const DatasetPtr mapped = MapDataset(
        RangeOf(kElements), IntFunction([](int64_t x) { return x; }), IntSpec(), {.calls = 3});
    Puller puller(mapped, 2);
    EXPECT_EQ(puller.Rest(taken).size(), taken);
  }
}

}  // namespace
}  // namespace thalweg
