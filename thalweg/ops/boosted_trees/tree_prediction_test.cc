// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/boosted_trees/test_trees.h"

namespace thalweg {
namespace {

const AttrMap kOneLogit = {{"logits_dimension", int64_t{1}}};

TEST(TreePredictionTest, TheLeavesOfAllTreesAreSummed) {
  const Tensor trees = EnsembleHandle(kGrownTree);
  const Tensor buckets = Numbers<int32_t>({3, 5, 6, -1});
  const float left = -1.58125F, right = -2.08125F;
  const auto out = RunOp("BoostedTreesPredict", {trees, buckets}, kOneLogit);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  ASSERT_EQ((*out)[0].shape(), (Shape{4, 1}));
  for (const auto& [i, value] : {std::pair(0, left), {1, left}, {2, right}, {3, left}}) {
    EXPECT_NEAR((*out)[0].data<float>()[i], value, 1e-6) << i;
  }
  ExpectOutputs("BoostedTreesPredict", {EnsembleHandle(""), buckets}, kOneLogit,
                {Numbers<float>({0, 0, 0, 0}, Shape{4, 1})});
  // A matrix has the dimension by which the node splits.
  const auto columns =
      RunOp("BoostedTreesPredict", {trees, Numbers<int32_t>({6, 0, 5, 9}, Shape{2, 2})}, kOneLogit);
  ASSERT_TRUE(columns.ok());
  EXPECT_NEAR((*columns)[0].data<float>()[0], right, 1e-6);
  EXPECT_NEAR((*columns)[0].data<float>()[1], left, 1e-6);
}

TEST(TreePredictionTest, TrainingGoesOnFromWhereExamplesWere) {
  const Tensor trees = EnsembleHandle(kGrownTree);
  const auto out = RunOp("BoostedTreesTrainingPredict",
                         {trees, Numbers<int32_t>({0, 0, 0}), Numbers<int32_t>({-1, 0, 2}),
                          Numbers<int32_t>({3, 6, 6})},
                         kOneLogit);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const float* const logits = (*out)[0].data<float>();
  EXPECT_NEAR(logits[0], -1.58125F, 1e-6);
  EXPECT_NEAR(logits[1], -0.3F, 1e-6);  // it has had the bias of the root
  EXPECT_EQ(logits[2], 0);
  EXPECT_EQ(BitDifference((*out)[1], Numbers<int32_t>({0, 0, 0})), "");
  EXPECT_EQ(BitDifference((*out)[2], Numbers<int32_t>({1, 2, 2})), "");
  ExpectOutputs(
      "BoostedTreesTrainingPredict",
      {EnsembleHandle(""), Numbers<int32_t>({0}), Numbers<int32_t>({-1}), Numbers<int32_t>({3})},
      kOneLogit, {Numbers<float>({0}, Shape{1, 1}), Numbers<int32_t>({0}), Numbers<int32_t>({0})});
}

// Bytes that TensorFlow 1.15 gave, but for the logits.
TEST(TreePredictionTest, DebugOutputsNameTheFeatures) {
  const auto out = RunOp("BoostedTreesExampleDebugOutputs",
                         {EnsembleHandle(kGrownTree), Numbers<int32_t>({6})}, kOneLogit);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const std::string bytes = (*out)[0].data<std::string>()[0];
  EXPECT_EQ(bytes.substr(0, 3), std::string("\n\x01\x00", 3));
  EXPECT_EQ(bytes.size(), 13U);
  ExpectError("BoostedTreesExampleDebugOutputs",
              {EnsembleHandle(kGrownTree), Numbers<int32_t>({6})},
              {{"logits_dimension", int64_t{2}}}, Code::kInvalidArgument,
              "Currently only one dimensional outputs are supported.");
}

TEST(TreePredictionTest, Refusals) {
  const Tensor trees = EnsembleHandle(kGrownTree);
  const Tensor zero = Numbers<int32_t>({0}), one = Numbers<int32_t>({1});
  const auto refuse = [&](const char* op, const std::vector<Tensor>& inputs, AttrMap attrs,
                          const char* why) {
    ExpectError(op, inputs, attrs, Code::kInvalidArgument, why);
  };
  constexpr const char* kTraining = "BoostedTreesTrainingPredict";
  refuse(kTraining, {trees, one, zero, zero}, kOneLogit, "cached_tree_ids[0] = 1 is not in");
  refuse(kTraining, {trees, zero, Numbers<int32_t>({3}), zero}, kOneLogit,
         "cached_node_ids[0] = 3 is no node");
  refuse("BoostedTreesPredict", {trees, zero}, {{"logits_dimension", int64_t{2}}},
         "has 1 logits, expected 2");
  refuse("BoostedTreesPredict", {trees, zero}, {{"logits_dimension", int64_t{0}}},
         "logits_dimension must be above 0");
  refuse("BoostedTreesPredict", {trees, Tensor::Scalar(int32_t{0})}, kOneLogit, "");
  refuse("BoostedTreesPredict", {trees, zero, Numbers<int32_t>({1, 2})}, kOneLogit, "");
  refuse("BoostedTreesPredict", {trees, Tensor::Of<int32_t>(std::vector<int32_t>(), Shape{1, 0})},
         kOneLogit, "which bucketized_features do not have");
}

}  // namespace
}  // namespace thalweg
