// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/compute/optimizer/sdca.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

using compute::SdcaFeature;
using compute::SdcaLoss;
using compute::SdcaProblem;

constexpr int64_t kMostRounds = 1 << 16;

Result<SdcaLoss> LossOf(const std::string& name) {
  if (name == "logistic_loss") return SdcaLoss::kLogistic;
  if (name == "squared_loss") return SdcaLoss::kSquared;
  if (name == "hinge_loss") return SdcaLoss::kHinge;
  if (name == "smooth_hinge_loss") return SdcaLoss::kSmoothHinge;
  if (name == "poisson_loss") return SdcaLoss::kPoisson;
  return InvalidArgument("Unsupported loss type: ", name);
}

Status CheckLabels(SdcaLoss loss, const Tensor& labels) {
  if (loss == SdcaLoss::kSquared) return OkStatus();
  for (const float label : labels.flat<float>()) {
    if (loss == SdcaLoss::kPoisson) {
      if (!(label >= 0)) {
        return InvalidArgument("Only non-negative labels can be used with the Poisson loss. Found ",
                               "example with label: ", label);
      }
    } else if (label != 0 && label != 1) {
      return InvalidArgument("Only labels of 0.0 or 1.0 are supported right now. Found example ",
                             "with label: ", label);
    }
  }
  return OkStatus();
}

// Where the arguments begin among the inputs.
struct Arguments {
  int examples = 0, features = 0, values = 0, dense = 0, weights = 0, labels = 0;
  int sparse_indices = 0, sparse_weights = 0, dense_weights = 0, state = 0;
  int num_sparse = 0, num_values = 0, num_dense = 0;
};

// All features of all examples, one weight behind the other: those of sparse groups, then those of
// dense ones.
class Features {
 public:
  static Result<Features> Of(const Context& ctx, const Arguments& a) {
    Features made;
    made.count_ = ctx.input(a.labels).num_elements();
    made.starts_.assign(static_cast<size_t>(made.count_) + 1, 0);
    for (int g = 0; g < a.num_sparse; ++g) RETURN_IF_ERROR(made.CheckSparse(ctx, a, g));
    for (int g = 0; g < a.num_dense; ++g) RETURN_IF_ERROR(made.CheckDense(ctx, a, g));
    for (size_t i = 1; i < made.starts_.size(); ++i) made.starts_[i] += made.starts_[i - 1];
    made.features_.resize(static_cast<size_t>(made.starts_.back()));
    std::vector<int64_t> next = made.starts_;
    for (int g = 0; g < a.num_sparse; ++g) RETURN_IF_ERROR(made.AddSparse(ctx, a, g, next));
    for (int g = 0; g < a.num_dense; ++g) made.AddDense(ctx, a, g, next);
    return made;
  }
  const std::vector<int64_t>& starts() const { return starts_; }
  const std::vector<SdcaFeature>& features() const { return features_; }
  const std::vector<float>& weights() const { return weights_; }

 private:
  Status CheckSparse(const Context& ctx, const Arguments& a, int g) {
    const Tensor &examples = ctx.input(a.examples + g), &features = ctx.input(a.features + g);
    if (examples.rank() != 1 || features.shape() != examples.shape()) {
      return InvalidArgument("sparse group ", g, ": example and feature indices must be vectors ",
                             "of one length, got shapes ", examples.shape(), " and ",
                             features.shape());
    }
    if (g < a.num_values && ctx.input(a.values + g).shape() != examples.shape()) {
      return InvalidArgument("sparse group ", g, ": feature values must be as many as indices, ",
                             "got shapes ", ctx.input(a.values + g).shape(), " and ",
                             examples.shape());
    }
    const Tensor &indices = ctx.input(a.sparse_indices + g),
                 &weights = ctx.input(a.sparse_weights + g);
    if (indices.rank() != 1 || indices.num_elements() != weights.num_elements()) {
      return InvalidArgument("sparse group ", g, ": sparse_indices must be a vector, with a ",
                             "weight for each, got shapes ", indices.shape(), " and ",
                             weights.shape());
    }
    for (const int64_t i : examples.flat<int64_t>()) {
      if (i < 0 || i >= count_) {
        return InvalidArgument("sparse group ", g, ": example ", i, " is not in [0, ", count_, ")");
      }
      ++starts_[static_cast<size_t>(i) + 1];
    }
    return OkStatus();
  }
  Status CheckDense(const Context& ctx, const Arguments& a, int g) {
    const Tensor &values = ctx.input(a.dense + g), &weights = ctx.input(a.dense_weights + g);
    if (values.rank() != 2) {
      return InvalidArgument("Dense features at index ", g, " must be rank 2 but is rank ",
                             values.rank());
    }
    if (values.dim(0) != count_) {
      return InvalidArgument("Dense features should be matrices with a row for each of ", count_,
                             " examples, group ", g, " has shape ", values.shape());
    }
    if (weights.num_elements() != values.dim(1)) {
      return InvalidArgument("dense group ", g, " has ", values.dim(1), " features, but weights ",
                             "of shape ", weights.shape());
    }
    for (int64_t i = 1; i <= count_; ++i) starts_[static_cast<size_t>(i)] += values.dim(1);
    return OkStatus();
  }

