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

TEST(DatasetSourceTest, ListsHoldTheirInputs) {
  AttrMap attrs = IntAttrs();
  attrs.Set("Tinput_types", std::vector<DType>{DType::kInt64, DType::kInt64});
  EXPECT_EQ(Elements(Made("ListDataset", {Int(4), Int(3)}, attrs)), (Ints{4, 3}));
}

TEST(DatasetSourceTest, RefusesWhatIsNoSparseTensor) {
  const Tensor matrix = *Tensor::Vector<int64_t>({1, 0, 0, 1}).Reshaped(Shape{2, 2});
  const Tensor two = Tensor::Vector<int64_t>({2, 2});
  EXPECT_EQ(Refused("SparseTensorSliceDataset", {two, two, two}, {}),
            "Input indices should be a matrix but received shape [2]");
  EXPECT_EQ(Refused("SparseTensorSliceDataset", {matrix, Tensor::Vector<int64_t>({1}), two}, {}),
            "Number of values must match first dimension of indices. Got 1 values, indices shape: "
            "[2,2]");
  EXPECT_EQ(Refused("SparseTensorSliceDataset", {matrix, two, Tensor::Vector<int64_t>({1})}, {}),
            "Number of dimensions must match second dimension of indices and be positive. Got 1 "
            "dimensions, indices shape: [2,2]");
  KernelCall unordered("SparseTensorSliceDataset", {matrix, two, two});
  EXPECT_EQ(unordered.Run().code(), Code::kUnimplemented);
}

TEST(DatasetSourceTest, TheLongestRangesAreCounted) {
  const Tensor longest =
      Made("RangeDataset", {Int(INT64_MIN), Int(INT64_MAX), Int(INT64_MAX)}, IntAttrs());
  EXPECT_EQ(Elements(longest).size(), 3u);
}

}  // namespace
}  // namespace thalweg
