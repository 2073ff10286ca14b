// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/sort.h"
#include "thalweg/ops/boosted_trees/tree_inputs.h"

namespace thalweg {
namespace {

// Nodes, gradients and hessians of examples: inputs 0 to 2.
struct ExampleStats {
  int64_t batch = 0, splits = 0, buckets = 0;
  int64_t gradient_dims = 0, hessian_dims = 0;
  const int32_t* nodes = nullptr;
  const float *gradients = nullptr, *hessians = nullptr;

  int64_t stats() const { return gradient_dims + hessian_dims; }
  // sums[...] += what example i has.
  void Add(int64_t i, float* sums) const {
    for (int64_t k = 0; k < gradient_dims; ++k) sums[k] += gradients[i * gradient_dims + k];
    for (int64_t k = 0; k < hessian_dims; ++k) {
      sums[gradient_dims + k] += hessians[i * hessian_dims + k];
    }
  }
  static Result<ExampleStats> Of(Context& ctx, int64_t splits, int64_t buckets) {
    ExampleStats s;
    s.splits = splits;
    s.buckets = buckets;
    RETURN_IF_ERROR(CheckInputRank(ctx, 0, 1, "node_ids"));
    RETURN_IF_ERROR(CheckInputRank(ctx, 1, 2, "gradients"));
    RETURN_IF_ERROR(CheckInputRank(ctx, 2, 2, "hessians"));
    const Shape &gradients = ctx.input(1).shape(), &hessians = ctx.input(2).shape();
    s.batch = ctx.input(0).num_elements();
    if (gradients.dim(0) != s.batch || hessians.dim(0) != s.batch) {
      return InvalidArgument("gradients and hessians must be of ", s.batch,
                             " examples, got shapes ", gradients, " and ", hessians);
    }
    s.gradient_dims = gradients.dim(1);
    s.hessian_dims = hessians.dim(1);
    s.nodes = ctx.input(0).data<int32_t>();
    s.gradients = ctx.input(1).data<float>();
    s.hessians = ctx.input(2).data<float>();
    for (int64_t i = 0; i < s.batch; ++i) {
      if (s.nodes[i] < 0 || s.nodes[i] >= splits) {
        return InvalidArgument("node_ids[", i, "] = ", s.nodes[i], " is not in [0, ", splits, ")");
      }
    }
    return s;
  }
};

Status CheckBucket(int64_t bucket, int64_t buckets, int64_t example) {
  if (bucket >= 0 && bucket < buckets) return OkStatus();
  return InvalidArgument("bucket ", bucket, " of example ", example, " is not in [0, ", buckets,
                         ")");
}

// An output of zeros; ResourceExhausted or InvalidArgument where attributes ask for too much.
Result<float*> AllocateSums(Context& ctx, std::initializer_list<int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim > 0 && count > std::numeric_limits<int64_t>::max() / 4 / dim) {
      return InvalidArgument("max_splits and num_buckets ask for too many sums");
    }
    count *= dim;
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, Shape(dims)));
  std::fill_n(out->mutable_data<float>(), count, 0.0F);
  return out->mutable_data<float>();
}

// A kernel with the attributes max_splits and num_buckets.
class StatsKernel : public Kernel {
 public:
  StatsKernel(int64_t splits, int64_t buckets) : splits_(splits), buckets_(buckets) {}

 protected:
  template <class K>
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t splits, c.Attr<int64_t>("max_splits"));
    ASSIGN_OR_RETURN(const int64_t buckets, c.Attr<int64_t>("num_buckets"));
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
    if (splits < 1 || splits > kMost || buckets < 1 || buckets > kMost) {
      return InvalidArgument("max_splits and num_buckets must be in [1, ", kMost, "], got ", splits,
                             " and ", buckets);
    }
    return std::unique_ptr<Kernel>(std::make_unique<K>(splits, buckets));
  }

  const int64_t splits_, buckets_;
};

class MakeStatsCpu : public StatsKernel {
 public:
  using StatsKernel::StatsKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<MakeStatsCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const ExampleStats s, ExampleStats::Of(ctx, splits_, buckets_));
    if (s.gradient_dims != 1 || s.hessian_dims != 1) {
      return InvalidArgument("gradients and hessians must have one column, got shapes ",
                             ctx.input(1).shape(), " and ", ctx.input(2).shape());
    }
    const int64_t features = ctx.num_inputs() - 3;
    ASSIGN_OR_RETURN(float* const sums, AllocateSums(ctx, {features, splits_, buckets_, 2}));
    compute::CancelLooks looks(ctx.work());
    for (int64_t f = 0; f < features; ++f) {
      const int input = 3 + static_cast<int>(f);
      RETURN_IF_ERROR(CheckInputRank(ctx, input, 1, "bucketized_features_list"));
      if (ctx.input(input).num_elements() != s.batch) {
        return InvalidArgument("bucketized_features_list[", f, "] must be of ", s.batch,
                               " examples, got shape ", ctx.input(input).shape());
      }
      const int32_t* const buckets = ctx.input(input).data<int32_t>();
      for (int64_t i = 0; i < s.batch; ++i) {
        RETURN_IF_ERROR(looks.Did());
        RETURN_IF_ERROR(CheckBucket(buckets[i], buckets_, i));
        s.Add(i, sums + ((f * splits_ + s.nodes[i]) * buckets_ + buckets[i]) * 2);
      }
    }
    return OkStatus();
  }
};

