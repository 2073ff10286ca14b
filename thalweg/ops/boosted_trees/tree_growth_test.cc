// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/boosted_trees/test_trees.h"

namespace thalweg {
namespace {

struct Proposal {
  std::vector<int32_t> nodes;
  std::vector<float> gains;
  std::vector<int32_t> thresholds;
  std::vector<float> left, right;
};

std::vector<Tensor> UpdateInputs(const Tensor& trees, const std::vector<int32_t>& features,
                                 const std::vector<Proposal>& proposals, int32_t max_depth) {
  std::vector<Tensor> inputs = {trees, Numbers<int32_t>(features)};
  const auto each = [&](const auto& tensor) {
    for (const Proposal& p : proposals) inputs.push_back(tensor(p));
  };
  const auto column = [](const std::vector<float>& v) {
    return Tensor::Of<float>(v, Shape{static_cast<int64_t>(v.size()), 1});
  };
  const auto list = [](const auto& v) {
    using T = typename std::decay_t<decltype(v)>::value_type;
    return Tensor::Of<T>(v, Shape{static_cast<int64_t>(v.size())});
  };
  each([&](const Proposal& p) { return list(p.nodes); });
  each([&](const Proposal& p) { return list(p.gains); });
  each([&](const Proposal& p) { return list(p.thresholds); });
  each([&](const Proposal& p) { return column(p.left); });
  each([&](const Proposal& p) { return column(p.right); });
  inputs.push_back(Tensor::Scalar(max_depth));
  inputs.push_back(Tensor::Scalar(0.5F));
  return inputs;
}

AttrMap Attrs(int64_t pruning, size_t features) {
  return {{"pruning_mode", pruning}, {"num_features", static_cast<int64_t>(features)}};
}

void Grow(const Tensor& trees, const std::vector<int32_t>& features,
          const std::vector<Proposal>& proposals, int32_t max_depth, int64_t pruning = 0) {
  DoTrees("BoostedTreesUpdateEnsemble", UpdateInputs(trees, features, proposals, max_depth),
          Attrs(pruning, features.size()));
}

const Proposal kRoot = {{0}, {1}, {5}, {2}, {-3}};

TEST(TreeGrowthTest, TheBestSplitOfEachNodeGrows) {
  const Tensor trees = EnsembleHandle("");
  Proposal better = kRoot, equal = kRoot;
  better.gains = {2};
  better.thresholds = {7};
  equal.gains = {2};
  Grow(trees, {4, 3, 9}, {kRoot, better, equal}, 2);
  TreeEnsemble grown = EnsembleOf(trees);
  ASSERT_EQ(grown.num_trees(), 1);
  const std::vector<TreeNode>& nodes = grown.trees[0].nodes;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].feature_id, 3);
  EXPECT_EQ(nodes[0].threshold, 7);
  EXPECT_FALSE(nodes[0].has_original_leaf);
  EXPECT_EQ(nodes[1].leaf.scalar, 1);  // half of 2
  EXPECT_EQ(nodes[2].leaf.scalar, -1.5F);
  EXPECT_EQ(grown.last_layer_start, 1);
  EXPECT_EQ(grown.last_layer_end, 3);
  // The second layer is the last: another tree begins.
  Grow(trees, {0}, {{{1, 2}, {1, -2}, {3, 4}, {2, 4}, {-2, 6}}}, 2);
  grown = EnsembleOf(trees);
  ASSERT_EQ(grown.num_trees(), 2);
  EXPECT_TRUE(grown.metadata[0].is_finalized);
  EXPECT_EQ(grown.trees[0].nodes.size(), 7U);
  EXPECT_EQ(grown.trees[0].nodes[3].leaf.scalar, 2);  // what its parent was, and half of 2
  EXPECT_EQ(grown.trees[0].nodes[1].original_leaf.scalar, 1);
  EXPECT_EQ(grown.trees[1].nodes.size(), 1U);
  EXPECT_EQ(grown.last_layer_end, 1);
  EXPECT_EQ(grown.trees_attempted, 1);
  EXPECT_EQ(grown.layers_attempted, 2);
}

