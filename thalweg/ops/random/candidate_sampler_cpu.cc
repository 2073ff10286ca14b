// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/ops/random/class_distribution.h"
#include "thalweg/ops/random/random_stream.h"

namespace thalweg {
namespace {

constexpr int64_t kMostClasses = 1 << 27;  // for which a table is kept

Result<int64_t> RangeOf(const KernelConstruction& c, bool has_table) {
  ASSIGN_OR_RETURN(const int64_t range, c.Attr<int64_t>("range_max"));
  if (range < 1) return InvalidArgument("range_max must be at least 1, got ", range);
  if (has_table && range > kMostClasses) {
    return InvalidArgument("range_max must be at most ", kMostClasses, ", got ", range);
  }
  return range;
}

using Distribution = Result<std::unique_ptr<ClassDistribution>>;

template <class D, bool kHasTable>
Distribution OfRange(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t range, RangeOf(c, kHasTable));
  return std::unique_ptr<ClassDistribution>(std::make_unique<D>(range));
}

Distribution OfWeights(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t range, RangeOf(c, true));
  ASSIGN_OR_RETURN(const std::string file, c.Attr<std::string>("vocab_file"));
  ASSIGN_OR_RETURN(const std::vector<float> unigrams, c.Attr<std::vector<float>>("unigrams"));
  ASSIGN_OR_RETURN(const float distortion, c.Attr<float>("distortion"));
  ASSIGN_OR_RETURN(const int64_t reserved, c.Attr<int64_t>("num_reserved_ids"));
  ASSIGN_OR_RETURN(const int64_t shards, c.Attr<int64_t>("num_shards"));
  ASSIGN_OR_RETURN(const int64_t shard, c.Attr<int64_t>("shard"));
  if (!file.empty()) return Unimplemented("unigrams from a vocab_file");
  if (shards != 1 || shard != 0) return Unimplemented("unigrams in shards");
  if (reserved < 0 || reserved > range ||
      reserved + static_cast<int64_t>(unigrams.size()) != range) {
    return InvalidArgument("num_reserved_ids and unigrams must make range_max = ", range,
                           " classes, got ", reserved, " and ", unigrams.size());
  }
  std::vector<float> weights(static_cast<size_t>(reserved), 0);
  float total = 0;
  for (float w : unigrams) {
    if (!(w >= 0) || !std::isfinite(w)) {
      return InvalidArgument("unigrams must be finite and not negative, got ", w);
    }
    weights.push_back(w > 0 || distortion != 0 ? std::pow(w, distortion) : 0);
    total += weights.back();
  }
  if (!(total > 0) || !std::isfinite(total)) {
    return InvalidArgument("the sum of the unigrams must be positive and finite, got ", total);
  }
  return std::unique_ptr<ClassDistribution>(std::make_unique<WeightedClasses>(weights));
}

struct SamplerAttrs {
  int64_t num_true = 1, num_sampled = 1;
  bool unique = false;
};

Result<SamplerAttrs> ReadAttrs(const KernelConstruction& c) {
  SamplerAttrs attrs;
  ASSIGN_OR_RETURN(attrs.num_true, Int32Attr(c, "num_true"));
  ASSIGN_OR_RETURN(attrs.num_sampled, Int32Attr(c, "num_sampled"));
  ASSIGN_OR_RETURN(attrs.unique, c.Attr<bool>("unique"));
  return attrs;
}

Status CheckTrueClasses(const Tensor& classes, int64_t num_true, int64_t range) {
  if (classes.rank() != 2 || classes.dim(1) != num_true) {
    return InvalidArgument("true_classes must be a matrix of ", num_true, " columns, got shape ",
                           classes.shape());
  }
  for (int64_t i = 0; i < classes.num_elements(); ++i) {
    const int64_t value = classes.data<int64_t>()[i];
    if (value < 0 || value >= range) {
      return InvalidArgument("`true_candidate` out of range [0, ", range, "), received ", value);
    }
  }
  return OkStatus();
}