class AggregateStatsCpu : public StatsKernel {
 public:
  using StatsKernel::StatsKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<AggregateStatsCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const ExampleStats s, ExampleStats::Of(ctx, splits_, buckets_));
    RETURN_IF_ERROR(CheckInputRank(ctx, 3, 2, "feature"));
    const Shape& shape = ctx.input(3).shape();
    if (shape.dim(0) != s.batch) {
      return InvalidArgument("feature must be of ", s.batch, " examples, got shape ", shape);
    }
    const int64_t dims = shape.dim(1);
    ASSIGN_OR_RETURN(float* const sums,
                     AllocateSums(ctx, {splits_, dims, buckets_ + 1, s.stats()}));
    const int32_t* const buckets = ctx.input(3).data<int32_t>();
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < s.batch; ++i) {
      RETURN_IF_ERROR(looks.Did(dims));
      for (int64_t d = 0; d < dims; ++d) {
        int64_t bucket = buckets[i * dims + d];
        if (bucket == -1) bucket = buckets_;
        RETURN_IF_ERROR(CheckBucket(bucket, buckets_ + 1, i));
        s.Add(i, sums + ((s.nodes[i] * dims + d) * (buckets_ + 1) + bucket) * s.stats());
      }
    }
    return OkStatus();
  }
};

// One value that is there: of which example, in which dimension and bucket.
struct SparseValue {
  int32_t node, dimension, bucket, example;
  auto Key() const { return std::tuple(node, dimension, bucket); }
};

