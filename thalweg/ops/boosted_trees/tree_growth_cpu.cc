// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <type_traits>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/ops/boosted_trees/split_gain.h"
#include "thalweg/ops/boosted_trees/tree_inputs.h"
#include "thalweg/resources/tree_ensemble.h"

namespace thalweg {
namespace {

using State = TreeEnsembleResource::State;

enum PruningMode : int64_t { kNoPruning = 0, kPrePruning = 1, kPostPruning = 2 };

// Where the lists of an update lie among the inputs; the first version has no dimensions, split
// types and groups.
struct UpdateLayout {
  int64_t features = 0, groups = 1, logits = 1;
  bool is_v2 = false;
  int List(int list, int64_t feature) const {
    const int first = 1 + static_cast<int>(groups);
    return first + static_cast<int>(list * features + feature);
  }
  // The lists in their order.
  int node_ids(int64_t f) const { return List(is_v2 ? 1 : 0, f); }
  int gains(int64_t f) const { return List(is_v2 ? 2 : 1, f); }
  int thresholds(int64_t f) const { return List(is_v2 ? 3 : 2, f); }
  int left(int64_t f) const { return List(is_v2 ? 4 : 3, f); }
  int right(int64_t f) const { return List(is_v2 ? 5 : 4, f); }
  int dimensions(int64_t f) const { return List(0, f); }
  int types(int64_t f) const { return List(6, f); }
  int scalars() const { return List(is_v2 ? 7 : 5, 0); }
};

using BestSplits = std::map<int32_t, TreeSplit>;

// The splits that one feature proposes.
class Candidates {
 public:
  static Result<Candidates> Of(Context& ctx, const UpdateLayout& layout, int64_t feature) {
    Candidates c(ctx, layout, feature);
    const Tensor& nodes = ctx.input(layout.node_ids(feature));
    RETURN_IF_ERROR(CheckInputRank(ctx, layout.node_ids(feature), 1, "node_ids"));
    c.count_ = nodes.num_elements();
    RETURN_IF_ERROR(c.CheckVector(layout.gains(feature), "gains"));
    RETURN_IF_ERROR(c.CheckVector(layout.thresholds(feature), "thresholds"));
    RETURN_IF_ERROR(c.CheckContributions(layout.left(feature), "left_node_contribs"));
    RETURN_IF_ERROR(c.CheckContributions(layout.right(feature), "right_node_contribs"));
    if (layout.is_v2) {
      RETURN_IF_ERROR(c.CheckVector(layout.dimensions(feature), "dimension_ids"));
      RETURN_IF_ERROR(c.CheckVector(layout.types(feature), "split_types"));
    }
    RETURN_IF_ERROR(c.FindIds());
    return c;
  }

  int64_t count() const { return count_; }
  int32_t node_id(int64_t i) const {
    return ctx_.input(layout_.node_ids(feature_)).data<int32_t>()[i];
  }
  float gain(int64_t i) const { return ctx_.input(layout_.gains(feature_)).data<float>()[i]; }
  int32_t feature_id(int64_t i) const { return ids_[one_id_ ? 0 : i]; }

  Result<TreeSplit> Split(int64_t i, float learning_rate) const {
    TreeSplit split;
    split.node_id = node_id(i);
    split.gain = gain(i);
    split.feature_id = feature_id(i);
    split.threshold = ctx_.input(layout_.thresholds(feature_)).data<int32_t>()[i];
    if (layout_.is_v2) {
      split.dimension_id = ctx_.input(layout_.dimensions(feature_)).data<int32_t>()[i];
      ASSIGN_OR_RETURN(split.type,
                       TypeOf(ctx_.input(layout_.types(feature_)).data<std::string>()[i]));
    }
    if (split.feature_id < 0 || split.dimension_id < 0) {
      return InvalidArgument("feature_ids and dimension_ids must not be negative, got ",
                             split.feature_id, " and ", split.dimension_id);
    }
    split.left = Contributions(layout_.left(feature_), i, learning_rate);
    split.right = Contributions(layout_.right(feature_), i, learning_rate);
    return split;
  }

 private:
  Candidates(Context& ctx, const UpdateLayout& layout, int64_t feature)
      : ctx_(ctx), layout_(layout), feature_(feature) {}

