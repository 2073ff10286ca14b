// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;

TEST(DatasetCountingTest, ChoosesElementsByNumber) {
  EXPECT_EQ(Elements(Made("TakeDataset", {Range(5), Int(2)}, IntAttrs())), (Ints{0, 1}));
  EXPECT_EQ(Elements(Made("SkipDataset", {Range(5), Int(3)}, IntAttrs())), (Ints{3, 4}));
  EXPECT_EQ(Elements(Made("SkipDataset", {Range(5), Int(-1)}, IntAttrs())), Ints{});
  EXPECT_EQ(Elements(Made("RepeatDataset", {Range(2), Int(2)}, IntAttrs())), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(Elements(Made("ShardDataset", {Range(7), Int(3), Int(1)}, IntAttrs())), (Ints{1, 4}));
  EXPECT_EQ(Elements(Made("ConcatenateDataset", {Range(2), Range(1)}, IntAttrs())),
            (Ints{0, 1, 0}));
}

TEST(DatasetCountingTest, RefusesWhatIsNoDatasetOrNumber) {
  EXPECT_EQ(Refused("TakeDataset", {Made("OptionalNone", {}, {}), Int(1)}, IntAttrs()),
            "expected a scalar variant that holds a dataset, got variant[]");
  EXPECT_EQ(Refused("TakeDataset", {Range(1), Tensor::Vector<int64_t>({1})}, IntAttrs()),
            "count must be a scalar, got [1]");
  EXPECT_EQ(Refused("ShardDataset", {Range(7), Int(0), Int(0)}, IntAttrs()),
            "Number of shards must be greater than zero (currently num_shards = 0).");
  EXPECT_EQ(Refused("ShardDataset", {Range(7), Int(3), Int(3)}, IntAttrs()),
            "Index must be between 0 and 2 (currently index = 3).");
}

}  // namespace
}  // namespace thalweg
