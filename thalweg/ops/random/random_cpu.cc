// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/random/multinomial.h"
#include "thalweg/ops/random/random_stream.h"
#include "thalweg/ops/random/shuffle.h"

namespace thalweg {
namespace {

using Fill = Status (*)(compute::Work&, DType, const Philox&, void*, int64_t);

template <Fill kFill>
class RandomFillCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomFillCpu>(c);
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, output_type(), shape));
    const int64_t n = out->num_elements();
    if (n == 0) return OkStatus();
    return kFill(ctx.work(), output_type(), stream().Reserve(compute::ReservedBlocks(n)),
                 out->mutable_raw_data(), n);
  }
};

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
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, output_type(), shape));
    const int64_t n = out->num_elements();
    if (n == 0) return OkStatus();
    if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
    return compute::FillUniformInt(ctx.work(), output_type(),
                                   stream().Reserve(compute::ReservedBlocks(n)), low, high,
                                   out->mutable_raw_data(), n);
  }
};

class RandomShuffleCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomShuffleCpu>(c);
  }

  Status Compute(Context& ctx) override {
    return ShuffleRows(ctx, ctx.input(0),
                       [&](uint64_t blocks) { return stream().Reserve(blocks); });
  }
};

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
    const int64_t batch = logits.dim(0), rounded = (samples + 3) / 4 * 4;
    const auto reserve = [&] {
      return stream().Reserve(compute::ReservedBlocks(batch * rounded * 2));
    };
    return DrawMultinomial(ctx, output_type(), logits, samples, reserve);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(random, cpu) {
  ForEachType<FloatTypes>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.Add<RandomFillCpu<compute::FillUniform>>("RandomUniform", kCpu, {{"dtype", kType}})
        .KeepsState();
    registry
        .Add<RandomFillCpu<compute::FillNormal>>("RandomStandardNormal", kCpu, {{"dtype", kType}})
        .KeepsState();
    registry
        .Add<RandomFillCpu<compute::FillTruncatedNormal>>("TruncatedNormal", kCpu,
                                                          {{"dtype", kType}})
        .KeepsState();
    registry
        .Add<MultinomialCpu>("Multinomial", kCpu, {{"T", kType}, {"output_dtype", DType::kInt32}})
        .KeepsState();
    registry
        .Add<MultinomialCpu>("Multinomial", kCpu, {{"T", kType}, {"output_dtype", DType::kInt64}})
        .KeepsState();
  });
  registry.Add<RandomUniformIntCpu>("RandomUniformInt", kCpu, {{"Tout", DType::kInt32}})
      .KeepsState();
  registry.Add<RandomUniformIntCpu>("RandomUniformInt", kCpu, {{"Tout", DType::kInt64}})
      .KeepsState();
  registry.Add<RandomShuffleCpu>("RandomShuffle", kCpu).KeepsState();
}