TEST(TreeGrowthTest, PruningTakesBackWhatGainsLessThanNothing) {
  const Proposal second = {{1, 2}, {1, -2}, {3, 4}, {2, 4}, {-2, 6}};
  const Tensor before = EnsembleHandle("");
  Grow(before, {0}, {kRoot}, 2, 1);
  Grow(before, {0}, {second}, 2, 1);
  EXPECT_EQ(EnsembleOf(before).trees[0].nodes.size(), 5U);
  const Tensor after = EnsembleHandle("");
  Grow(after, {0}, {kRoot}, 2, 2);
  Grow(after, {0}, {second}, 2, 2);
  const TreeEnsemble pruned = EnsembleOf(after);
  EXPECT_EQ(pruned.trees[0].nodes.size(), 5U);
  const std::vector<PrunedNode>& fates = pruned.metadata[0].pruned;
  ASSERT_EQ(fates.size(), 7U);
  EXPECT_EQ(fates[5].new_id, 2);
  EXPECT_EQ(fates[5].logit_change, std::vector<float>({-2}));
  EXPECT_EQ(fates[6].logit_change, std::vector<float>({-3}));
  EXPECT_EQ(fates[4].new_id, 4);
  // Examples that were in a node which is gone lose what it added.
  const auto moved =
      RunOp("BoostedTreesTrainingPredict",
            {after, Numbers<int32_t>({0, 0}), Numbers<int32_t>({5, 4}), Numbers<int32_t>({9, 4})},
            {{"logits_dimension", int64_t{1}}});
  ASSERT_TRUE(moved.ok()) << moved.status().ToString();
  EXPECT_EQ((*moved)[0].data<float>()[0], -2);
  EXPECT_EQ((*moved)[0].data<float>()[1], 0);
}

TEST(TreeGrowthTest, WhatCannotGrowChangesNothing) {
  const Tensor trees = EnsembleHandle(kGrownTree);
  const auto refuse = [&](const Proposal& p, const char* why) {
    ExpectError("BoostedTreesUpdateEnsemble", UpdateInputs(trees, {0}, {p}, 2), Attrs(0, 1),
                Code::kInvalidArgument, why);
  };
  refuse({{3}, {1}, {0}, {1}, {1}}, "node 3 is no leaf of the last tree");
  refuse({{-1}, {1}, {0}, {1}, {1}}, "node -1 is no leaf");
  refuse({{0}, {1}, {0}, {1}, {1}}, "node 0 is no leaf");
  refuse({{1}, {1, 2}, {0}, {1}, {1}}, "");
  refuse({{1}, {1}, {0}, {1, 2}, {1}}, "");
  ExpectError("BoostedTreesUpdateEnsemble",
              UpdateInputs(trees, {-1}, {{{1}, {1}, {0}, {1}, {1}}}, 2), Attrs(0, 1),
              Code::kInvalidArgument, "must not be negative");
  ExpectError("BoostedTreesUpdateEnsemble", UpdateInputs(trees, {0}, {kRoot}, 2), Attrs(3, 1),
              Code::kInvalidArgument, "pruning_mode must be 0, 1 or 2");
  ExpectOutputs("BoostedTreesSerializeEnsemble", {trees}, {},
                {Tensor::Scalar(int64_t{0}), Tensor::Scalar(kGrownTree)});
}

TEST(TreeGrowthTest, WhatMakesNoNodeIsChargedNothing) {
  const Tensor trees = EnsembleHandle(kGrownTree);
  const auto charged = [] { return TreesAllocator().Stats().bytes_in_use; };
  const int64_t before = charged();
  Grow(trees, {4}, {Proposal{}}, 2);
  constexpr int64_t kPrePruning = 1;
  Grow(trees, {4}, {{{1}, {-1}, {5}, {2}, {-3}}}, 2, kPrePruning);
  EXPECT_EQ(charged(), before);
  Grow(trees, {4}, {{{1}, {1}, {5}, {2}, {-3}}}, 2);
  EXPECT_GT(charged(), before);
}

