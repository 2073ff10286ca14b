// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/ops/boosted_trees/split_search.h"
#include "thalweg/ops/boosted_trees/tree_inputs.h"

namespace thalweg {
namespace {

using Sums = std::vector<float>;

void Accumulate(Sums& sums, std::span<const float> more) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
}
void Subtract(Sums& out, std::span<const float> a, std::span<const float> b) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = a[i] - b[i];
}

std::string_view NameOf(SplitPlace::Type type) {
  switch (type) {
    case SplitPlace::Type::kDefaultLeft:
      return "INEQUALITY_DEFAULT_LEFT";
    case SplitPlace::Type::kDefaultRight:
      return "INEQUALITY_DEFAULT_RIGHT";
    default:
      return "EQUALITY_DEFAULT_RIGHT";
  }
}

// The scalars l1, l2, tree_complexity and min_node_weight, from input `first` on.
Result<SplitTerms> TermsOf(Context& ctx, int first) {
  SplitTerms terms;
  ASSIGN_OR_RETURN(terms.l1, ScalarInput<float>(ctx, first, "l1"));
  ASSIGN_OR_RETURN(terms.l2, ScalarInput<float>(ctx, first + 1, "l2"));
  ASSIGN_OR_RETURN(terms.tree_complexity, ScalarInput<float>(ctx, first + 2, "tree_complexity"));
  ASSIGN_OR_RETURN(terms.min_node_weight, ScalarInput<float>(ctx, first + 3, "min_node_weight"));
  return terms;
}

struct NodeRange {
  int32_t first = 0, last = 0;
  int64_t count() const { return std::max<int64_t>(int64_t{last} - first, 0); }
};

// Input 0: the nodes [first, last), of the `splits` that summaries have.
Result<NodeRange> NodeRangeOf(Context& ctx, int64_t splits) {
  if (ctx.input(0).shape().rank() != 1 || ctx.input(0).num_elements() != 2) {
    return InvalidArgument("node_id_range must be two numbers, got shape ", ctx.input(0).shape());
  }
  const NodeRange range{ctx.input(0).data<int32_t>()[0], ctx.input(0).data<int32_t>()[1]};
  if (range.count() > 0 && (range.first < 0 || range.last > splits)) {
    return InvalidArgument("node_id_range [", range.first, ",", range.last,
                           ") is not of the nodes [0,", splits, ") of the summary");
  }
  return range;
}

Status SetHessians(SplitTerms& terms, int64_t stats) {
  terms.hessians = stats - terms.logits;
  if (terms.logits >= 1 &&
      (terms.hessians == terms.logits || terms.hessians / terms.logits == terms.logits) &&
      terms.hessians % terms.logits == 0) {
    return OkStatus();
  }
  return InvalidArgument("a summary of ", terms.logits, " logits must have ", 2 * terms.logits,
                         " sums, or ", terms.logits, " and a matrix of hessians, got ", stats);
}