  // Where the group's weights begin.
  int64_t AddWeights(const Tensor& weights) {
    const auto first = static_cast<int64_t>(weights_.size());
    const auto values = weights.flat<float>();
    weights_.insert(weights_.end(), values.begin(), values.end());
    return first;
  }
  SdcaFeature& Next(std::vector<int64_t>& next, int64_t example) {
    return features_[static_cast<size_t>(next[static_cast<size_t>(example)]++)];
  }

  Status AddSparse(const Context& ctx, const Arguments& a, int g, std::vector<int64_t>& next) {
    const int64_t first = AddWeights(ctx.input(a.sparse_weights + g));
    std::unordered_map<int64_t, int64_t> place;
    for (const int64_t feature : ctx.input(a.sparse_indices + g).flat<int64_t>()) {
      place.emplace(feature, first + static_cast<int64_t>(place.size()));
    }
    if (static_cast<int64_t>(place.size()) != ctx.input(a.sparse_indices + g).num_elements()) {
      return InvalidArgument("sparse group ", g, ": sparse_indices has a feature twice");
    }
    const auto examples = ctx.input(a.examples + g).flat<int64_t>();
    const auto features = ctx.input(a.features + g).flat<int64_t>();
    const float* values = g < a.num_values ? ctx.input(a.values + g).data<float>() : nullptr;
    for (size_t k = 0; k < examples.size(); ++k) {
      const auto it = place.find(features[k]);
      if (it == place.end()) {
        return InvalidArgument("Found sparse feature indices out of valid range: group ", g,
                               " has no weight for feature ", features[k]);
      }
      Next(next, examples[k]) = {it->second, values == nullptr ? 1.0f : values[k]};
    }
    return OkStatus();
  }
  void AddDense(const Context& ctx, const Arguments& a, int g, std::vector<int64_t>& next) {
    const int64_t first = AddWeights(ctx.input(a.dense_weights + g));
    const Tensor& values = ctx.input(a.dense + g);
    for (int64_t i = 0; i < count_; ++i) {
      for (int64_t k = 0; k < values.dim(1); ++k) {
        Next(next, i) = {first + k, values.data<float>()[i * values.dim(1) + k]};
      }
    }
  }

  int64_t count_ = 0;
  std::vector<int64_t> starts_;
  std::vector<SdcaFeature> features_;
  std::vector<float> weights_;
};

class SdcaCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<SdcaCpu>();
    SdcaProblem& p = kernel->problem_;
    ASSIGN_OR_RETURN(const std::string loss, c.Attr<std::string>("loss_type"));
    ASSIGN_OR_RETURN(p.loss, LossOf(loss));
    const bool second = c.node().FindAttr("adaptive") != nullptr;
    ASSIGN_OR_RETURN(p.adaptive, c.Attr<bool>(second ? "adaptive" : "adaptative"));
    ASSIGN_OR_RETURN(const float l1, c.Attr<float>("l1"));
    ASSIGN_OR_RETURN(const float l2, c.Attr<float>("l2"));
    p.l1 = static_cast<double>(l1);
    p.l2 = static_cast<double>(l2);
    ASSIGN_OR_RETURN(const int64_t partitions, Int32Attr(c, "num_loss_partitions"));
    p.partitions = static_cast<double>(partitions);
    ASSIGN_OR_RETURN(p.iterations, Int32Attr(c, "num_inner_iterations"));
    if (p.iterations > kMostRounds) {
      return InvalidArgument("num_inner_iterations must be at most ", kMostRounds, ", got ",
                             p.iterations);
    }
    RETURN_IF_ERROR(kernel->FindArguments(c.node()));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckExamples(ctx));
    ASSIGN_OR_RETURN(const Features features, Features::Of(ctx, at_));
    SdcaProblem p = problem_;
    p.examples = ctx.input(at_.labels).num_elements();
    p.starts = features.starts().data();
    p.features = features.features().data();
    p.weights = features.weights();
    p.labels = ctx.input(at_.labels).data<float>();
    p.example_weights = ctx.input(at_.weights).data<float>();
    const Tensor& before = ctx.input(at_.state);
    ASSIGN_OR_RETURN(Tensor * state, ctx.AllocateOutput(0, DType::kFloat, before.shape()));
    std::copy_n(before.data<float>(), before.num_elements(), state->mutable_data<float>());
    std::vector<float> deltas(features.weights().size());
    RETURN_IF_ERROR(compute::RunSdca(ctx.work(), p, state->mutable_data<float>(), deltas.data()));
    const float* delta = deltas.data();
    for (int k = 0; k < at_.num_sparse + at_.num_dense; ++k) {
      const Tensor& weights = ctx.input(at_.sparse_weights + k);
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(k + 1, DType::kFloat, weights.shape()));
      std::copy_n(delta, weights.num_elements(), out->mutable_data<float>());
      delta += weights.num_elements();
    }
    return OkStatus();
  }

 private:
  Status FindArguments(const Node& node) {
    const auto first = [&](std::string_view name) -> Result<int> {
      ASSIGN_OR_RETURN(const auto range, node.InputRange(name));
      return range.first;
    };
    ASSIGN_OR_RETURN(at_.examples, first("sparse_example_indices"));
    ASSIGN_OR_RETURN(at_.features, first("sparse_feature_indices"));
    ASSIGN_OR_RETURN(at_.values, first("sparse_feature_values"));
    ASSIGN_OR_RETURN(at_.dense, first("dense_features"));
    ASSIGN_OR_RETURN(at_.weights, first("example_weights"));
    ASSIGN_OR_RETURN(at_.labels, first("example_labels"));
    ASSIGN_OR_RETURN(at_.sparse_indices, first("sparse_indices"));
    ASSIGN_OR_RETURN(at_.sparse_weights, first("sparse_weights"));
    ASSIGN_OR_RETURN(at_.dense_weights, first("dense_weights"));
    ASSIGN_OR_RETURN(at_.state, first("example_state_data"));
    at_.num_sparse = at_.features - at_.examples;
    at_.num_values = at_.dense - at_.values;
    at_.num_dense = at_.weights - at_.dense;
    if (at_.num_values <= at_.num_sparse) return OkStatus();
    return InvalidArgument("num_sparse_features_with_values must be at most num_sparse_features, ",
                           at_.num_sparse, ", got ", at_.num_values);
  }

  Status CheckExamples(const Context& ctx) const {
    const Tensor &labels = ctx.input(at_.labels), &weights = ctx.input(at_.weights),
                 &state = ctx.input(at_.state);
    if (labels.rank() != 1 || weights.shape() != labels.shape()) {
      return InvalidArgument("example_labels and example_weights must be vectors of one length, ",
                             "got shapes ", labels.shape(), " and ", weights.shape());
    }
    if (state.rank() != 2) {
      return InvalidArgument("example_state_data must be rank 2 but is rank ", state.rank());
    }
    if (state.dim(0) != labels.dim(0) || state.dim(1) != 4) {
      return InvalidArgument("Expecting example_state_data of shape [", labels.dim(0), ", 4], got ",
                             state.shape());
    }
    return CheckLabels(problem_.loss, labels);
  }

  SdcaProblem problem_;
  Arguments at_;
};

class ShrinkCpu : public Kernel {
 public:
  explicit ShrinkCpu(double amount) : amount_(amount) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const float l1, c.Attr<float>("l1"));
    ASSIGN_OR_RETURN(const float l2, c.Attr<float>("l2"));
    return std::unique_ptr<Kernel>(
        std::make_unique<ShrinkCpu>(static_cast<double>(l1) / static_cast<double>(l2)));
  }

  Status Compute(Context& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, i));
      Variable::Update update(*variable, true);
      ASSIGN_OR_RETURN(Tensor * weights, update.Writable(ctx.allocator()));
      if (weights->dtype() != DType::kFloat) {
        return InvalidArgument("weights must be float32, variable '", variable->name(), "' is ",
                               weights->dtype());
      }
      auto* const w = weights->mutable_data<float>();
      for (int64_t k = 0; k < weights->num_elements(); ++k) {
        w[k] = static_cast<float>(compute::ShrinkWeight(static_cast<double>(w[k]), amount_));
      }
      update.Commit();
    }
    return OkStatus();
  }

 private:
  const double amount_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sdca, cpu) {
  registry.Add<SdcaCpu>("SdcaOptimizer", kCpu);
  registry.Add<SdcaCpu>("SdcaOptimizerV2", kCpu);
  registry.Add<ShrinkCpu>("SdcaShrinkL1", kCpu);
}
