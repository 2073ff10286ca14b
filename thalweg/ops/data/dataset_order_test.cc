// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;

AttrMap Reshuffled(bool again) {
  AttrMap attrs = IntAttrs();
  attrs.Set("reshuffle_each_iteration", again);
  return attrs;
}

// What TensorFlow gives for these seeds.
TEST(DatasetOrderTest, ShufflesAsTensorFlowDoes) {
  const Tensor fixed =
      Made("ShuffleDataset", {Range(6), Int(4), Int(11), Int(7)}, Reshuffled(false));
  EXPECT_EQ(Elements(fixed), (Ints{1, 0, 4, 3, 2, 5}));
  EXPECT_EQ(Elements(fixed), (Ints{1, 0, 4, 3, 2, 5}));
  const Tensor again =
      Made("ShuffleDataset", {Range(6), Int(4), Int(11), Int(7)}, Reshuffled(true));
  EXPECT_EQ(Elements(again), (Ints{2, 4, 5, 0, 3, 1}));
  EXPECT_EQ(Elements(again), (Ints{1, 4, 3, 5, 2, 0}));
}

TEST(DatasetOrderTest, DatasetsShareTheSeedsThatTheyAreGiven) {
  KernelCall generator("AnonymousSeedGenerator", {Int(11), Int(7), Tensor::Scalar(true)});
  ASSERT_TRUE(generator.Run().ok());
  const std::vector<Tensor> inputs = {Range(6), Int(4), generator.output(0)};
  EXPECT_EQ(Elements(Made("ShuffleDatasetV2", inputs, IntAttrs())), (Ints{2, 4, 5, 0, 3, 1}));
  EXPECT_EQ(Elements(Made("ShuffleDatasetV2", inputs, IntAttrs())), (Ints{1, 4, 3, 5, 2, 0}));
  const Tensor dummy = Made("DummySeedGenerator", {}, {});
  Ints any =
      Elements(Made("ShuffleDatasetV3", {Range(6), Int(9), Int(0), Int(0), dummy}, IntAttrs()));
  std::sort(any.begin(), any.end());
  EXPECT_EQ(any, (Ints{0, 1, 2, 3, 4, 5}));
}

TEST(DatasetOrderTest, CachesAndPrefetchesChangeNothing) {
  const Tensor no_file = Tensor::Scalar("");
  EXPECT_EQ(Elements(Made("PrefetchDataset", {Range(3), Int(2)}, IntAttrs())), (Ints{0, 1, 2}));
  const Tensor cached = Made("CacheDataset", {Range(3), no_file}, IntAttrs());
  EXPECT_EQ(Elements(cached), (Ints{0, 1, 2}));
  EXPECT_EQ(Elements(cached), (Ints{0, 1, 2}));
  EXPECT_EQ(Elements(Made("ModelDataset", {Range(3)}, IntAttrs())), (Ints{0, 1, 2}));
}

TEST(DatasetOrderTest, RefusesBuffersThatMakeNoSense) {
  EXPECT_EQ(Refused("ShuffleDataset", {Range(6), Int(0), Int(1), Int(7)}, Reshuffled(true)),
            "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  EXPECT_EQ(Refused("PrefetchDataset", {Range(3), Int(-2)}, IntAttrs()),
            "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
}

}  // namespace
}  // namespace thalweg