// The best splits of nodes, node after node, until they become outputs.
class BestSplitsFound {
 public:
  explicit BestSplitsFound(int64_t logits) : logits_(logits) {}
  Status Reserve(Allocator& allocator, int64_t nodes) {
    const size_t bytes = sizeof(int32_t) + sizeof(float) + sizeof(SplitPlace) +
                         2 * static_cast<size_t>(logits_) * sizeof(float);
    return charge_.Set(allocator, 2 * static_cast<size_t>(nodes) * bytes);
  }
  void Add(int32_t node, const SplitSearch& search) {
    nodes_.push_back(node);
    gains_.push_back(search.gain());
    places_.push_back(search.best());
    left_.insert(left_.end(), search.left().begin(), search.left().end());
    right_.insert(right_.end(), search.right().begin(), search.right().end());
  }
  Status SetNodes(Context& ctx, int output) const { return Set<int32_t>(ctx, output, nodes_); }
  Status SetGains(Context& ctx, int output) const { return Set<float>(ctx, output, gains_); }
  Status SetContributions(Context& ctx, int left, int right) const {
    RETURN_IF_ERROR(Set<float>(ctx, left, left_, logits_));
    return Set<float>(ctx, right, right_, logits_);
  }
  // field(place) -> int32_t
  template <class F>
  Status SetPlaces(Context& ctx, int output, const F& field) const {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, DType::kInt32, Count()));
    std::transform(places_.begin(), places_.end(), out->mutable_data<int32_t>(), field);
    return OkStatus();
  }
  Status SetTypes(Context& ctx, int output) const {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, DType::kString, Count()));
    for (size_t i = 0; i < places_.size(); ++i) {
      out->mutable_data<std::string>()[i] = NameOf(places_[i].type);
    }
    return OkStatus();
  }
  // Dimensions, thresholds, contributions and types: the last five outputs.
  Status SetRest(Context& ctx, int first) const {
    RETURN_IF_ERROR(SetPlaces(ctx, first, [](const SplitPlace& p) { return p.dimension; }));
    RETURN_IF_ERROR(SetPlaces(ctx, first + 1, [](const SplitPlace& p) { return p.bucket; }));
    RETURN_IF_ERROR(SetContributions(ctx, first + 2, first + 3));
    return SetTypes(ctx, first + 4);
  }

 private:
  Shape Count() const { return Shape{static_cast<int64_t>(places_.size())}; }
  template <class T>
  Status Set(Context& ctx, int output, const std::vector<T>& values, int64_t columns = 0) const {
    Shape shape = Count();
    if (columns > 0) shape = Shape{static_cast<int64_t>(places_.size()), columns};
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, kDTypeOf<T>, shape));
    std::copy(values.begin(), values.end(), out->template mutable_data<T>());
    return OkStatus();
  }

  const int64_t logits_;
  std::vector<int32_t> nodes_;
  std::vector<float> gains_, left_, right_;
  std::vector<SplitPlace> places_;
  HeapCharge charge_;
};

// A dense summary: nodes, dimensions, buckets and that of missing values, sums.
struct DenseSummary {
  const float* data = nullptr;
  int64_t nodes = 0, dimensions = 0, buckets = 0, stats = 0;
  static Result<DenseSummary> Of(const Tensor& t) {
    const Shape& shape = t.shape();
    if (shape.rank() != 4 || shape.dim(1) < 1 || shape.dim(2) < 1) {
      return InvalidArgument("a summary must have nodes, dimensions, buckets and sums, got shape ",
                             shape);
    }
    return DenseSummary{t.data<float>(), shape.dim(0), shape.dim(1), shape.dim(2) - 1,
                        shape.dim(3)};
  }
  std::span<const float> At(int64_t node, int64_t dimension, int64_t bucket) const {
    return {data + ((node * dimensions + dimension) * (buckets + 1) + bucket) * stats,
            static_cast<size_t>(stats)};
  }
  void Total(int64_t node, int64_t dimension, Sums& total) const {
    std::fill(total.begin(), total.end(), 0.0F);
    for (int64_t b = 0; b <= buckets; ++b) Accumulate(total, At(node, dimension, b));
  }
};

// Tries all splits of one node by one feature.
class DenseTrials {
 public:
  DenseTrials(const SplitTerms& terms, SplitSearch& search, compute::CancelLooks& looks)
      : search_(search),
        looks_(looks),
        total_(terms.stats()),
        left_(terms.stats()),
        with_default_(terms.stats()),
        right_(terms.stats()) {}

  // Buckets up to one against the others; missing values on either side.
  Status Inequality(const DenseSummary& s, int32_t feature, int64_t node) {
    for (int64_t d = 0; d < s.dimensions; ++d) {
      s.Total(node, d, total_);
      std::fill(left_.begin(), left_.end(), 0.0F);
      for (int64_t b = 0; b < s.buckets; ++b) {
        RETURN_IF_ERROR(looks_.Did(static_cast<int64_t>(left_.size())));
        Accumulate(left_, s.At(node, d, b));
        with_default_ = left_;
        Accumulate(with_default_, s.At(node, d, s.buckets));
        SplitPlace place{feature, static_cast<int32_t>(d), static_cast<int32_t>(b)};
        Subtract(right_, total_, with_default_);
        search_.Try(place, with_default_, right_);
        place.type = SplitPlace::Type::kDefaultRight;
        Subtract(right_, total_, left_);
        search_.Try(place, left_, right_);
      }
    }
    return OkStatus();
  }

