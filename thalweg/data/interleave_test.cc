// SPDX-License-Identifier: Apache-2.0
// Interleaves whose members make elements in the background.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "thalweg/data/mapping.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using Lines = std::vector<std::string>;

// The first member answers last; in order it is waited for, else passed over.
TEST(InterleaveTest, LateMembersArePassedOverWhereOrderIsOpen) {
  auto others = std::make_unique<ThreadPool>(ThreadPool::Options{.threads = 2});
  std::promise<void> goes_on;
  std::shared_future<void> gate = goes_on.get_future().share();
  const auto late = IntFunction(
      [gate](int64_t x) {
        if (x == 0) gate.wait();
        return x;
      },
      others.get());
  const auto member = FunctionOf([&](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    const int64_t n = args[0].scalar<int64_t>();
    ASSIGN_OR_RETURN(DatasetPtr numbers, RangeDataset(n * 10, n * 10 + 3, 1, IntSpec()));
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(MapDataset(std::move(numbers), late, IntSpec(), {})));
    return std::vector<Tensor>{std::move(tensor)};
  });
  const DatasetPtr open =
      *InterleaveDataset(RangeOf(3), member, IntSpec(), {.cycle_length = 3, .buffer = 2});
  Puller puller(OptionsDataset(open, {.deterministic = false}), 2);
  std::vector<std::string> first = Texts(puller.Rest(6));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, (Lines{"10", "11", "12", "20", "21", "22"}));
  goes_on.set_value();
  EXPECT_EQ(Texts(puller.Rest()), (Lines{"0", "1", "2"}));
  Puller with_threads(open, 2), without(open, 0);
  EXPECT_EQ(Texts(with_threads.Rest()), Texts(without.Rest()));
  others.reset();  // before the threads that it wakes tasks on
}

// The first element of a member is not made by who asks while another member has one.
TEST(InterleaveTest, NobodyMakesALateElementWhereOrderIsOpen) {
  std::promise<void> goes_on;
  std::shared_future<void> gate = goes_on.get_future().share();
  const auto late = IntFunction([gate](int64_t x) {
    if (x == 0) gate.wait_for(std::chrono::seconds(20));
    return x;
  });
  const auto member = FunctionOf([&](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    const int64_t n = args[0].scalar<int64_t>();
    ASSIGN_OR_RETURN(DatasetPtr numbers, RangeDataset(n * 10, n * 10 + 2, 1, IntSpec()));
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(MapDataset(std::move(numbers), late, IntSpec(), {})));
    return std::vector<Tensor>{std::move(tensor)};
  });
  const InterleaveOptions open = {.cycle_length = 3, .buffer = 2, .deterministic = false};
  Puller puller(*InterleaveDataset(RangeOf(3), member, IntSpec(), open), 2);
  Lines first = Texts(puller.Rest(4));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, (Lines{"10", "11", "20", "21"}));
  goes_on.set_value();
  EXPECT_EQ(Texts(puller.Rest()), (Lines{"0", "1"}));
}

// Where all others are late, what takes the place of a member that ends is asked.
TEST(InterleaveTest, TheNextMemberComesWhileAllOthersAreLate) {
  auto others = std::make_unique<ThreadPool>(ThreadPool::Options{.threads = 2});
  std::promise<void> goes_on;
  std::shared_future<void> gate = goes_on.get_future().share();
  const auto late = IntFunction(
      [gate](int64_t x) {
        gate.wait();
        return x;
      },
      others.get());
  const auto member = FunctionOf([&](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    const int64_t n = args[0].scalar<int64_t>();
    const int64_t count = n == 1 ? 0 : 1;
    ASSIGN_OR_RETURN(DatasetPtr numbers, RangeDataset(n * 10, n * 10 + count, 1, IntSpec()));
    if (n == 0 || n == 2) numbers = MapDataset(std::move(numbers), late, IntSpec(), {});
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(std::move(numbers)));
    return std::vector<Tensor>{std::move(tensor)};
  });
  const InterleaveOptions open = {.cycle_length = 3, .deterministic = false};
  Puller puller(*InterleaveDataset(RangeOf(4), member, IntSpec(), open), 0);
  Element first;
  const auto polled = puller.iteration().TryDo(
      nullptr, [&first](const Poller& poller, Stage& stage) { return stage.Next(poller, &first); });
  goes_on.set_value();
  ASSERT_TRUE(polled.has_value() && polled->ok());
  EXPECT_EQ(Text(first), "30");
  Lines rest = Texts(puller.Rest());
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest, (Lines{"0", "20"}));
  others.reset();
}

// Members of one element each: all of a cycle are made at once, in the input's order.
TEST(InterleaveTest, MembersOfAParallelInterleaveBeginBeforeTheirTurn) {
  std::promise<void> both;
  std::atomic<int> begun = 0;
  std::shared_future<void> gate = both.get_future().share();
  const auto meet = IntFunction([&](int64_t x) {
    if (++begun == 2) both.set_value();
    gate.wait_for(std::chrono::seconds(20));
    return x;
  });
  const auto member = FunctionOf([&](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(MapDataset(OneElementDataset({args[0]}, IntSpec()),
                                                        meet, IntSpec(), {})));
    return std::vector<Tensor>{std::move(tensor)};
  });
  Puller puller(*InterleaveDataset(RangeOf(6), member, IntSpec(), {.cycle_length = 3, .buffer = 1}),
                2);
  EXPECT_EQ(Texts(puller.Rest()), (Lines{"0", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(gate.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

// Those that cannot be opened say so in their turn.
TEST(InterleaveTest, AnErrorOfAMemberComesInItsTurn) {
  const auto member = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    const int64_t n = args[0].scalar<int64_t>();
    if (n == 2) return InvalidArgument("two");
    ASSIGN_OR_RETURN(DatasetPtr numbers, RangeDataset(n * 10, n * 10 + 2, 1, IntSpec()));
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(std::move(numbers)));
    return std::vector<Tensor>{std::move(tensor)};
  });
  for (const int threads : {0, 2}) {
    Puller puller(
        *InterleaveDataset(RangeOf(5), member, IntSpec(), {.cycle_length = 3, .buffer = 2}),
        threads);
    EXPECT_EQ(Texts(puller.Rest(2)), (Lines{"0", "10"}));
    EXPECT_EQ(puller.Next().status().message(), "two");
    EXPECT_EQ(Texts(puller.Rest()), (Lines{"30", "1", "11", "31", "40", "41"}));
  }
}

}  // namespace
}  // namespace thalweg