  Status CheckVector(int input, std::string_view name) const {
    RETURN_IF_ERROR(CheckInputRank(ctx_, input, 1, name));
    if (ctx_.input(input).num_elements() == count_) return OkStatus();
    return InvalidArgument(name, "[", feature_, "] has ", ctx_.input(input).num_elements(),
                           " elements, node_ids has ", count_);
  }
  Status CheckContributions(int input, std::string_view name) const {
    const Shape& shape = ctx_.input(input).shape();
    if (shape.rank() == 2 && shape.dim(0) == count_ && shape.dim(1) >= layout_.logits) {
      return OkStatus();
    }
    return InvalidArgument(name, "[", feature_, "] must have shape [", count_, ",", layout_.logits,
                           "], got ", shape);
  }
  // One id for all candidates of a feature: the older form has them all in one vector, the newer
  // one has an id for each candidate.
  Status FindIds() {
    const int64_t group = std::min(feature_, layout_.groups - 1);
    const Tensor& ids = ctx_.input(1 + static_cast<int>(group));
    RETURN_IF_ERROR(CheckInputRank(ctx_, 1 + static_cast<int>(group), 1, "feature_ids"));
    const bool is_each = layout_.groups == layout_.features && ids.num_elements() == count_;
    if (!is_each && (layout_.groups != 1 || ids.num_elements() != layout_.features)) {
      return InvalidArgument("feature_ids must have an element for each of ", layout_.features,
                             " features or of ", count_, " candidates, got shape ", ids.shape());
    }
    one_id_ = !is_each;
    ids_ = ids.data<int32_t>() + (is_each ? 0 : feature_);
    return OkStatus();
  }
  static Result<TreeSplit::Type> TypeOf(const std::string& name) {
    if (name == "INEQUALITY_DEFAULT_LEFT") return TreeSplit::Type::kDefaultLeft;
    if (name == "INEQUALITY_DEFAULT_RIGHT") return TreeSplit::Type::kDefaultRight;
    if (name == "EQUALITY_DEFAULT_RIGHT") return TreeSplit::Type::kEquality;
    return InvalidArgument("'", name, "' is no type of split");
  }
  std::vector<float> Contributions(int input, int64_t i, float learning_rate) const {
    const Tensor& t = ctx_.input(input);
    const float* row = t.data<float>() + i * t.shape().dim(1);
    std::vector<float> scaled(row, row + layout_.logits);
    for (float& v : scaled) v *= learning_rate;
    return scaled;
  }

