// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tree_ensemble.h"

#include <algorithm>

#include "thalweg/base/check.h"

namespace thalweg {
namespace {

TreeLeaf MakeLeaf(std::span<const float> values) {
  TreeLeaf leaf;
  leaf.has_vector = values.size() != 1;
  if (leaf.has_vector) {
    leaf.vector.assign(values.begin(), values.end());
  } else {
    leaf.scalar = values[0];
  }
  return leaf;
}

bool IsZero(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return v == 0; });
}

// A leaf whose values are those of `base`, as far as it has some, and `change`.
TreeLeaf MovedLeaf(std::span<const float> base, std::span<const float> change) {
  std::vector<float> values(change.begin(), change.end());
  for (size_t i = 0; i < std::min(base.size(), values.size()); ++i) values[i] += base[i];
  return MakeLeaf(values);
}

// Takes back splits of one tree, and says what becomes of each node.
class Pruning {
 public:
  explicit Pruning(std::vector<TreeNode>& nodes) : nodes_(nodes), gone_to_(nodes.size()) {
    for (size_t i = 0; i < nodes.size(); ++i) gone_to_[i] = static_cast<int32_t>(i);
  }

  // Children come behind their parents: from the back, all below a node is done before it.
  void Run() {
    for (size_t i = nodes_.size(); i-- > 0;) {
      TreeNode& node = nodes_[i];
      if (node.is_leaf() || node.gain >= 0 || !Child(node.left_id).is_leaf() ||
          !Child(node.right_id).is_leaf()) {
        continue;
      }
      any_ = true;
      gone_to_[static_cast<size_t>(node.left_id)] = static_cast<int32_t>(i);
      gone_to_[static_cast<size_t>(node.right_id)] = static_cast<int32_t>(i);
      TreeLeaf leaf = std::move(node.original_leaf);
      // A root that added nothing never had its values saved.
      if (leaf.has_vector ? leaf.vector.empty() : Child(node.left_id).leaf.has_vector) {
        leaf = MakeLeaf(std::vector<float>(Child(node.left_id).leaf.values().size()));
      }
      node = TreeNode();
      node.kind = TreeNode::Kind::kLeaf;
      node.leaf = std::move(leaf);
    }
  }

  bool any() const { return any_; }

  // Removes what is gone from the nodes.
  std::vector<PrunedNode> Remove() {
    std::vector<int32_t> new_ids(nodes_.size(), -1);
    int32_t next = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (gone_to_[i] == static_cast<int32_t>(i)) new_ids[i] = next++;
    }
    std::vector<PrunedNode> pruned(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) pruned[i] = Fate(i, new_ids);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (new_ids[i] < 0) continue;
      TreeNode& node = nodes_[i];
      if (!node.is_leaf()) {
        node.left_id = new_ids[static_cast<size_t>(node.left_id)];
        node.right_id = new_ids[static_cast<size_t>(node.right_id)];
      }
      if (new_ids[i] != static_cast<int32_t>(i)) {
        nodes_[static_cast<size_t>(new_ids[i])] = std::move(node);
      }
    }
    nodes_.resize(static_cast<size_t>(next));
    return pruned;
  }

 private:
  TreeNode& Child(int32_t id) const { return nodes_[static_cast<size_t>(id)]; }

  // Where a node went, and what its examples lost, from each of its parents that took it in.
  PrunedNode Fate(size_t i, const std::vector<int32_t>& new_ids) const {
    PrunedNode fate;
    fate.logit_change.assign(nodes_[i].is_leaf() ? nodes_[i].leaf.values().size() : 1, 0);
    size_t at = i;
    while (gone_to_[at] != static_cast<int32_t>(at)) {
      const auto parent = static_cast<size_t>(gone_to_[at]);
      const std::span<const float> from = nodes_[at].leaf.values();
      const std::span<const float> to = nodes_[parent].leaf.values();
      const size_t both = std::min({from.size(), to.size(), fate.logit_change.size()});
      for (size_t k = 0; k < both; ++k) {
        fate.logit_change[k] += to[k] - from[k];
      }
      at = parent;
    }
    fate.new_id = new_ids[at];
    return fate;
  }

  std::vector<TreeNode>& nodes_;
  std::vector<int32_t> gone_to_;  // the parent that took the node's place, or itself
  bool any_ = false;
};

}  // namespace

