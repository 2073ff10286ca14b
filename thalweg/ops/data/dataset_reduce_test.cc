// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

TEST(DatasetReduceTest, CountsElementsWhereThatIsKnown) {
  const auto count = [](const Tensor& dataset) {
    return Made("DatasetCardinality", {dataset}, {}).scalar<int64_t>();
  };
  EXPECT_EQ(count(Range(7)), 7);
  EXPECT_EQ(count(Made("RepeatDataset", {Range(7), Int(-1)}, IntAttrs())), -1);
  EXPECT_EQ(count(Made("UnbatchDataset", {Range(7)}, IntAttrs())), -2);
}

TEST(DatasetReduceTest, TheOnlyElement) {
  KernelCall one("DatasetToSingleElement", {Range(1)}, IntAttrs());
  ASSERT_TRUE(one.Run().ok());
  EXPECT_EQ(one.output(0).scalar<int64_t>(), 0);
  EXPECT_EQ(Refused("DatasetToSingleElement", {Range(0)}, IntAttrs()), "Dataset was empty.");
  EXPECT_EQ(Refused("DatasetToSingleElement", {Range(2)}, IntAttrs()),
            "Dataset had more than one element.");
}

}  // namespace
}  // namespace thalweg
