// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "thalweg/base/entropy.h"
#include "thalweg/base/mutex.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The stream of one node, which goes on from step to step. Any thread.
class Stream {
 public:
  Stream(uint64_t seed, uint64_t seed2) : philox_(seed, seed2) {}
  // From the attributes; seeds of 0 and 0 mean others every time.
  static Result<std::unique_ptr<Stream>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t seed, c.Attr<int64_t>("seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, c.Attr<int64_t>("seed2"));
    if (seed == 0 && seed2 == 0) return std::make_unique<Stream>(RandomSeed(), RandomSeed());
    return std::make_unique<Stream>(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
  }
  // The stream as it is; it moves on by so many blocks.
  Philox Reserve(uint64_t blocks) {
    MutexLock lock(mutex_);
    const Philox now = philox_;
    philox_.Skip(blocks);
    return now;
  }

 private:
  Mutex mutex_;
  Philox philox_ GUARDED_BY(mutex_);
};

class RandomKernel : public Kernel {
 public:
  explicit RandomKernel(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

 protected:
  Stream& stream() { return *stream_; }

 private:
  const std::unique_ptr<Stream> stream_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithStream(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::Make(c));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(stream)));
}

using Fill = Status (*)(compute::Work&, DType, const Philox&, void*, int64_t);

template <Fill kFill, DType kType>
class RandomFillCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomFillCpu>(c);
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
    const int64_t n = out->num_elements();
    if (n == 0) return OkStatus();
    return kFill(ctx.work(), kType, stream().Reserve(compute::ReservedBlocks(n)),
                 out->mutable_raw_data(), n);
  }
};

template <DType kType>
class RandomUniformIntCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomUniformIntCpu>(c);
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(const int64_t low, IntScalar(ctx.input(1), "minval"));
    ASSIGN_OR_RETURN(const int64_t high, IntScalar(ctx.input(2), "maxval"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
    const int64_t n = out->num_elements();
    if (n == 0) return OkStatus();
    if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
    return compute::FillUniformInt(ctx.work(), kType, stream().Reserve(compute::ReservedBlocks(n)),
                                   low, high, out->mutable_raw_data(), n);
  }
};

class RandomShuffleCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomShuffleCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& value = ctx.input(0);
    const Shape shape = value.shape();
    if (value.num_elements() <= 1 || shape.dim(0) <= 1) {
      ctx.set_output(0, value);
      return OkStatus();
    }
    const int64_t rows = shape.dim(0);
    if (rows > std::numeric_limits<uint32_t>::max()) {
      return InvalidArgument("at most 2^32 - 1 rows can be shuffled, got ", rows);
    }
    ASSIGN_OR_RETURN(Tensor order, ctx.AllocateTemporary(DType::kInt64, Shape{rows}));
    int64_t* from = order.mutable_data<int64_t>();
    std::iota(from, from + rows, 0);
    const auto blocks = static_cast<uint64_t>((rows - 1 + 3) / 4);  // one number a swap
    compute::PhiloxNumbers numbers(stream().Reserve(blocks));
    for (int64_t i = 0; i < rows - 1; ++i) {
      std::swap(from[i], from[i + numbers.Next() % static_cast<uint32_t>(rows - i)]);
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.dtype(), shape));
    return compute::GatherRows(ctx.work(), value.dtype(),
                               {.rows = rows, .inner = value.num_elements() / rows, .count = rows},
                               value.raw_data(), from, out->mutable_raw_data());
  }
};

// Cumulated exp(logits) of one row, not normalised; what is not finite has probability 0.
template <class T>
double Cumulate(const T* logits, int64_t classes, double* cumulated) {
  double largest = std::numeric_limits<double>::lowest();
  for (int64_t j = 0; j < classes; ++j) {
    double exact;
    if constexpr (std::is_same_v<T, double>) {
      exact = logits[j];
    } else {
      exact = static_cast<float>(logits[j]);
    }
    if (std::isfinite(exact)) largest = std::max(largest, exact);
    cumulated[j] = exact;
  }
  double total = 0;
  for (int64_t j = 0; j < classes; ++j) {
    if (std::isfinite(cumulated[j])) total += std::exp(cumulated[j] - largest);
    cumulated[j] = total;
  }
  return total;
}

template <class T, class Out>
class MultinomialCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<MultinomialCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& logits = ctx.input(0);
    if (logits.rank() != 2)
      return InvalidArgument("logits should be a matrix, got shape ", logits.shape());
    ASSIGN_OR_RETURN(const int64_t samples, IntScalar(ctx.input(1), "num_samples"));
    if (samples < 0) return InvalidArgument("num_samples should be nonnegative, got ", samples);
    const int64_t batch = logits.dim(0);
    const int64_t classes = logits.dim(1);
    if (classes <= 0) return InvalidArgument("num_classes should be positive, got ", classes);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{batch, samples}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<Out>, shape));
    if (out->num_elements() == 0) return OkStatus();
    const int64_t rounded = (samples + 3) / 4 * 4;
    compute::PhiloxNumbers numbers(stream().Reserve(compute::ReservedBlocks(batch * rounded * 2)));
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemporary(DType::kDouble, Shape{classes}));
    double* cumulated = scratch.mutable_data<double>();
    Out* drawn = out->template mutable_data<Out>();
    for (int64_t b = 0; b < batch; ++b) {
      const double total = Cumulate(logits.data<T>() + b * classes, classes, cumulated);
      for (int64_t j = 0; j < samples; ++j) {
        const uint32_t high = numbers.Next();
        const double wanted = compute::UniformDouble(high, numbers.Next()) * total;
        const double* found = std::upper_bound(cumulated, cumulated + classes, wanted);
        drawn[b * samples + j] = static_cast<Out>(found - cumulated);
      }
    }
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(random, cpu) {
  ForEachType<FloatTypes>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry
        .Add<RandomFillCpu<compute::FillUniform, kType>>("RandomUniform", kCpu, {{"dtype", kType}})
        .KeepsState();
    registry
        .Add<RandomFillCpu<compute::FillNormal, kType>>("RandomStandardNormal", kCpu,
                                                        {{"dtype", kType}})
        .KeepsState();
    registry
        .Add<RandomFillCpu<compute::FillTruncatedNormal, kType>>("TruncatedNormal", kCpu,
                                                                 {{"dtype", kType}})
        .KeepsState();
    registry
        .Add<MultinomialCpu<T, int32_t>>("Multinomial", kCpu,
                                         {{"T", kType}, {"output_dtype", DType::kInt32}})
        .KeepsState();
    registry
        .Add<MultinomialCpu<T, int64_t>>("Multinomial", kCpu,
                                         {{"T", kType}, {"output_dtype", DType::kInt64}})
        .KeepsState();
  });
  registry
      .Add<RandomUniformIntCpu<DType::kInt32>>("RandomUniformInt", kCpu, {{"Tout", DType::kInt32}})
      .KeepsState();
  registry
      .Add<RandomUniformIntCpu<DType::kInt64>>("RandomUniformInt", kCpu, {{"Tout", DType::kInt64}})
      .KeepsState();
  registry.Add<RandomShuffleCpu>("RandomShuffle", kCpu).KeepsState();
}