std::vector<Tensor> V2Inputs(const Tensor& trees, const Tensor& ids, const char* type) {
  return {trees,
          ids,
          Numbers<int32_t>({1, 0}),
          Numbers<int32_t>({1, 2}),
          Numbers<float>({1, 2}),
          Numbers<int32_t>({3, 4}),
          Numbers<float>({2, 1}, Shape{2, 1}),
          Numbers<float>({1, 2}, Shape{2, 1}),
          Texts({"INEQUALITY_DEFAULT_RIGHT", type}),
          Tensor::Scalar(int32_t{3}),
          Tensor::Scalar(1.0F),
          Tensor::Scalar(int32_t{0})};
}

TEST(TreeGrowthTest, SplitsHaveDimensionsAndTypes) {
  const AttrMap attrs = {{"num_features", int64_t{1}}};
  for (const std::vector<int32_t>& ids : {std::vector<int32_t>{6}, std::vector<int32_t>{6, 8}}) {
    const Tensor trees = EnsembleHandle(kGrownTree);
    DoTrees("BoostedTreesUpdateEnsembleV2",
            V2Inputs(trees, Numbers<int32_t>(ids), "EQUALITY_DEFAULT_RIGHT"), attrs);
    const TreeEnsemble grown = EnsembleOf(trees);
    const TreeNode &first = grown.trees[0].nodes[1], &second = grown.trees[0].nodes[2];
    EXPECT_EQ(first.kind, TreeNode::Kind::kBucketized);
    EXPECT_EQ(first.dimension_id, 1);
    EXPECT_EQ(first.default_direction, 1);
    EXPECT_EQ(first.feature_id, 6);
    EXPECT_EQ(second.kind, TreeNode::Kind::kCategorical);
    EXPECT_EQ(second.feature_id, ids.back());
  }
  const Tensor trees = EnsembleHandle(kGrownTree);
  ExpectError("BoostedTreesUpdateEnsembleV2", V2Inputs(trees, Numbers<int32_t>({6}), "FOO"), attrs,
              Code::kInvalidArgument, "'FOO' is no type of split");
  ExpectError("BoostedTreesUpdateEnsembleV2",
              V2Inputs(trees, Numbers<int32_t>({6, 7, 8}), "EQUALITY_DEFAULT_RIGHT"), attrs,
              Code::kInvalidArgument, "feature_ids must have an element for each");
}

TEST(TreeGrowthTest, TheBiasIsCenteredUntilItMovesLittle) {
  const Tensor trees = EnsembleHandle("");
  const auto center = [&](float gradient) {
    const auto out =
        RunOp("BoostedTreesCenterBias",
              {trees, Numbers<float>({gradient}, Shape{1, 1}), Numbers<float>({3}, Shape{1, 1}),
               Tensor::Scalar(0.1F), Tensor::Scalar(0.2F)});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return out.ok() && (*out)[0].scalar<bool>();
  };
  EXPECT_TRUE(center(2));
  EXPECT_EQ(EnsembleOf(trees).trees[0].nodes[0].leaf.scalar, -0.59375F);  // as TensorFlow's
  EXPECT_TRUE(center(2));
  EXPECT_EQ(EnsembleOf(trees).trees[0].nodes[0].leaf.scalar, -1.1875F);
  EXPECT_FALSE(center(0.11F));
  ExpectError("BoostedTreesCenterBias",
              {EnsembleHandle(kGrownTree), Numbers<float>({2}, Shape{1, 1}),
               Numbers<float>({3}, Shape{1, 1}), Tensor::Scalar(0.1F), Tensor::Scalar(0.2F)},
              {}, Code::kFailedPrecondition, "the first tree has grown");
}

}  // namespace
}  // namespace thalweg