  Context& ctx_;
  const UpdateLayout& layout_;
  int64_t feature_;
  int64_t count_ = 0;
  const int32_t* ids_ = nullptr;
  bool one_id_ = true;
};

// Of each node the split that gains most; of equal ones that of the lowest feature.
Result<BestSplits> FindBestSplits(Context& ctx, const UpdateLayout& layout, float learning_rate) {
  BestSplits best;
  compute::CancelLooks looks(ctx.work());
  for (int64_t f = 0; f < layout.features; ++f) {
    ASSIGN_OR_RETURN(const Candidates candidates, Candidates::Of(ctx, layout, f));
    for (int64_t i = 0; i < candidates.count(); ++i) {
      RETURN_IF_ERROR(looks.Did());
      const auto found = best.find(candidates.node_id(i));
      if (found != best.end()) {
        const bool better = AreEqualGains(candidates.gain(i), found->second.gain)
                                ? candidates.feature_id(i) < found->second.feature_id
                                : IsLargerGain(candidates.gain(i), found->second.gain);
        if (!better) continue;
      }
      ASSIGN_OR_RETURN(TreeSplit split, candidates.Split(i, learning_rate));
      best.insert_or_assign(split.node_id, std::move(split));
    }
  }
  return best;
}

size_t BytesOfTree(int64_t logits) {
  return 2 * (sizeof(Tree) + sizeof(TreeMetadata) + sizeof(TreeNode) + sizeof(float)) +
         static_cast<size_t>(logits) * sizeof(float);
}

// What one more layer, and then perhaps another tree, may hold. Vectors grow to twice their size.
Status ChargeLayer(Context& ctx, State& state, size_t splits, int64_t logits, bool prunes) {
  const size_t of_node = sizeof(TreeNode) + 2 * static_cast<size_t>(logits) * sizeof(float);
  size_t nodes = 2 * splits * 2;
  if (prunes && !state.ensemble.trees.empty()) nodes += state.ensemble.trees.back().nodes.size();
  return state.charge.Set(ctx.allocator(),
                          state.charge.bytes() + nodes * of_node + 2 * BytesOfTree(logits));
}

// Nodes of the tree that grows, which are to be split, must be its leaves.
Status CheckNodes(const TreeEnsemble& ensemble, const BestSplits& splits) {
  if (ensemble.num_trees() > 0 && ensemble.metadata.empty()) {
    return FailedPrecondition("the tree ensemble has no metadata, so its trees cannot grow");
  }
  for (const auto& [id, split] : splits) {
    const int64_t nodes =
        ensemble.num_trees() == 0 ? 1 : static_cast<int64_t>(ensemble.trees.back().nodes.size());
    if (id < 0 || id >= nodes ||
        (ensemble.num_trees() > 0 &&
         !ensemble.trees.back().nodes[static_cast<size_t>(id)].is_leaf())) {
      return InvalidArgument("node ", id, " is no leaf of the last tree, which has ", nodes,
                             " nodes");
    }
  }
  return OkStatus();
}

// One more; a count that comes from a message may be the last of its type.
template <class T>
void CountUp(T& count) {
  count = static_cast<T>(static_cast<std::make_unsigned_t<T>>(count) + 1U);
}

// Counts an attempt to grow a layer, and one to grow a tree where this is its first.
void CountAttempt(TreeEnsemble& ensemble) {
  ensemble.has_growth = true;
  CountUp(ensemble.layers_attempted);
  const size_t n = ensemble.metadata.size();
  const bool is_new = n == 0 || ((n == 1 || ensemble.metadata[n - 2].is_finalized) &&
                                 ensemble.metadata[n - 1].layers_grown == 0);
  if (is_new) CountUp(ensemble.trees_attempted);
}

struct GrowthLimits {
  int64_t max_depth = 0;
  int64_t pruning = kNoPruning;
  int64_t logits = 1;
};

// False where no node was made.
bool GrowLayer(TreeEnsemble& ensemble, const BestSplits& splits, const GrowthLimits& limits) {
  CountAttempt(ensemble);
  const bool is_first = ensemble.trees.empty();
  if (is_first) ensemble.AddTree(1.0F, limits.logits);
  if (splits.empty()) return is_first;
  const int tree = ensemble.num_trees() - 1;
  std::vector<TreeNode>& nodes = ensemble.trees.back().nodes;
  const auto first = static_cast<int32_t>(nodes.size());
  bool any = false;
  for (const auto& [id, split] : splits) {
    if (limits.pruning == kPrePruning && split.gain < 0) continue;
    ensemble.Split(tree, split);
    any = true;
  }
  if (!any) return is_first;
  ensemble.last_layer_start = first;
  ensemble.last_layer_end = static_cast<int32_t>(nodes.size());
  TreeMetadata& metadata = ensemble.metadata.back();
  CountUp(metadata.layers_grown);
  if (metadata.layers_grown < limits.max_depth) return true;
  metadata.is_finalized = true;
  if (limits.pruning == kPostPruning) ensemble.Prune(tree);
  ensemble.AddTree(1.0F, limits.logits);
  ensemble.last_layer_start = 0;
  ensemble.last_layer_end = 1;
  return true;
}

Status Update(Context& ctx, const UpdateLayout& layout, int64_t pruning) {
  ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees, ctx.Resource<TreeEnsembleResource>(0));
  GrowthLimits limits;
  limits.pruning = pruning;
  limits.logits = layout.logits;
  const int scalars = layout.scalars();
  ASSIGN_OR_RETURN(limits.max_depth, ScalarInput<int32_t>(ctx, scalars, "max_depth"));
  ASSIGN_OR_RETURN(const float learning_rate,
                   ScalarInput<float>(ctx, scalars + 1, "learning_rate"));
  HeapCharge finding;
  size_t candidates = 0;
  for (int64_t f = 0; f < layout.features; ++f) {
    candidates += static_cast<size_t>(ctx.input(layout.node_ids(f)).num_elements());
  }
  constexpr size_t kBytesOfEntry = sizeof(TreeSplit) + 64;
  RETURN_IF_ERROR(finding.Set(
      ctx.allocator(),
      candidates * (kBytesOfEntry + 2 * static_cast<size_t>(layout.logits) * sizeof(float))));
  ASSIGN_OR_RETURN(const BestSplits splits, FindBestSplits(ctx, layout, learning_rate));
  return trees->Change([&](State& state) -> Status {
    RETURN_IF_ERROR(CheckNodes(state.ensemble, splits));
    const size_t before = state.charge.bytes();
    RETURN_IF_ERROR(ChargeLayer(ctx, state, splits.size(), layout.logits, pruning == kPostPruning));
    CountUp(state.stamp);
    const bool has_grown = GrowLayer(state.ensemble, splits, limits);
    return has_grown ? OkStatus() : state.charge.Set(ctx.allocator(), before);
  });
}

class UpdateEnsembleCpu : public Kernel {
 public:
  UpdateEnsembleCpu(UpdateLayout layout, int64_t pruning) : layout_(layout), pruning_(pruning) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    UpdateLayout layout;
    ASSIGN_OR_RETURN(layout.features, c.Attr<int64_t>("num_features"));
    ASSIGN_OR_RETURN(const int64_t pruning, c.Attr<int64_t>("pruning_mode"));
    RETURN_IF_ERROR(CheckPruning(pruning));
    return std::unique_ptr<Kernel>(std::make_unique<UpdateEnsembleCpu>(layout, pruning));
  }
  static Status CheckPruning(int64_t pruning) {
    if (pruning >= kNoPruning && pruning <= kPostPruning) return OkStatus();
    return InvalidArgument("pruning_mode must be 0, 1 or 2, got ", pruning);
  }
  Status Compute(Context& ctx) override { return Update(ctx, layout_, pruning_); }