template <Distribution (*kMake)(const KernelConstruction&)>
class SamplerCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::Make(c));
    auto kernel = std::make_unique<SamplerCpu>(std::move(stream));
    ASSIGN_OR_RETURN(kernel->attrs_, ReadAttrs(c));
    ASSIGN_OR_RETURN(kernel->range_, c.Attr<int64_t>("range_max"));
    if (kernel->attrs_.unique && kernel->attrs_.num_sampled > kernel->range_) {
      return InvalidArgument("Sampler's range is too small: ", kernel->attrs_.num_sampled,
                             " different classes of ", kernel->range_);
    }
    ASSIGN_OR_RETURN(kernel->classes_, kMake(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& given = ctx.input(0);
    RETURN_IF_ERROR(CheckTrueClasses(given, attrs_.num_true, range_));
    const int64_t n = attrs_.num_sampled;
    ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, DType::kInt64, Shape{n}));
    ASSIGN_OR_RETURN(Tensor * of_true, ctx.AllocateOutput(1, DType::kFloat, given.shape()));
    ASSIGN_OR_RETURN(Tensor * of_sampled, ctx.AllocateOutput(2, DType::kFloat, Shape{n}));
    compute::PhiloxNumbers numbers(stream().Reserve(512 * static_cast<uint64_t>(n)));
    int64_t* const drawn = sampled->mutable_data<int64_t>();
    MutexLock lock(mutex_);
    int64_t tries = n;
    if (attrs_.unique) {
      ASSIGN_OR_RETURN(tries, DrawUnique(ctx, numbers, drawn));
    } else {
      for (int64_t i = 0; i < n; ++i) drawn[i] = classes_->Draw(numbers);
    }
    const auto expect = [&](const int64_t* values, int64_t count, float* out) {
      for (int64_t i = 0; i < count; ++i)
        out[i] = Expected(classes_->Probability(values[i]), tries);
    };
    expect(drawn, n, of_sampled->mutable_data<float>());
    expect(given.data<int64_t>(), given.num_elements(), of_true->mutable_data<float>());
    classes_->Learn(given.data<int64_t>(), given.num_elements());
    return OkStatus();
  }

 private:
  // The number of draws that it took.
  Result<int64_t> DrawUnique(Context& ctx, compute::PhiloxNumbers& numbers, int64_t* drawn)
      REQUIRES(mutex_) {
    constexpr int64_t kMostDraws = int64_t{1} << 31;
    std::unordered_set<int64_t> seen;
    int64_t tries = 0;
    for (int64_t i = 0; i < attrs_.num_sampled; ++tries) {
      if (tries % 65536 == 65535 && ctx.work().cancelled()) return CancelledStep();
      if (tries >= kMostDraws) {
        return InvalidArgument("no ", attrs_.num_sampled, " different classes within ", kMostDraws,
                               " draws");
      }
      const int64_t value = classes_->Draw(numbers);
      if (seen.insert(value).second) drawn[i++] = value;
    }
    return tries;
  }
  float Expected(double probability, int64_t tries) const {
    const auto p = static_cast<float>(probability);
    // Without a draw that was thrown away TensorFlow counts as if classes could come again.
    if (tries == attrs_.num_sampled) return p * static_cast<float>(tries);
    return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(-p)));
  }

  SamplerAttrs attrs_;
  int64_t range_ = 0;
  Mutex mutex_;
  std::unique_ptr<ClassDistribution> classes_;
};

class AllClassesCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<AllClassesCpu>();
    ASSIGN_OR_RETURN(kernel->attrs_, ReadAttrs(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    const Tensor& given = ctx.input(0);
    const int64_t n = attrs_.num_sampled;
    RETURN_IF_ERROR(CheckTrueClasses(given, attrs_.num_true, n));
    ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, DType::kInt64, Shape{n}));
    ASSIGN_OR_RETURN(Tensor * of_true, ctx.AllocateOutput(1, DType::kFloat, given.shape()));
    ASSIGN_OR_RETURN(Tensor * of_sampled, ctx.AllocateOutput(2, DType::kFloat, Shape{n}));
    for (int64_t i = 0; i < n; ++i) sampled->mutable_data<int64_t>()[i] = i;
    std::fill_n(of_true->mutable_data<float>(), given.num_elements(), 1.0f);
    std::fill_n(of_sampled->mutable_data<float>(), n, 1.0f);
    return OkStatus();
  }

 private:
  SamplerAttrs attrs_;
};

Status AccidentalHits(Context& ctx) {
  const Tensor &given = ctx.input(0), &candidates = ctx.input(1);
  if (given.rank() != 2 || candidates.rank() != 1) {
    return InvalidArgument("true_classes must be a matrix and sampled_candidates a vector, got ",
                           given.shape(), " and ", candidates.shape());
  }
  std::unordered_map<int64_t, int64_t> places;  // the last of each class
  const int64_t columns = given.dim(1);
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 0; i < candidates.num_elements(); ++i) {
    RETURN_IF_ERROR(looks.Did());
    places[candidates.data<int64_t>()[i]] = i;
  }
  std::vector<int32_t> rows;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < given.num_elements(); ++i) {
    RETURN_IF_ERROR(looks.Did());
    const auto found = places.find(given.data<int64_t>()[i]);
    if (found == places.end()) continue;
    rows.push_back(static_cast<int32_t>(i / columns));
    ids.push_back(found->second);
  }
  const auto n = static_cast<int64_t>(ids.size());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt32, Shape{n}));
  ASSIGN_OR_RETURN(Tensor * positions, ctx.AllocateOutput(1, DType::kInt64, Shape{n}));
  ASSIGN_OR_RETURN(Tensor * weights, ctx.AllocateOutput(2, DType::kFloat, Shape{n}));
  std::ranges::copy(rows, indices->mutable_data<int32_t>());
  std::ranges::copy(ids, positions->mutable_data<int64_t>());
  std::fill_n(weights->mutable_data<float>(), n, std::numeric_limits<float>::lowest());
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(candidate_sampler, cpu) {
  registry.Add<AllClassesCpu>("AllCandidateSampler", kCpu);
  registry.Add<SamplerCpu<OfWeights>>("FixedUnigramCandidateSampler", kCpu).KeepsState();
  for (const char* op : {"LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"}) {
    registry.Add<SamplerCpu<OfRange<LearnedClasses, true>>>(op, kCpu).KeepsState();
  }
  registry.Add<SamplerCpu<OfRange<ZipfClasses, false>>>("LogUniformCandidateSampler", kCpu)
      .KeepsState();
  registry.Add<SamplerCpu<OfRange<EvenClasses, false>>>("UniformCandidateSampler", kCpu)
      .KeepsState();
  registry.AddFunction<AccidentalHits>("ComputeAccidentalHits", kCpu);
}
