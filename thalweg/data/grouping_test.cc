// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/grouping.h"

#include <gtest/gtest.h>

#include "thalweg/data/choosing.h"
#include "thalweg/data/test_groups.h"

namespace thalweg {
namespace {

using Lines = std::vector<std::string>;

TEST(GroupingTest, GroupsComeWhenTheyAreWholeAndTheRestByKey) {
  EXPECT_EQ(Texts(Puller(Grouped(), 0).Rest()),
            (Lines{"0 3", "1 4", "7", "6 9", "2 5", "8", "10"}));
  EXPECT_EQ(Texts(Puller(Reduced(), 0).Rest()), (Lines{"130", "110", "180"}));
}

TEST(GroupingTest, FunctionsThatWaitHoldNoThread) {
  // Outlive the threads that wake them.
  std::vector<std::unique_ptr<Puller>> pullers;
  ThreadPool others({.threads = 1});
  for (const int threads : {0, 1, 2}) {
    for (const auto make : {Grouped, Reduced}) {
      pullers.push_back(std::make_unique<Puller>(make(&others), threads));
      EXPECT_EQ(Texts(pullers.back()->Rest()), Texts(Puller(make(nullptr), 0).Rest()));
    }
  }
}

TEST(GroupingTest, AnErrorIsThatOfItsElementOrGroup) {
  const auto same = IntFunction([](int64_t x) { return x; });
  const auto batch = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{args[1]};
  });
  Puller sizes(
      GroupByWindowDataset(RangeOf(3), {.key = same, .size = same, .reduce = batch}, IntSpec()), 0);
  EXPECT_EQ(sizes.Next().status().message(), "Window size must be greater than zero, but got 0.");
  EXPECT_EQ(Texts(sizes.Rest()), (Lines{"1", "2"}));
  const auto nothing = FunctionOf(
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> { return std::vector<Tensor>{}; });
  Puller keys(
      GroupByWindowDataset(RangeOf(1), {.key = nothing, .size = same, .reduce = batch}, IntSpec()),
      0);
  EXPECT_EQ(keys.Next().status().message(), "`key_func` must return a scalar int64.");
  EXPECT_TRUE(keys.Rest().empty());
  Puller no_dataset(
      GroupByWindowDataset(
          RangeOf(2), {.key = same, .size = IntFunction([](int64_t) { return 1; }), .reduce = same},
          IntSpec()),
      0);
  EXPECT_EQ(no_dataset.Next().status().code(), Code::kInvalidArgument);
  Puller reducer(
      GroupByReducerDataset(
          RangeOf(2), {.key = same, .init = same, .reduce = nothing, .finalize = same}, IntSpec()),
      0);
  EXPECT_EQ(reducer.Next().status().message(),
            "reduce_func must give the 1 components of the next state, got 0 values");
}

TEST(GroupingTest, ASelectorMustNameADataset) {
  const DatasetPtr numbers = *SliceDataset({Tensor::Vector<int64_t>({0, 5, -1, 1})}, IntSpec());
  Puller puller(*DirectedInterleaveDataset(numbers, {RangeOf(3), RangeOf(1)}, false, IntSpec()), 0);
  EXPECT_EQ(Text(**puller.Next()), "0");
  EXPECT_EQ(puller.Next().status().message(), "Selector index out of range: 5 >= 2");
  EXPECT_EQ(puller.Next().status().message(), "Selector index out of range: -1 >= 2");
  EXPECT_EQ(Texts(puller.Rest()), (Lines{"0"}));
}

}  // namespace
}  // namespace thalweg