  // One bucket against all others.
  Status Equality(const DenseSummary& s, int32_t feature, int64_t node) {
    s.Total(node, 0, total_);
    for (int64_t d = 0; d < s.dimensions; ++d) {
      for (int64_t b = 0; b < s.buckets; ++b) {
        RETURN_IF_ERROR(looks_.Did(static_cast<int64_t>(left_.size())));
        Subtract(right_, total_, s.At(node, d, b));
        search_.Try({feature, static_cast<int32_t>(d), static_cast<int32_t>(b),
                     SplitPlace::Type::kEquality},
                    s.At(node, d, b), right_);
      }
    }
    return OkStatus();
  }

 private:
  SplitSearch& search_;
  compute::CancelLooks& looks_;
  Sums total_, left_, with_default_, right_;
};

struct DenseFeature {
  DenseSummary summary;
  int32_t id = 0;
  bool equality = false;
};

Result<bool> IsEquality(const std::string& type) {
  if (type == "equality") return true;
  if (type == "inequality") return false;
  return InvalidArgument("a split is 'inequality' or 'equality', got '", type, "'");
}

Status FindDenseSplits(Context& ctx, const SplitTerms& terms, const NodeRange& range,
                       const std::vector<DenseFeature>& features, BestSplitsFound& found) {
  // The sums of no node may be any number of them.
  if (range.count() == 0) return OkStatus();
  RETURN_IF_ERROR(found.Reserve(ctx.allocator(), range.count()));
  compute::CancelLooks looks(ctx.work());
  SplitSearch search(terms);
  DenseTrials trials(terms, search, looks);
  Sums total(terms.stats());
  for (int32_t node = range.first; node < range.last; ++node) {
    features[0].summary.Total(node, 0, total);
    search.SetTotal(total);
    if (!search.is_heavy()) continue;
    for (const DenseFeature& f : features) {
      RETURN_IF_ERROR(f.equality ? trials.Equality(f.summary, f.id, node)
                                 : trials.Inequality(f.summary, f.id, node));
    }
    if (search.found()) found.Add(node, search);
  }
  return OkStatus();
}

class BestFeatureSplitCpu : public Kernel {
 public:
  BestFeatureSplitCpu(int64_t logits, bool equality) : logits_(logits), equality_(equality) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t logits, c.Attr<int64_t>("logits_dimension"));
    ASSIGN_OR_RETURN(const std::string type, c.Attr<std::string>("split_type"));
    ASSIGN_OR_RETURN(const bool equality, IsEquality(type));
    return std::unique_ptr<Kernel>(std::make_unique<BestFeatureSplitCpu>(logits, equality));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(SplitTerms terms, TermsOf(ctx, 2));
    terms.logits = logits_;
    ASSIGN_OR_RETURN(const DenseSummary summary, DenseSummary::Of(ctx.input(1)));
    RETURN_IF_ERROR(SetHessians(terms, summary.stats));
    ASSIGN_OR_RETURN(const NodeRange range, NodeRangeOf(ctx, summary.nodes));
    BestSplitsFound found(logits_);
    RETURN_IF_ERROR(FindDenseSplits(ctx, terms, range, {{summary, 0, equality_}}, found));
    RETURN_IF_ERROR(found.SetNodes(ctx, 0));
    RETURN_IF_ERROR(found.SetGains(ctx, 1));
    return found.SetRest(ctx, 2);
  }

 private:
  const int64_t logits_;
  const bool equality_;
};

