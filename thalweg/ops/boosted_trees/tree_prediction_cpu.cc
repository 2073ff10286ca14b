// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "thalweg/base/mutex.h"
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/work.h"
#include "thalweg/ops/boosted_trees/tree_inputs.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/resources/tree_ensemble.h"

namespace thalweg {
namespace {

// One example on its way through the trees.
class Walk {
 public:
  Walk(const TreeEnsemble& ensemble, const BucketColumns& columns, int64_t example)
      : ensemble_(ensemble), columns_(columns), example_(example) {}

  // The child to which the example goes from a split.
  Result<int32_t> Next(int tree, int32_t node) const {
    const TreeNode& split =
        ensemble_.trees[static_cast<size_t>(tree)].nodes[static_cast<size_t>(node)];
    const int32_t* const value = columns_.Find(example_, split.feature_id, split.dimension_id);
    if (value == nullptr) {
      return InvalidArgument("node ", node, " of tree ", tree, " splits by dimension ",
                             split.dimension_id, " of feature ", split.feature_id,
                             ", which bucketized_features do not have");
    }
    return NextTreeNode(split, *value);
  }

  bool IsLeaf(int tree, int32_t node) const {
    return ensemble_.trees[static_cast<size_t>(tree)].nodes[static_cast<size_t>(node)].is_leaf();
  }

  // The leaf to which it comes from `node`.
  Result<int32_t> ToLeaf(int tree, int32_t node) const {
    while (!IsLeaf(tree, node)) {
      ASSIGN_OR_RETURN(node, Next(tree, node));
    }
    return node;
  }

  // sum += factor * what the node adds.
  Status Add(int tree, int32_t node, float factor, std::span<float> sum) const {
    const std::span<const float> values = ensemble_.NodeValues(tree, node);
    if (values.empty()) return OkStatus();
    if (values.size() < sum.size()) {
      return InvalidArgument("node ", node, " of tree ", tree, " has ", values.size(),
                             " logits, expected ", sum.size());
    }
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * values[i];
    return OkStatus();
  }

 private:
  const TreeEnsemble& ensemble_;
  const BucketColumns& columns_;
  const int64_t example_;
};

// example(i) -> Status for all of them, on several threads; the first error found.
template <class F>
Status ForExamples(compute::Work& work, int64_t count, const F& example) {
  constexpr int64_t kGrain = 256;
  Mutex mutex;
  Status first;
  RETURN_IF_ERROR(compute::ForBlocks(work, count, kGrain, [&](int64_t begin, int64_t end) {
    Status status;
    for (int64_t i = begin; i < end && status.ok() && !work.cancelled(); ++i) status = example(i);
    if (status.ok()) return;
    MutexLock lock(mutex);
    if (first.ok()) first = std::move(status);
  }));
  return first;
}

struct PredictionAttrs {
  int64_t features = 0, logits = 0;
  static Result<PredictionAttrs> Of(const KernelConstruction& c) {
    PredictionAttrs attrs;
    ASSIGN_OR_RETURN(attrs.features, c.Attr<int64_t>("num_bucketized_features"));
    ASSIGN_OR_RETURN(attrs.logits, c.Attr<int64_t>("logits_dimension"));
    if (attrs.logits >= 1) return attrs;
    return InvalidArgument("logits_dimension must be above 0, got ", attrs.logits);
  }
};

template <class K>
Result<std::unique_ptr<Kernel>> MakePrediction(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const PredictionAttrs attrs, PredictionAttrs::Of(c));
  return std::unique_ptr<Kernel>(std::make_unique<K>(attrs));
}

// A row of logits for each example, all zeros.
Result<float*> AllocateLogits(Context& ctx, int64_t batch, int64_t logits) {
  if (batch > 0 && logits > (int64_t{1} << 40) / batch) {
    return InvalidArgument(logits, " logits of ", batch, " examples are too many");
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, Shape{batch, logits}));
  std::fill_n(out->mutable_data<float>(), batch * logits, 0.0F);
  return out->mutable_data<float>();
}

