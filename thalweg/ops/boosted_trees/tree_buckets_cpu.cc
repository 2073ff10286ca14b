// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "thalweg/compute/work.h"
#include "thalweg/ops/boosted_trees/summary_tensor.h"
#include "thalweg/ops/boosted_trees/tree_inputs.h"

namespace thalweg {
namespace {

Status BucketizeForTrees(Context& ctx) {
  constexpr int64_t kGrain = 4096;
  const int features = ctx.num_outputs();
  for (int f = 0; f < features; ++f) {
    const Tensor& values = ctx.input(f);
    const std::span<const float> boundaries = ctx.input(features + f).flat<float>();
    if (ctx.input(features + f).shape().rank() != 1) {
      return InvalidArgument("Buckets should be flat vectors. Got shape ",
                             ctx.input(features + f).shape());
    }
    const int64_t count = values.num_elements();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(f, DType::kInt32, Shape{count}));
    const float* const from = values.data<float>();
    int32_t* const to = out->mutable_data<int32_t>();
    const auto last = std::max<int64_t>(static_cast<int64_t>(boundaries.size()) - 1, 0);
    RETURN_IF_ERROR(compute::ForBlocks(ctx.work(), count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = std::lower_bound(boundaries.begin(), boundaries.end(), from[i]);
        to[i] = static_cast<int32_t>(std::min<int64_t>(at - boundaries.begin(), last));
      }
    }));
  }
  return OkStatus();
}

Status MakeSummaries(Context& ctx) {
  const int features = ctx.num_outputs();
  ASSIGN_OR_RETURN(const float epsilon, ScalarInput<float>(ctx, features + 1, "epsilon"));
  if (!(epsilon > 0 && epsilon < 1)) {
    return InvalidArgument("An epsilon value of zero is not allowed. It must be in (0, 1), got ",
                           epsilon);
  }
  const std::span<const float> weights = ctx.input(features).flat<float>();
  for (int f = 0; f < features; ++f) {
    const std::span<const float> values = ctx.input(f).flat<float>();
    if (weights.size() != 1 && weights.size() != values.size()) {
      return InvalidArgument("Weights should be a single value or same size as features. Got ",
                             weights.size(), " weights of ", values.size(), " values");
    }
    const auto is_nan = [](float v) { return std::isnan(v); };
    if (const auto nan = std::find_if(values.begin(), values.end(), is_nan); nan != values.end()) {
      return InvalidArgument("float_values[", f, "] is NaN at ", nan - values.begin());
    }
    // A buffer of values with weights, and what is made of it.
    constexpr size_t kBytesOfValue = 2 * sizeof(float) + 2 * sizeof(QuantileEntry);
    HeapCharge charge;
    RETURN_IF_ERROR(charge.Set(ctx.allocator(), 2 * values.size() * kBytesOfValue));
    std::vector<float> same;
    if (weights.size() == 1) same.assign(values.size(), weights[0]);
    QuantileSketch sketch(static_cast<double>(epsilon), static_cast<int64_t>(values.size()) + 1);
    RETURN_IF_ERROR(sketch.AddValues(ctx.work(), values,
                                     weights.size() == 1 ? std::span<const float>(same) : weights));
    RETURN_IF_ERROR(SetSummaryOutput(ctx, f, sketch.Finish()));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tree_buckets, cpu) {
  registry.AddFunction<BucketizeForTrees>("BoostedTreesBucketize", kCpu);
  registry.AddFunction<MakeSummaries>("BoostedTreesMakeQuantileSummaries", kCpu);
}