class BestFeatureSplitV2Cpu : public Kernel {
 public:
  BestFeatureSplitV2Cpu(int64_t logits, int64_t features) : logits_(logits), features_(features) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t logits, c.Attr<int64_t>("logits_dimension"));
    ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
    return std::unique_ptr<Kernel>(std::make_unique<BestFeatureSplitV2Cpu>(logits, features));
  }
  Status Compute(Context& ctx) override {
    const int last = 1 + static_cast<int>(features_);
    ASSIGN_OR_RETURN(SplitTerms terms, TermsOf(ctx, last + 2));
    terms.logits = logits_;
    for (const int i : {last, last + 1}) {
      if (ctx.input(i).num_elements() == features_) continue;
      return InvalidArgument(i == last ? "split_types" : "candidate_feature_ids",
                             " must be those of ", features_, " features, got shape ",
                             ctx.input(i).shape());
    }
    std::vector<DenseFeature> features;
    for (int i = 1; i < last; ++i) {
      DenseFeature feature;
      ASSIGN_OR_RETURN(feature.summary, DenseSummary::Of(ctx.input(i)));
      ASSIGN_OR_RETURN(feature.equality, IsEquality(ctx.input(last).data<std::string>()[i - 1]));
      feature.id = ctx.input(last + 1).data<int32_t>()[i - 1];
      features.push_back(feature);
      const DenseSummary& first = features[0].summary;
      if (feature.summary.nodes == first.nodes && feature.summary.stats == first.stats) continue;
      return InvalidArgument("stats_summaries_list[", i - 1, "] has shape ", ctx.input(i).shape(),
                             ", the first has ", ctx.input(1).shape());
    }
    RETURN_IF_ERROR(SetHessians(terms, features[0].summary.stats));
    ASSIGN_OR_RETURN(const NodeRange range, NodeRangeOf(ctx, features[0].summary.nodes));
    BestSplitsFound found(logits_);
    RETURN_IF_ERROR(FindDenseSplits(ctx, terms, range, features, found));
    RETURN_IF_ERROR(found.SetNodes(ctx, 0));
    RETURN_IF_ERROR(found.SetGains(ctx, 1));
    RETURN_IF_ERROR(found.SetPlaces(ctx, 2, [](const SplitPlace& p) { return p.feature; }));
    return found.SetRest(ctx, 3);
  }

 private:
  const int64_t logits_, features_;
};

// The older form: summaries of nodes, buckets, gradient and hessian, a feature after the other.
class BestGainsCpu : public Kernel {
 public:
  explicit BestGainsCpu(int64_t features) : features_(features) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t features, c.Attr<int64_t>("num_features"));
    return std::unique_ptr<Kernel>(std::make_unique<BestGainsCpu>(features));
  }
  Status Compute(Context& ctx) override {
    const int features = static_cast<int>(features_);
    ASSIGN_OR_RETURN(const SplitTerms terms, TermsOf(ctx, 1 + features));
    for (int f = 0; f < features; ++f) {
      const Shape& shape = ctx.input(1 + f).shape();
      if (shape.rank() != 3 || shape.dim(2) != 2) {
        return InvalidArgument("stats_summary_list[", f,
                               "] must have nodes, buckets and two sums, got shape ", shape);
      }
      ASSIGN_OR_RETURN(const NodeRange range, NodeRangeOf(ctx, shape.dim(0)));
      BestSplitsFound found(1);
      RETURN_IF_ERROR(found.Reserve(ctx.allocator(), range.count()));
      RETURN_IF_ERROR(Find(ctx, terms, range, ctx.input(1 + f), found));
      RETURN_IF_ERROR(found.SetNodes(ctx, f));
      RETURN_IF_ERROR(found.SetGains(ctx, features + f));
      RETURN_IF_ERROR(
          found.SetPlaces(ctx, 2 * features + f, [](const SplitPlace& p) { return p.bucket; }));
      RETURN_IF_ERROR(found.SetContributions(ctx, 3 * features + f, 4 * features + f));
    }
    return OkStatus();
  }

 private:
  static Status Find(Context& ctx, const SplitTerms& terms, const NodeRange& range,
                     const Tensor& summary, BestSplitsFound& found) {
    const int64_t buckets = summary.shape().dim(1);
    compute::CancelLooks looks(ctx.work());
    SplitSearch search(terms);
    for (int32_t node = range.first; node < range.last; ++node) {
      const std::span<const float> sums(summary.data<float>() + node * buckets * 2,
                                        static_cast<size_t>(buckets) * 2);
      Sums total(2), left(2), right(2);
      for (int64_t b = 0; b < buckets; ++b) {
        Accumulate(total, sums.subspan(static_cast<size_t>(b) * 2, 2));
      }
      search.SetTotal(total);
      if (total[1] < terms.min_node_weight) continue;
      for (int64_t b = 0; b < buckets; ++b) {
        RETURN_IF_ERROR(looks.Did());
        Accumulate(left, sums.subspan(static_cast<size_t>(b) * 2, 2));
        Subtract(right, total, left);
        search.Try({0, 0, static_cast<int32_t>(b)}, left, right);
      }
      if (search.found()) found.Add(node, search);
    }
    return OkStatus();
  }

  const int64_t features_;
};