class PredictCpu : public Kernel {
 public:
  explicit PredictCpu(PredictionAttrs attrs) : attrs_(attrs) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakePrediction<PredictCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees,
                     ctx.Resource<TreeEnsembleResource>(0));
    ASSIGN_OR_RETURN(const BucketColumns columns, BucketColumns::Of(ctx, 1, attrs_.features));
    ASSIGN_OR_RETURN(float* const out, AllocateLogits(ctx, columns.batch_size(), attrs_.logits));
    return trees->Read([&](const TreeEnsembleResource::State& state) -> Status {
      const TreeEnsemble& ensemble = state.ensemble;
      return ForExamples(ctx.work(), columns.batch_size(), [&](int64_t i) -> Status {
        const Walk walk(ensemble, columns, i);
        const std::span<float> sum(out + i * attrs_.logits, static_cast<size_t>(attrs_.logits));
        for (int tree = 0; tree < ensemble.num_trees(); ++tree) {
          ASSIGN_OR_RETURN(const int32_t leaf, walk.ToLeaf(tree, 0));
          RETURN_IF_ERROR(walk.Add(tree, leaf, ensemble.weights[static_cast<size_t>(tree)], sum));
        }
        return OkStatus();
      });
    });
  }

 private:
  const PredictionAttrs attrs_;
};

class TrainingPredictCpu : public Kernel {
 public:
  explicit TrainingPredictCpu(PredictionAttrs attrs) : attrs_(attrs) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakePrediction<TrainingPredictCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees,
                     ctx.Resource<TreeEnsembleResource>(0));
    ASSIGN_OR_RETURN(const BucketColumns columns, BucketColumns::Of(ctx, 3, attrs_.features));
    const int64_t batch = columns.batch_size();
    for (const int i : {1, 2}) {
      if (ctx.input(i).num_elements() == batch) continue;
      return InvalidArgument(i == 1 ? "cached_tree_ids" : "cached_node_ids", " must be those of ",
                             batch, " examples, got shape ", ctx.input(i).shape());
    }
    ASSIGN_OR_RETURN(float* const out, AllocateLogits(ctx, batch, attrs_.logits));
    ASSIGN_OR_RETURN(Tensor * tree_ids, ctx.AllocateOutput(1, DType::kInt32, Shape{batch}));
    ASSIGN_OR_RETURN(Tensor * node_ids, ctx.AllocateOutput(2, DType::kInt32, Shape{batch}));
    return trees->Read([&](const TreeEnsembleResource::State& state) -> Status {
      const int last = state.ensemble.num_trees() - 1;
      std::fill_n(tree_ids->mutable_data<int32_t>(), batch, std::max(last, 0));
      if (last < 0) {
        std::fill_n(node_ids->mutable_data<int32_t>(), batch, 0);
        return OkStatus();
      }
      return ForExamples(ctx.work(), batch, [&](int64_t i) {
        return Continue(ctx, state.ensemble, columns, i,
                        {out + i * attrs_.logits, static_cast<size_t>(attrs_.logits)},
                        node_ids->mutable_data<int32_t>() + i);
      });
    });
  }

 private:
  // Goes on from where the example was.
  static Status Continue(Context& ctx, const TreeEnsemble& ensemble, const BucketColumns& columns,
                         int64_t i, std::span<float> sum, int32_t* node_id) {
    const Walk walk(ensemble, columns, i);
    int32_t tree = ctx.input(1).data<int32_t>()[i];
    int32_t node = ctx.input(2).data<int32_t>()[i];
    const int last = ensemble.num_trees() - 1;
    if (tree < 0 || tree > last) {
      return InvalidArgument("cached_tree_ids[", i, "] = ", tree, " is not in [0, ", last + 1, ")");
    }
    std::vector<float> partial(sum.size());
    if (node >= 0) {
      const int32_t now = ensemble.AfterPruning(tree, node, partial);
      if (now < 0) {
        return InvalidArgument("cached_node_ids[", i, "] = ", node, " is no node of tree ", tree);
      }
      node = now;
      // A leaf is added again below; what has grown from it holds what it was.
      RETURN_IF_ERROR(walk.Add(tree, node, -1, partial));
    } else {
      node = 0;
    }
    for (;; ++tree, node = 0) {
      ASSIGN_OR_RETURN(node, walk.ToLeaf(tree, node));
      RETURN_IF_ERROR(walk.Add(tree, node, 1, partial));
      const float weight = ensemble.weights[static_cast<size_t>(tree)];
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += weight * partial[k];
      if (tree == last) break;
      std::fill(partial.begin(), partial.end(), 0.0F);
    }
    *node_id = node;
    return OkStatus();
  }

  const PredictionAttrs attrs_;
};