std::span<const float> TreeEnsemble::NodeValues(int tree, int32_t node) const {
  const TreeNode& n = trees[static_cast<size_t>(tree)].nodes[static_cast<size_t>(node)];
  if (n.is_leaf()) return n.leaf.values();
  if (n.has_original_leaf) return n.original_leaf.values();
  return {};
}

void TreeEnsemble::SetRootValue(float value) {
  TreeNode& root = trees[0].nodes[0];
  CHECK(root.is_leaf());
  root.leaf = MakeLeaf({&value, 1});
}

void TreeEnsemble::AddTree(float weight, int64_t logits) {
  TreeNode root;
  root.kind = TreeNode::Kind::kLeaf;
  root.leaf = MakeLeaf(std::vector<float>(static_cast<size_t>(logits)));
  trees.push_back({{std::move(root)}});
  weights.push_back(weight);
  metadata.emplace_back();
}

void TreeEnsemble::Split(int tree, const TreeSplit& split) {
  std::vector<TreeNode>& nodes = trees[static_cast<size_t>(tree)].nodes;
  CHECK(nodes[static_cast<size_t>(split.node_id)].is_leaf());
  TreeNode children[2];
  const std::vector<float>* const changes[2] = {&split.left, &split.right};
  for (int side = 0; side < 2; ++side) {
    children[side].kind = TreeNode::Kind::kLeaf;
    children[side].leaf =
        MovedLeaf(nodes[static_cast<size_t>(split.node_id)].leaf.values(), *changes[side]);
  }
  TreeNode& node = nodes[static_cast<size_t>(split.node_id)];
  node.has_metadata = true;
  node.gain = split.gain;
  // What a root that added nothing was need not be remembered.
  if (split.node_id != 0 || !IsZero(node.leaf.values())) {
    node.has_original_leaf = true;
    node.original_leaf = std::move(node.leaf);
  }
  node.leaf = TreeLeaf();
  node.kind = split.type == TreeSplit::Type::kEquality ? TreeNode::Kind::kCategorical
                                                       : TreeNode::Kind::kBucketized;
  node.feature_id = split.feature_id;
  node.threshold = split.threshold;
  node.dimension_id = split.dimension_id;
  node.default_direction = split.type == TreeSplit::Type::kDefaultRight ? 1 : 0;
  node.left_id = static_cast<int32_t>(nodes.size());
  node.right_id = node.left_id + 1;
  nodes.push_back(std::move(children[0]));
  nodes.push_back(std::move(children[1]));
}

void TreeEnsemble::Prune(int tree) {
  std::vector<TreeNode>& nodes = trees[static_cast<size_t>(tree)].nodes;
  Pruning pruning(nodes);
  pruning.Run();
  if (pruning.any()) metadata[static_cast<size_t>(tree)].pruned = pruning.Remove();
}

int32_t TreeEnsemble::AfterPruning(int tree, int32_t node, std::span<float> logits) const {
  const std::vector<TreeNode>& nodes = trees[static_cast<size_t>(tree)].nodes;
  static const std::vector<PrunedNode> kNever;
  const auto& pruned = metadata.empty() ? kNever : metadata[static_cast<size_t>(tree)].pruned;
  if (pruned.empty()) return node < static_cast<int32_t>(nodes.size()) ? node : -1;
  if (node >= static_cast<int32_t>(pruned.size())) return -1;
  const PrunedNode& fate = pruned[static_cast<size_t>(node)];
  for (size_t i = 0; i < std::min(logits.size(), fate.logit_change.size()); ++i) {
    logits[i] += fate.logit_change[i];
  }
  return fate.new_id < static_cast<int32_t>(nodes.size()) ? fate.new_id : -1;
}

std::string TreeEnsembleResource::DebugString() const {
  const std::shared_lock lock(mutex_);
  return StrCat("tree ensemble of ", state_.ensemble.num_trees(), " trees");
}

}  // namespace thalweg