 private:
  const UpdateLayout layout_;
  const int64_t pruning_;
};

class UpdateEnsembleV2Cpu : public Kernel {
 public:
  explicit UpdateEnsembleV2Cpu(UpdateLayout layout) : layout_(layout) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    UpdateLayout layout;
    layout.is_v2 = true;
    ASSIGN_OR_RETURN(layout.features, c.Attr<int64_t>("num_features"));
    ASSIGN_OR_RETURN(layout.groups, c.Attr<int64_t>("num_groups"));
    ASSIGN_OR_RETURN(layout.logits, c.Attr<int64_t>("logits_dimension"));
    constexpr int64_t kMostLogits = int64_t{1} << 24;
    if (layout.logits < 1 || layout.logits > kMostLogits) {
      return InvalidArgument("logits_dimension must be in [1, ", kMostLogits, "], got ",
                             layout.logits);
    }
    return std::unique_ptr<Kernel>(std::make_unique<UpdateEnsembleV2Cpu>(layout));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const int64_t pruning,
                     ScalarInput<int32_t>(ctx, layout_.scalars() + 2, "pruning_mode"));
    RETURN_IF_ERROR(UpdateEnsembleCpu::CheckPruning(pruning));
    return Update(ctx, layout_, pruning);
  }

 private:
  const UpdateLayout layout_;
};

Status CenterBias(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees, ctx.Resource<TreeEnsembleResource>(0));
  ASSIGN_OR_RETURN(const float l1, ScalarInput<float>(ctx, 3, "l1"));
  ASSIGN_OR_RETURN(const float l2, ScalarInput<float>(ctx, 4, "l2"));
  const Tensor& gradients = ctx.input(1);
  const Tensor& hessians = ctx.input(2);
  if (gradients.num_elements() < 1 || hessians.num_elements() < 1) {
    return InvalidArgument("mean_gradients and mean_hessians must not be empty, got shapes ",
                           gradients.shape(), " and ", hessians.shape());
  }
  const float bias =
      WeightAndGain(gradients.data<float>()[0], hessians.data<float>()[0], l1, l2).weight;
  return trees->Change([&](State& state) -> Status {
    TreeEnsemble& ensemble = state.ensemble;
    if (ensemble.num_trees() > 0) {
      const TreeNode& root = ensemble.trees[0].nodes[0];
      if (!root.is_leaf() || root.leaf.values().size() != 1) {
        return FailedPrecondition("the first tree has grown, or has several logits: its bias ",
                                  "cannot be centered");
      }
    }
    bool goes_on = true;
    float current = bias;
    if (ensemble.num_trees() == 0) {
      RETURN_IF_ERROR(state.charge.Set(ctx.allocator(), state.charge.bytes() + BytesOfTree(1)));
      ensemble.AddTree(1.0F, 1);
    } else {
      constexpr float kLeastChange = 0.01F;
      current = ensemble.NodeValues(0, 0)[0];
      goes_on = std::abs(bias / current) > kLeastChange;
      current += bias;
    }
    CountUp(state.stamp);
    ensemble.SetRootValue(current);
    ctx.set_output(0, Tensor::Scalar(goes_on));
    return OkStatus();
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tree_growth, cpu) {
  registry.Add<UpdateEnsembleCpu>("BoostedTreesUpdateEnsemble", kCpu);
  registry.Add<UpdateEnsembleV2Cpu>("BoostedTreesUpdateEnsembleV2", kCpu);
  registry.AddFunction<CenterBias>("BoostedTreesCenterBias", kCpu);
}