// A DebugOutput message.
std::string DebugBytes(const std::vector<int32_t>& features, const std::vector<float>& logits) {
  std::string ids, out;
  for (const int32_t id : features) AppendVarint(ids, static_cast<uint64_t>(int64_t{id}));
  if (!ids.empty()) AddWireText(1, ids, &out);
  AppendTag(out, 2, WireType::kLengthDelimited);
  AppendVarint(out, logits.size() * sizeof(float));
  for (const float value : logits) AppendFixed32(out, std::bit_cast<uint32_t>(value));
  return out;
}

class DebugOutputsCpu : public Kernel {
 public:
  explicit DebugOutputsCpu(PredictionAttrs attrs) : attrs_(attrs) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const PredictionAttrs attrs, PredictionAttrs::Of(c));
    if (attrs.logits != 1) {
      return InvalidArgument("Currently only one dimensional outputs are supported. Got ",
                             attrs.logits, " logits");
    }
    return std::unique_ptr<Kernel>(std::make_unique<DebugOutputsCpu>(attrs));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees,
                     ctx.Resource<TreeEnsembleResource>(0));
    ASSIGN_OR_RETURN(const BucketColumns columns, BucketColumns::Of(ctx, 1, attrs_.features));
    const int64_t batch = columns.batch_size();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape{batch}));
    std::string* const messages = out->mutable_data<std::string>();
    return trees->Read([&](const TreeEnsembleResource::State& state) -> Status {
      compute::CancelLooks looks(ctx.work());
      // Each message is put together from parts that are smaller than what the ensemble holds.
      HeapCharge charge;
      size_t bytes = state.charge.bytes();
      RETURN_IF_ERROR(charge.Set(ctx.allocator(), bytes));
      for (int64_t i = 0; i < batch; ++i) {
        ASSIGN_OR_RETURN(messages[i], Explain(state.ensemble, columns, i, looks));
        bytes += messages[i].capacity();
        RETURN_IF_ERROR(charge.Set(ctx.allocator(), bytes));
      }
      return OkStatus();
    });
  }

 private:
  static Result<std::string> Explain(const TreeEnsemble& ensemble, const BucketColumns& columns,
                                     int64_t i, compute::CancelLooks& looks) {
    const Walk walk(ensemble, columns, i);
    std::vector<int32_t> features;
    std::vector<float> logits;
    float before = 0;  // what all trees before this one add
    for (int tree = 0; tree < ensemble.num_trees(); ++tree) {
      const float weight = ensemble.weights[static_cast<size_t>(tree)];
      const auto& nodes = ensemble.trees[static_cast<size_t>(tree)].nodes;
      const auto value = [&](int32_t node, float* sum) -> Status {
        float v = 0;
        RETURN_IF_ERROR(walk.Add(tree, node, 1, {&v, 1}));
        *sum = weight * v;
        return OkStatus();
      };
      float now = 0;
      // The first tree begins with the bias.
      RETURN_IF_ERROR(value(0, &now));
      if (tree == 0) logits.push_back(now);
      for (int32_t node = 0; !walk.IsLeaf(tree, node);) {
        RETURN_IF_ERROR(looks.Did());
        features.push_back(nodes[static_cast<size_t>(node)].feature_id);
        ASSIGN_OR_RETURN(node, walk.Next(tree, node));
        RETURN_IF_ERROR(value(node, &now));
        logits.push_back(before + now);
      }
      before += now;
    }
    if (logits.empty()) logits.push_back(0);
    return DebugBytes(features, logits);
  }

  const PredictionAttrs attrs_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tree_prediction, cpu) {
  registry.Add<PredictCpu>("BoostedTreesPredict", kCpu);
  registry.Add<TrainingPredictCpu>("BoostedTreesTrainingPredict", kCpu);
  registry.Add<DebugOutputsCpu>("BoostedTreesExampleDebugOutputs", kCpu);
}