// A sparse summary of one logit: sums of gradients and hessians by node, dimension and bucket,
// bucket by bucket. Entries come in their order.
class SparseSummary {
 public:
  struct Bucket {
    int32_t node, dimension, bucket;
    float sums[2];
  };

  static Result<std::vector<Bucket>> Read(Context& ctx, const int32_t* shape) {
    const int32_t* const indices = ctx.input(1).data<int32_t>();
    const std::span<const float> values = ctx.input(2).flat<float>();
    std::vector<Bucket> buckets;
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t* const at = indices + 4 * i;
      for (int k = 0; k < 4; ++k) {
        if (at[k] >= 0 && at[k] < shape[k]) continue;
        return InvalidArgument("stats_summary_indices[", i, ",", k, "] = ", at[k],
                               " is not in [0, ", shape[k], ")");
      }
      const auto key = std::tuple(at[0], at[1], at[2]);
      if (buckets.empty() || KeyOf(buckets.back()) < key) {
        buckets.push_back({at[0], at[1], at[2], {0, 0}});
      } else if (key < KeyOf(buckets.back())) {
        return InvalidArgument("stats_summary_indices[", i, "] is out of order");
      }
      buckets.back().sums[at[3]] = values[i];
    }
    return buckets;
  }

 private:
  static std::tuple<int32_t, int32_t, int32_t> KeyOf(const Bucket& b) {
    return {b.node, b.dimension, b.bucket};
  }
};

class SparseBestFeatureSplitCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t logits, c.Attr<int64_t>("logits_dimension"));
    if (logits == 1) return std::unique_ptr<Kernel>(std::make_unique<SparseBestFeatureSplitCpu>());
    return InvalidArgument("splits by sparse features are of one logit, got ", logits);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const SplitTerms terms, TermsOf(ctx, 4));
    RETURN_IF_ERROR(CheckShapes(ctx));
    const int32_t* const shape = ctx.input(3).data<int32_t>();
    ASSIGN_OR_RETURN(const NodeRange range, NodeRangeOf(ctx, shape[0]));
    HeapCharge charge;
    RETURN_IF_ERROR(charge.Set(
        ctx.allocator(),
        2 * static_cast<size_t>(ctx.input(2).num_elements()) * sizeof(SparseSummary::Bucket)));
    ASSIGN_OR_RETURN(const std::vector<SparseSummary::Bucket> buckets,
                     SparseSummary::Read(ctx, shape));
    BestSplitsFound found(1);
    RETURN_IF_ERROR(found.Reserve(ctx.allocator(), static_cast<int64_t>(buckets.size())));
    compute::CancelLooks looks(ctx.work());
    SplitSearch search(terms);
    for (size_t i = 0; i < buckets.size();) {
      RETURN_IF_ERROR(looks.Did());
      size_t end = i;
      while (end < buckets.size() && buckets[end].node == buckets[i].node) ++end;
      const int32_t node = buckets[i].node;
      if (node >= range.first && node < range.last) {
        const std::span<const SparseSummary::Bucket> of_node(&buckets[i], end - i);
        RETURN_IF_ERROR(TryNode(of_node, shape[2] - 1, search, looks));
        if (search.is_heavy() && search.found()) found.Add(node, search);
      }
      i = end;
    }
    RETURN_IF_ERROR(found.SetNodes(ctx, 0));
    RETURN_IF_ERROR(found.SetGains(ctx, 1));
    return found.SetRest(ctx, 2);
  }

 private:
  using Buckets = std::span<const SparseSummary::Bucket>;

  static Status CheckShapes(Context& ctx) {
    RETURN_IF_ERROR(CheckInputRank(ctx, 1, 2, "stats_summary_indices"));
    RETURN_IF_ERROR(CheckInputRank(ctx, 2, 1, "stats_summary_values"));
    const Shape& indices = ctx.input(1).shape();
    if (indices.dim(1) != 4 || indices.dim(0) != ctx.input(2).num_elements()) {
      return InvalidArgument("stats_summary_indices must have shape [", ctx.input(2).num_elements(),
                             ",4], got ", indices);
    }
    if (ctx.input(3).shape().rank() != 1 || ctx.input(3).num_elements() != 4 ||
        ctx.input(3).data<int32_t>()[3] != 2) {
      return InvalidArgument("stats_summary_shape must be that of nodes, dimensions, buckets and ",
                             "two sums, got ", ctx.input(3).ToString());
    }
    return OkStatus();
  }

  // The first of a dimension's buckets behind `begin` that is of another dimension.
  static size_t EndOfDimension(Buckets buckets, size_t begin) {
    size_t end = begin;
    while (end < buckets.size() && buckets[end].dimension == buckets[begin].dimension) ++end;
    return end;
  }

  static Status TryNode(Buckets buckets, int32_t missing, SplitSearch& search,
                        compute::CancelLooks& looks) {
    Sums total(2);
    for (const auto& b : buckets.first(EndOfDimension(buckets, 0))) Accumulate(total, b.sums);
    search.SetTotal(total);
    if (!search.is_heavy()) return OkStatus();
    for (size_t begin = 0; begin < buckets.size();) {
      const size_t end = EndOfDimension(buckets, begin);
      RETURN_IF_ERROR(
          TryDimension(buckets.subspan(begin, end - begin), missing, total, search, looks));
      begin = end;
    }
    return OkStatus();
  }

  // First with missing values on the right, then with them on the left.
  static Status TryDimension(Buckets buckets, int32_t missing, const Sums& total,
                             SplitSearch& search, compute::CancelLooks& looks) {
    Sums of_missing(2), without(2), left(2), with_missing(2), right(2);
    if (buckets.back().bucket == missing) Accumulate(of_missing, buckets.back().sums);
    Subtract(without, total, of_missing);
    for (const bool is_left : {false, true}) {
      std::fill(left.begin(), left.end(), 0.0F);
      for (const auto& b : buckets) {
        if (b.bucket == missing) continue;
        RETURN_IF_ERROR(looks.Did());
        Accumulate(left, b.sums);
        if (!is_left) {
          Subtract(right, total, left);
          search.Try({0, b.dimension, b.bucket, SplitPlace::Type::kDefaultRight}, left, right);
          continue;
        }
        with_missing = left;
        Accumulate(with_missing, of_missing);
        Subtract(right, without, left);
        search.Try({0, b.dimension, b.bucket, SplitPlace::Type::kDefaultLeft}, with_missing, right);
      }
    }
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tree_splits, cpu) {
  registry.Add<BestGainsCpu>("BoostedTreesCalculateBestGainsPerFeature", kCpu);
  registry.Add<BestFeatureSplitCpu>("BoostedTreesCalculateBestFeatureSplit", kCpu);
  registry.Add<BestFeatureSplitV2Cpu>("BoostedTreesCalculateBestFeatureSplitV2", kCpu);
  registry.Add<SparseBestFeatureSplitCpu>("BoostedTreesSparseCalculateBestFeatureSplit", kCpu);
}
