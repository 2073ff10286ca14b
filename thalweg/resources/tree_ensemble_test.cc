// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tree_ensemble.h"

#include <gtest/gtest.h>

#include <random>

#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

TreeSplit SplitOf(int32_t node, float gain, float left, float right) {
  TreeSplit split;
  split.node_id = node;
  split.gain = gain;
  split.left = {left};
  split.right = {right};
  return split;
}

// A root with two splits below it; which of the three gain less than nothing, `gains` say.
TreeEnsemble Grown(const std::vector<float>& gains) {
  TreeEnsemble e;
  e.AddTree(1, 1);
  e.Split(0, SplitOf(0, gains[0], 1, -1));
  e.Split(0, SplitOf(1, gains[1], 4, 8));
  e.Split(0, SplitOf(2, gains[2], 16, 32));
  e.metadata[0].layers_grown = 2;
  return e;
}

Result<TreeEnsemble> Parse(std::string_view bytes) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  HeapCharge charge;
  auto parsed = ParseTreeEnsemble(*allocator, charge, bytes);
  charge.Clear();
  return parsed;
}

TEST(TreeEnsembleTest, SerializedAndParsedItIsTheSame) {
  TreeEnsemble e = Grown({1, -2, 3});
  e.AddTree(0.5F, 3);
  e.trees[1].nodes[0].leaf.vector = {1, 2, 3};
  e.Prune(0);
  e.has_growth = true;
  e.layers_attempted = int64_t{1} << 40;
  const std::string bytes = SerializeTreeEnsemble(e);
  const auto again = Parse(bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(SerializeTreeEnsemble(*again), bytes);
  EXPECT_EQ(again->trees[1].nodes[0].leaf.vector, std::vector<float>({1, 2, 3}));
  EXPECT_EQ(again->metadata[0].pruned.size(), 7U);
  EXPECT_EQ(SerializeTreeEnsemble(TreeEnsemble()), "");
}

TEST(TreeEnsembleTest, PruningGoesUpAsFarAsNothingIsGained) {
  TreeEnsemble e = Grown({-1, -2, -3});
  e.Prune(0);
  ASSERT_EQ(e.trees[0].nodes.size(), 1U);
  EXPECT_TRUE(e.trees[0].nodes[0].is_leaf());
  const std::vector<PrunedNode>& pruned = e.metadata[0].pruned;
  ASSERT_EQ(pruned.size(), 7U);
  const float changes[7] = {0, -1, 1, -5, -9, -15, -31};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(pruned[i].new_id, 0);
    EXPECT_EQ(pruned[i].logit_change, std::vector<float>({changes[i]})) << i;
  }
  std::vector<float> logits = {10};
  EXPECT_EQ(e.AfterPruning(0, 6, logits), 0);
  EXPECT_EQ(logits[0], -21);
  EXPECT_EQ(e.AfterPruning(0, 7, logits), -1);
  // What gains keeps its parents.
  TreeEnsemble kept = Grown({-1, -2, 3});
  kept.Prune(0);
  ASSERT_EQ(kept.trees[0].nodes.size(), 5U);
  EXPECT_EQ(kept.trees[0].nodes[2].left_id, 3);
  TreeEnsemble all = Grown({1, 2, 3});
  all.Prune(0);
  EXPECT_TRUE(all.metadata[0].pruned.empty());
  // Parents that were more logits than their leaf is: a message may say so.
  TreeEnsemble mixed = Grown({-1, -2, -3});
  mixed.trees[0].nodes[0].original_leaf = {0, {1, 2, 3}, true};
  mixed.trees[0].nodes[1].original_leaf = {0, {4, 5, 6}, true};
  mixed.Prune(0);
  EXPECT_EQ(mixed.metadata[0].pruned[3].logit_change, std::vector<float>({-4}));
}

std::string Wire(uint32_t number, const std::string& bytes) {
  std::string out;
  AddWireText(number, bytes, &out);
  return out;
}

TEST(TreeEnsembleTest, WhatNoWalkCouldEndInIsRefused) {
  const std::string weight = Wire(2, std::string("\x00\x00\x80?", 4));
  const std::string leaf = Wire(1, Wire(1, ""));
  const auto refuse = [&](const std::string& bytes, std::string_view why) {
    const auto parsed = Parse(bytes);
    ASSERT_FALSE(parsed.ok()) << why;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.status().message().find(why), std::string_view::npos)
        << parsed.status().ToString();
  };
  const auto split = [&](std::string fields) {
    return Wire(1, Wire(1, Wire(2, fields)) + leaf + leaf) + weight;
  };
  EXPECT_TRUE(Parse(split("\x18\x01 \x02")).ok());
  refuse(split("\x18\x01"), "node 0 of tree 0 of the tree ensemble has a child that does not lie");
  refuse(split("\x18\x01 \x03"), "has a child that does not lie behind it");
  refuse(split("\x18\x01 \x01"), "node 0 of tree 0 of the tree ensemble has a child that has a");
  refuse(split("\x18\x01 \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "has a child");
  refuse(split("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x01 \x02"), "negative feature");
  refuse(Wire(1, "") + weight, "tree 0 of the tree ensemble is empty");
  refuse(Wire(1, Wire(1, "")) + weight, "is neither a leaf nor a split");
  refuse(Wire(1, leaf), "1 trees and 0 weights");
  refuse(Wire(1, leaf) + weight + Wire(3, "") + Wire(3, ""), "metadata of 2");
  refuse(Wire(1, leaf) + weight + Wire(3, Wire(4, "\x08\x01")), "name node 1 of 1");
  // A dense split, a sparse leaf, a field that nobody knows.
  refuse(Wire(1, Wire(1, Wire(4, ""))) + weight, "Unable to parse tree ensemble proto.");
  refuse(Wire(1, Wire(1, Wire(1, Wire(2, "")))) + weight, "Unable to parse");
  refuse(Wire(9, ""), "Unable to parse tree ensemble proto.");
}

TEST(TreeEnsembleTest, DamageNeverHarms) {
  TreeEnsemble e = Grown({1, -2, -3});
  e.Prune(0);
  const std::string bytes = SerializeTreeEnsemble(e);
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (uint32_t k = random() % 3 + 1; k > 0; --k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    const auto parsed = Parse(damaged);
    if (parsed.ok()) SerializeTreeEnsemble(*parsed);
  }
}

TEST(TreeEnsembleTest, NodesCountAgainstTheLimitBeforeTheyAreMade) {
  std::string nodes;
  for (int i = 0; i < 100000; ++i) nodes += Wire(1, Wire(1, ""));
  const AllocatorPtr allocator = MakeCpuAllocator(1 << 20);
  HeapCharge charge;
  EXPECT_EQ(ParseTreeEnsemble(*allocator, charge, Wire(1, nodes)).status().code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg
