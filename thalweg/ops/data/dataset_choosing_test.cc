// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;

Tensor Numbers(std::initializer_list<int64_t> numbers) {
  return Made("TensorSliceDataset", {Tensor::Vector<int64_t>(numbers)}, IntAttrs("Toutput_types"));
}

AttrMap Of(int64_t n) {
  AttrMap attrs = IntAttrs();
  attrs.Set("N", n);
  return attrs;
}

TEST(DatasetChoosingTest, GivesEachElementOnce) {
  EXPECT_EQ(Elements(Made("UniqueDataset", {Numbers({3, 1, 3, 2, 1})}, IntAttrs())),
            (Ints{3, 1, 2}));
  AttrMap floats = {{"Toutput_types", std::vector<DType>{DType::kFloat}},
                    {"output_shapes", std::vector<PartialShape>{PartialShape()}}};
  const Tensor float_dataset = Made("TensorDataset", {Tensor::Scalar(1.f)}, floats);
  EXPECT_EQ(Refused("UniqueDataset", {float_dataset}, IntAttrs()),
            "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or "
            "`tf.string` component.");
}

// What TensorFlow gives for these seeds.
TEST(DatasetChoosingTest, SamplesAsTensorFlowDoes) {
  EXPECT_EQ(Elements(Made("SamplingDataset", {Range(30), Tensor::Scalar(0.4f), Int(3), Int(4)},
                          IntAttrs())),
            (Ints{1, 6, 8, 10, 13, 15, 16, 17, 20, 27, 29}));
}

TEST(DatasetChoosingTest, ADatasetOfNumbersNamesWhoIsNext) {
  const std::vector<Tensor> inputs = {Numbers({0, 1, 1, 1, 0, 0}), Range(3), Numbers({10, 11})};
  EXPECT_EQ(Elements(Made("DirectedInterleaveDataset", inputs, Of(2))), (Ints{0, 10, 11, 1, 2}));
  AttrMap stops = Of(2);
  stops.Set("stop_on_empty_dataset", true);
  EXPECT_EQ(Elements(Made("DirectedInterleaveDataset", inputs, stops)), (Ints{0, 10, 11}));
  AttrMap texts = {{"Toutput_types", std::vector<DType>{DType::kString}},
                   {"output_shapes", std::vector<PartialShape>{PartialShape()}}};
  const Tensor words = Made("TensorDataset", {Tensor::Scalar("a")}, texts);
  EXPECT_EQ(Refused("DirectedInterleaveDataset", {Range(2), Range(3), words}, Of(2)),
            "dataset 1: Data type mismatch at component 0: expected int64 but got string.");
  EXPECT_EQ(Refused("DirectedInterleaveDataset", {words, Range(3), Range(3)}, Of(2)),
            "the selector of datasets: Data type mismatch at component 0: expected int64 but got "
            "string.");
}

}  // namespace
}  // namespace thalweg
