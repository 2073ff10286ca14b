// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/ops/random/class_distribution.h"
#include "thalweg/ops/random/random_stream.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

constexpr size_t kMostWords = size_t{1} << 27;

// Skip-gram with negative sampling (Mikolov et al. 2013): words are drawn by their count to the
// power of 3/4. Examples one after the other: the numbers drawn are the only randomness.
class NegTrainCpu : public RandomKernel {
 public:
  NegTrainCpu(std::unique_ptr<Stream> stream, const std::vector<float>& weights, int64_t negatives)
      : RandomKernel(std::move(stream)),
        num_words_(static_cast<int64_t>(weights.size())),
        words_(weights),
        negatives_(negatives) {}

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const auto counts, c.Attr<std::vector<int64_t>>("vocab_count"));
    RETURN_IF_ERROR(CheckInt32(counts, "vocab_count"));
    ASSIGN_OR_RETURN(const int64_t negatives, Int32Attr(c, "num_negative_samples"));
    if (negatives < 0 || negatives > (1 << 20)) {
      return InvalidArgument("num_negative_samples must be in [0, 2^20], got ", negatives);
    }
    if (counts.size() > kMostWords) return InvalidArgument("vocab_count is too long");
    std::vector<float> weights;
    bool any = false;
    for (const int64_t count : counts) {
      if (count < 0) return InvalidArgument("vocab_count must not be negative, got ", count);
      weights.push_back(std::pow(static_cast<float>(count), 0.75f));
      any |= count > 0;
    }
    if (!any) weights.assign(weights.size(), 1);
    auto stream = std::make_unique<Stream>(RandomSeed(), RandomSeed());
    return std::unique_ptr<Kernel>(
        std::make_unique<NegTrainCpu>(std::move(stream), weights, negatives));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> in, VariableOf(ctx, 0));
    ASSIGN_OR_RETURN(const RefPtr<Variable> out, VariableOf(ctx, 1));
    if (in.get() == out.get()) {
      return InvalidArgument("w_in and w_out must be different variables, both are '", in->name(),
                             "'");
    }
    Variable::Updates updates;
    ASSIGN_OR_RETURN(const std::vector<Tensor*> tensors,
                     updates.Open({in, out}, ctx.allocator(), /*use_locking=*/true));
    Tensor &w_in = *tensors[0], &w_out = *tensors[1];
    RETURN_IF_ERROR(Check(ctx, w_in, w_out));
    RETURN_IF_ERROR(Train(ctx, w_in, w_out));
    updates.Commit();
    return OkStatus();
  }

 private:
  Status Check(const Context& ctx, const Tensor& w_in, const Tensor& w_out) const {
    if (w_in.rank() != 2 || w_in.dtype() != DType::kFloat || w_out.dtype() != DType::kFloat) {
      return InvalidArgument("w_in and w_out must be matrices of float32, got ", w_in.dtype(),
                             w_in.shape(), " and ", w_out.dtype(), w_out.shape());
    }
    if (w_in.shape() != w_out.shape()) {
      return InvalidArgument("w_in.shape == w_out.shape, got ", w_in.shape(), " and ",
                             w_out.shape());
    }
    if (w_in.dim(0) != num_words_) {
      return InvalidArgument("vocab_size mismatches: ", w_in.dim(0), " vs. ", num_words_);
    }
    const Tensor &examples = ctx.input(2), &labels = ctx.input(3);
    if (examples.rank() != 1 || examples.shape() != labels.shape()) {
      return InvalidArgument("examples and labels must be vectors of one length, got shapes ",
                             examples.shape(), " and ", labels.shape());
    }
    if (ctx.input(4).rank() != 0) {
      return InvalidArgument("lr must be a scalar, got shape ", ctx.input(4).shape());
    }
    for (const Tensor* words : {&examples, &labels}) {
      for (const int32_t word : words->flat<int32_t>()) {
        if (word < 0 || word >= w_in.dim(0)) {
          return InvalidArgument("word ", word, " is not in [0, ", w_in.dim(0), ")");
        }
      }
    }
    return OkStatus();
  }

  Status Train(Context& ctx, Tensor& w_in, Tensor& w_out) {
    const auto examples = ctx.input(2).flat<int32_t>(), labels = ctx.input(3).flat<int32_t>();
    const float lr = ctx.input(4).scalar<float>();
    const auto size = static_cast<size_t>(w_in.dim(1));
    std::vector<float> moved(size);
    const auto drawn = static_cast<int64_t>(examples.size()) * (negatives_ + 1);
    compute::PhiloxNumbers numbers(stream().Reserve(compute::ReservedBlocks(drawn)));
    for (size_t i = 0; i < examples.size(); ++i) {
      if (ctx.work().cancelled()) return CancelledStep();
      float* const center = w_in.mutable_data<float>() + static_cast<size_t>(examples[i]) * size;
      std::fill(moved.begin(), moved.end(), 0.0f);
      const auto move = [&](int64_t word, bool beside) {
        float* const other = w_out.mutable_data<float>() + static_cast<size_t>(word) * size;
        float product = 0;
        for (size_t k = 0; k < size; ++k) product += center[k] * other[k];
        const float by = beside ? lr / (1 + std::exp(product)) : -lr / (1 + std::exp(-product));
        for (size_t k = 0; k < size; ++k) {
          moved[k] += other[k] * by;
          other[k] += center[k] * by;
        }
      };
      move(labels[i], true);
      for (int64_t n = 0; n < negatives_; ++n) {
        const int64_t word = words_.Draw(numbers);
        if (word != labels[i]) move(word, false);
      }
      for (size_t k = 0; k < size; ++k) center[k] += moved[k];
    }
    return OkStatus();
  }

  const int64_t num_words_;
  WeightedClasses words_;
  const int64_t negatives_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(neg_train, cpu) { registry.Add<NegTrainCpu>("NegTrain", kCpu).KeepsState(); }