class SparseAggregateStatsCpu : public StatsKernel {
 public:
  using StatsKernel::StatsKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<SparseAggregateStatsCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const ExampleStats s, ExampleStats::Of(ctx, splits_, buckets_));
    RETURN_IF_ERROR(CheckShapes(ctx));
    const int64_t count = ctx.input(4).num_elements();
    const int64_t dims = ctx.input(5).data<int32_t>()[1];
    HeapCharge charge;
    RETURN_IF_ERROR(charge.Set(ctx.allocator(),
                               static_cast<size_t>(2 * count + s.batch) * 2 * sizeof(SparseValue)));
    ASSIGN_OR_RETURN(std::vector<SparseValue> values, ReadValues(ctx, s, dims));
    std::vector<int32_t> nodes(s.nodes, s.nodes + s.batch);
    RETURN_IF_ERROR(compute::Sort(ctx.work(), nodes.begin(), nodes.end()));
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const auto present = static_cast<int64_t>(nodes.size());
    if (dims > 0 && present * s.stats() > std::numeric_limits<int64_t>::max() / 64 / dims) {
      return InvalidArgument("feature_shape has too many dimensions: ", dims);
    }
    compute::Scratch<float> missing(ctx.work(), present * dims * s.stats());
    compute::Scratch<uint8_t> is_missing(ctx.work(), present * dims);
    if (!missing || !is_missing) return compute::OutOfScratch();
    std::fill_n(missing.get(), present * dims * s.stats(), 0.0F);
    std::fill_n(is_missing.get(), present * dims, uint8_t{0});
    compute::CancelLooks looks(ctx.work());
    auto value = values.begin();
    for (int64_t i = 0; i < s.batch; ++i) {
      const auto node = std::lower_bound(nodes.begin(), nodes.end(), s.nodes[i]) - nodes.begin();
      for (int64_t d = 0; d < dims; ++d) {
        RETURN_IF_ERROR(looks.Did());
        bool found = false;
        for (; value != values.end() && value->example == i && value->dimension == d; ++value) {
          found = true;
        }
        if (found) continue;
        is_missing[node * dims + d] = 1;
        s.Add(i, missing.get() + (node * dims + d) * s.stats());
      }
    }
    RETURN_IF_ERROR(compute::StableSort(
        ctx.work(), values.begin(), values.end(),
        [](const SparseValue& a, const SparseValue& b) { return a.Key() < b.Key(); }));
    return Write(ctx, s, dims, values, nodes, missing.get(), is_missing.get());
  }

 private:
  static Status CheckShapes(Context& ctx) {
    RETURN_IF_ERROR(CheckInputRank(ctx, 3, 2, "feature_indices"));
    RETURN_IF_ERROR(CheckInputRank(ctx, 4, 1, "feature_values"));
    RETURN_IF_ERROR(CheckInputRank(ctx, 5, 1, "feature_shape"));
    const Shape& indices = ctx.input(3).shape();
    if (indices.dim(1) != 2 || indices.dim(0) != ctx.input(4).num_elements()) {
      return InvalidArgument("feature_indices must have shape [", ctx.input(4).num_elements(),
                             ",2], got ", indices);
    }
    if (ctx.input(5).num_elements() < 2 || ctx.input(5).data<int32_t>()[1] < 0) {
      return InvalidArgument("feature_shape must be that of a matrix, got ",
                             ctx.input(5).ToString());
    }
    return OkStatus();
  }

  // In the order of the examples, then of the dimensions.
  Result<std::vector<SparseValue>> ReadValues(Context& ctx, const ExampleStats& s,
                                              int64_t dims) const {
    const int32_t* const indices = ctx.input(3).data<int32_t>();
    const std::span<const int32_t> buckets = ctx.input(4).flat<int32_t>();
    std::vector<SparseValue> values;
    values.reserve(buckets.size());
    for (size_t i = 0; i < buckets.size(); ++i) {
      const int32_t example = indices[2 * i], dimension = indices[2 * i + 1];
      if (example < 0 || example >= s.batch || dimension < 0 || dimension >= dims) {
        return InvalidArgument("feature_indices[", i, "] = [", example, ",", dimension,
                               "] lies outside of [", s.batch, ",", dims, "]");
      }
      RETURN_IF_ERROR(CheckBucket(buckets[i], buckets_, example));
      if (!values.empty() && std::pair(example, dimension) <
                                 std::pair(values.back().example, values.back().dimension)) {
        return InvalidArgument("feature_indices[", i, "] = [", example, ",", dimension,
                               "] is out of order");
      }
      values.push_back({s.nodes[example], dimension, buckets[i], example});
    }
    return values;
  }

  // The sums of values in the order of their keys; behind the buckets of each node and dimension
  // comes that of examples without value.
  Status Write(Context& ctx, const ExampleStats& s, int64_t dims,
               const std::vector<SparseValue>& values, const std::vector<int32_t>& nodes,
               const float* missing, const uint8_t* is_missing) const {
    const auto present = static_cast<int64_t>(nodes.size());
    int64_t keys = std::count(is_missing, is_missing + present * dims, uint8_t{1});
    for (size_t i = 0; i < values.size(); ++i) {
      if (i == 0 || values[i].Key() != values[i - 1].Key()) ++keys;
    }
    const int64_t rows = keys * s.stats();
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt32, Shape{rows, 4}));
    ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(1, DType::kFloat, Shape{rows}));
    const std::vector<int32_t> shape = {static_cast<int32_t>(splits_), static_cast<int32_t>(dims),
                                        static_cast<int32_t>(buckets_ + 1),
                                        static_cast<int32_t>(s.stats())};
    ctx.set_output(2, Tensor::Of<int32_t>(shape, Shape{4}));
    int32_t* index = indices->mutable_data<int32_t>();
    float* sum = sums->mutable_data<float>();
    const auto begin = [&](int32_t node, int32_t dimension, int32_t bucket) {
      for (int32_t k = 0; k < static_cast<int32_t>(s.stats()); ++k) {
        const int32_t row[4] = {node, dimension, bucket, k};
        index = std::copy(row, row + 4, index);
      }
      float* const mine = sum;
      sum = std::fill_n(sum, s.stats(), 0.0F);
      return mine;
    };
    auto value = values.begin();
    for (int64_t n = 0; n < present; ++n) {
      for (int64_t d = 0; d < dims; ++d) {
        const auto node = nodes[static_cast<size_t>(n)];
        const auto dimension = static_cast<int32_t>(d);
        while (value != values.end() && value->node == node && value->dimension == dimension) {
          const auto key = value->Key();
          float* const mine = begin(node, dimension, value->bucket);
          for (; value != values.end() && value->Key() == key; ++value) s.Add(value->example, mine);
        }
        if (is_missing[n * dims + d] == 0) continue;
        std::copy_n(missing + (n * dims + d) * s.stats(), s.stats(),
                    begin(node, dimension, static_cast<int32_t>(buckets_)));
      }
    }
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tree_stats, cpu) {
  registry.Add<MakeStatsCpu>("BoostedTreesMakeStatsSummary", kCpu);
  registry.Add<AggregateStatsCpu>("BoostedTreesAggregateStats", kCpu);
  registry.Add<SparseAggregateStatsCpu>("BoostedTreesSparseAggregateStats", kCpu);
}
