// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;

TEST(DatasetBatchingTest, BatchesHoldAllElements) {
  const Tensor keep = Tensor::Scalar(false), drop = Tensor::Scalar(true);
  EXPECT_EQ(Elements(Made("BatchDataset", {Range(5), Int(2)}, IntAttrs())), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(Elements(Made("BatchDatasetV2", {Range(5), Int(2), keep}, IntAttrs())),
            (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(Elements(Made("BatchDatasetV2", {Range(5), Int(2), drop}, IntAttrs())),
            (Ints{0, 1, 2, 3}));
}

TEST(DatasetBatchingTest, RefusesSizesThatMakeNoSense) {
  EXPECT_EQ(Refused("BatchDataset", {Range(5), Int(0)}, IntAttrs()),
            "Batch size must be greater than zero.");
  const Tensor keep = Tensor::Scalar(false);
  EXPECT_EQ(Refused("WindowDataset", {Range(5), Int(0), Int(1), Int(1), keep}, IntAttrs()),
            "Window size must be greater than zero.");
  EXPECT_EQ(Refused("WindowDataset", {Range(5), Int(2), Int(0), Int(1), keep}, IntAttrs()),
            "Window shift must be greater than zero.");
  EXPECT_EQ(Refused("WindowDataset", {Range(5), Int(2), Int(1), Int(0), keep}, IntAttrs()),
            "Window stride must be greater than zero.");
  Refused("WindowDataset", {Range(5), Int(INT64_MAX), Int(1), Int(3), keep}, IntAttrs());
  AttrMap padded = IntAttrs("Toutput_types");
  padded.Set("N", 1);
  EXPECT_EQ(Refused("PaddedBatchDataset", {Range(5), Int(2), Int(1), Int(0)}, padded),
            "All padded shapes must be vectors");
  EXPECT_EQ(Refused("PaddedBatchDataset",
                    {Range(5), Int(2), Tensor::Vector<int64_t>({}), Tensor::Vector<int64_t>({1})},
                    padded),
            "All padding values must be scalars");
}

TEST(DatasetBatchingTest, RefusesSparseBatchesThatMakeNoSense) {
  EXPECT_EQ(Refused("DenseToSparseBatchDataset", {Range(3), Int(0), Tensor::Vector<int64_t>({2})},
                    IntAttrs()),
            "Batch size must be greater than zero.");
  EXPECT_EQ(Refused("DenseToSparseBatchDataset", {Range(3), Int(2), Int(2)}, IntAttrs()),
            "row_shape must be a vector");
}

TEST(DatasetBatchingTest, RebatchesHaveSizes) {
  AttrMap attrs = {{"output_types", std::vector<DType>{DType::kInt64}},
                   {"output_shapes", std::vector<PartialShape>{PartialShape{-1}}}};
  const Tensor keep = Tensor::Scalar(false);
  EXPECT_EQ(Refused("RebatchDatasetV2", {Range(5), Tensor::Vector<int64_t>({2, 0}), keep}, attrs),
            "batch_sizes must be greater than zero, got 0");
  EXPECT_EQ(Refused("RebatchDatasetV2", {Range(5), Tensor::Vector<int64_t>({}), keep}, attrs),
            "batch_sizes must hold at least one size");
}

TEST(DatasetBatchingTest, ParallelBatchesAreBatches) {
  EXPECT_EQ(Elements(Made("ParallelBatchDataset", {Range(5), Int(2), Int(4), Tensor::Scalar(true)},
                          IntAttrs())),
            (std::vector<int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace thalweg
