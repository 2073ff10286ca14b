// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;

TEST(DatasetSourceTest, ElementsAreRowsNumbersOrAll) {
  const Tensor vector = Tensor::Vector<int64_t>({7, 8, 9});
  EXPECT_EQ(Elements(Made("TensorSliceDataset", {vector}, IntAttrs("Toutput_types"))),
            (Ints{7, 8, 9}));
  EXPECT_EQ(Elements(Made("TensorDataset", {vector}, IntAttrs("Toutput_types"))), (Ints{7, 8, 9}));
  EXPECT_EQ(Elements(Made("RangeDataset", {Int(5), Int(-2), Int(-3)}, IntAttrs())),
            (Ints{5, 2, -1}));
  EXPECT_EQ(Elements(Made("RangeDataset", {Int(3), Int(3), Int(1)}, IntAttrs())), Ints{});
}

TEST(DatasetSourceTest, RefusesWhatHasNoElements) {
  EXPECT_EQ(Refused("RangeDataset", {Int(0), Int(1), Int(0)}, IntAttrs()),
            "step must be a non-zero integer.");
  EXPECT_EQ(Refused("TensorSliceDataset", {Int(1)}, IntAttrs("Toutput_types")),
            "component 0 is a scalar: all must have a dimension to slice");
  const std::vector<DType> two = {DType::kInt64, DType::kInt64};
  const std::vector<PartialShape> any = {PartialShape(), PartialShape()};
  EXPECT_EQ(
      Refused("TensorSliceDataset", {Tensor::Vector<int64_t>({1, 2}), Tensor::Vector<int64_t>({1})},
              {{"Toutput_types", two}, {"output_shapes", any}}),
      "component 1 has 1 rows, component 0 has 2");
}

TEST(DatasetSourceTest, TheLongestRangesAreCounted) {
  const Tensor longest =
      Made("RangeDataset", {Int(INT64_MIN), Int(INT64_MAX), Int(INT64_MAX)}, IntAttrs());
  EXPECT_EQ(Elements(longest).size(), 3u);
}

}  // namespace
}  // namespace thalweg
