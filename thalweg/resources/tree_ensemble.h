// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble: decision trees whose weighted leaves are summed, and how far their growth has come.
//
//   ASSIGN_OR_RETURN(TreeEnsemble ensemble, ParseTreeEnsemble(allocator, charge, bytes));
//   ensemble.AddTree(1.0F, 1);
//   ensemble.Split(0, split);                            // node split.node_id gets two children
//   std::string again = SerializeTreeEnsemble(ensemble);  // a TreeEnsemble message
//
// Children come behind their parents, so that a walk from a root ends, and have one parent, so that
// pruning takes nobody else's; ParseTreeEnsemble refuses other trees, and what no operation here
// computes with: dense splits, sparse leaves, nodes that are nothing, unknown fields.
// Ownership: a value; TreeEnsembleResource is the one that steps share. Who lets it grow charges
// for that before.
// Threads: const members from any, changes by one at a time; of the resource all from any.
// Errors: InvalidArgument for bytes that are no ensemble; ResourceExhausted.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

// What a node adds: one number, or one for each logit.
struct TreeLeaf {
  float scalar = 0;
  std::vector<float> vector;
  bool has_vector = false;
  std::span<const float> values() const {
    return has_vector ? std::span<const float>(vector) : std::span<const float>(&scalar, 1);
  }
};

struct TreeNode {
  // kNone is a node of which nothing was said.
  enum class Kind : uint8_t { kNone, kLeaf, kBucketized, kCategorical };
  Kind kind = Kind::kNone;
  bool has_metadata = false;
  bool has_original_leaf = false;
  // Of a split. A bucketized one sends what is at most `threshold` to the left, a categorical one
  // what equals it.
  int32_t feature_id = 0, threshold = 0, dimension_id = 0, default_direction = 0;
  int32_t left_id = 0, right_id = 0;
  float gain = 0;
  TreeLeaf leaf;           // of a leaf
  TreeLeaf original_leaf;  // what a split was before
  bool is_leaf() const { return kind == Kind::kLeaf; }
};

// What became of a node that a tree had before it was pruned.
struct PrunedNode {
  int32_t new_id = 0;
  std::vector<float> logit_change;
};

struct TreeMetadata {
  int32_t layers_grown = 0;
  bool is_finalized = false;
  std::vector<PrunedNode> pruned;  // by the old number
};

struct Tree {
  std::vector<TreeNode> nodes;
};

// The best split of one node.
struct TreeSplit {
  enum class Type : uint8_t { kDefaultLeft, kDefaultRight, kEquality };
  int32_t node_id = 0;
  int32_t feature_id = 0, threshold = 0, dimension_id = 0;
  Type type = Type::kDefaultLeft;
  float gain = 0;
  std::vector<float> left, right;  // what the children add to what the node is, one for each logit
};

struct TreeEnsemble {
  std::vector<Tree> trees;
  std::vector<float> weights;
  std::vector<TreeMetadata> metadata;
  bool has_growth = false;  // whether the four below were ever said
  int64_t trees_attempted = 0, layers_attempted = 0;
  int32_t last_layer_start = 0, last_layer_end = 0;

  int num_trees() const { return static_cast<int>(trees.size()); }
  // Of a leaf its own values, of a split those that it had as a leaf; nothing where it had none.
  std::span<const float> NodeValues(int tree, int32_t node) const;
  // What the first tree adds, while it is one leaf.
  void SetRootValue(float value);
  // A tree of one leaf that adds nothing.
  void AddTree(float weight, int64_t logits);
  // Gives a leaf two leaves as children. The node must be one.
  void Split(int tree, const TreeSplit& split);
  // Takes back, from below, splits that gained less than nothing and have leaves only; metadata
  // remembers where the nodes went.
  void Prune(int tree);
  // The number of the node now, and adds to `logits` what it lost; the number itself where the tree
  // was never pruned. -1 for one that the tree never had.
  int32_t AfterPruning(int tree, int32_t node, std::span<float> logits) const;
};

// The child to which a value of the split's feature goes.
inline int32_t NextTreeNode(const TreeNode& split, int32_t value) {
  const bool left = split.kind == TreeNode::Kind::kCategorical ? value == split.threshold
                                                               : value <= split.threshold;
  return left ? split.left_id : split.right_id;
}

// `charge` becomes what the ensemble may hold, before it is made.
Result<TreeEnsemble> ParseTreeEnsemble(Allocator& allocator, HeapCharge& charge,
                                       std::string_view bytes);
std::string SerializeTreeEnsemble(const TreeEnsemble& ensemble);

// What steps share: an ensemble and the number of its version, -1 before it has one.
class TreeEnsembleResource : public Resource {
 public:
  struct State {
    int64_t stamp = -1;
    TreeEnsemble ensemble;
    HeapCharge charge;
  };
  static constexpr std::string_view kTypeName = "tensorflow::BoostedTreesEnsembleResource";

  // f(const State&) -> Status, beside other readers.
  template <class F>
  Status Read(const F& f) const {
    const std::shared_lock lock(mutex_);
    return f(state_);
  }
  // f(State&) -> Status, alone.
  template <class F>
  Status Change(const F& f) {
    const std::unique_lock lock(mutex_);
    return f(state_);
  }
  std::string DebugString() const override;

 private:
  mutable std::shared_mutex mutex_;
  State state_;
};

}  // namespace thalweg
