// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "thalweg/compute/random/distributions.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/random/distribution_args.h"
#include "thalweg/ops/random/random_stream.h"

namespace thalweg {
namespace {

using compute::DoublePairs;
using compute::StreamAt;

// Draws sample s of parameter p for all p < parameters, s < samples: put(p, s, numbers).
template <class Put>
Status ForEachNumber(Context& ctx, const Philox& stream, int64_t parameters, int64_t samples,
                     const Put& put) {
  constexpr int64_t kGrain = 512;
  if (samples == 0) return OkStatus();
  return compute::ForBlocks(
      ctx.work(), parameters * samples, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          DoublePairs numbers(
              StreamAt(stream, static_cast<uint64_t>(i) * compute::kBlocksOfNumber));
          put(i / samples, i % samples, numbers);
        }
      });
}

uint64_t BlocksOf(int64_t numbers) {
  return static_cast<uint64_t>(numbers) * compute::kBlocksOfNumber;
}

// [shape..., parameters...]: samples lie with a stride of the number of parameters.
Result<Shape> AppendedShape(const Tensor& shape, const Tensor& parameter) {
  ASSIGN_OR_RETURN(const Shape leading, ShapeOf(shape, "shape"));
  Dims dims = leading.dims();
  const Shape last = parameter.shape();
  for (int64_t dim : last.dims()) dims.push_back(dim);
  return Shape::Make(dims);
}

template <class T>
Status DrawGammas(Context& ctx, const Philox& stream, const Tensor& alpha, Tensor& out) {
  const int64_t parameters = alpha.num_elements(), samples = out.num_elements() / parameters;
  T* const drawn = out.mutable_data<T>();
  return ForEachNumber(
      ctx, stream, parameters, samples, [&](int64_t p, int64_t s, DoublePairs& numbers) {
        drawn[s * parameters + p] =
            FromDouble<T>(compute::DrawGamma(numbers, ToDouble(alpha.data<T>()[p])));
      });
}

template <class T>
class RandomGammaCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomGammaCpu>(c);
  }
  Status Compute(Context& ctx) override {
    const Tensor& alpha = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, AppendedShape(ctx.input(0), alpha));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, shape));
    if (out->num_elements() == 0) return OkStatus();
    return DrawGammas<T>(ctx, stream().Reserve(BlocksOf(out->num_elements())), alpha, *out);
  }
};

// The shape must end in alpha's.
template <class T, bool kKeyed>
Status StatelessGamma(Context& ctx) {
  const Tensor& alpha = ctx.input(kKeyed ? 4 : 2);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  Result<Philox> stream =
      kKeyed ? StreamOfKey(ctx.input(1), ctx.input(2), ctx.input(3)) : StreamOfSeed(ctx.input(1));
  RETURN_IF_ERROR(stream.status());
  RETURN_IF_ERROR(CheckEndsIn(shape, alpha.shape(), "alpha"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, shape));
  if (out->num_elements() == 0) return OkStatus();
  return DrawGammas<T>(ctx, *stream, alpha, *out);
}

template <class Out>
Status DrawPoissons(Context& ctx, const Philox& stream, const Tensor& rate, Tensor& out) {
  const int64_t parameters = rate.num_elements(), samples = out.num_elements() / parameters;
  Out* const drawn = out.mutable_data<Out>();
  return ForEachNumber(
      ctx, stream, parameters, samples, [&](int64_t p, int64_t s, DoublePairs& numbers) {
        drawn[s * parameters + p] =
            FromCount<Out>(compute::DrawPoisson(numbers, NumberAt(rate, p), LargestOf<Out>()));
      });
}

template <class Out>
class RandomPoissonCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomPoissonCpu>(c);
  }
  Status Compute(Context& ctx) override {
    const Tensor& rate = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, AppendedShape(ctx.input(0), rate));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<Out>, shape));
    if (out->num_elements() == 0) return OkStatus();
    return DrawPoissons<Out>(ctx, stream().Reserve(BlocksOf(out->num_elements())), rate, *out);
  }
};

template <class Out>
Status StatelessPoisson(Context& ctx) {
  const Tensor& rate = ctx.input(2);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(1)));
  RETURN_IF_ERROR(CheckEndsIn(shape, rate.shape(), "lam"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<Out>, shape));
  if (out->num_elements() == 0) return OkStatus();
  return DrawPoissons<Out>(ctx, stream, rate, *out);
}

// Counts and probabilities broadcast to the end of the shape.
template <class Out>
Status StatelessBinomial(Context& ctx) {
  const Tensor &counts = ctx.input(2), &probabilities = ctx.input(3);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(const ParameterRows rows,
                   ParameterRows::Of(shape, {counts.shape(), probabilities.shape()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<Out>, shape));
  if (out->num_elements() == 0) return OkStatus();
  const int64_t parameters = rows.count(), samples = out->num_elements() / parameters;
  Out* const drawn = out->template mutable_data<Out>();
  return ForEachNumber(
      ctx, stream, parameters, samples, [&](int64_t p, int64_t s, DoublePairs& numbers) {
        drawn[s * parameters + p] =
            FromCount<Out>(compute::DrawBinomial(numbers, NumberAt(counts, rows.Index(0, p)),
                                                 NumberAt(probabilities, rows.Index(1, p))));
      });
}

template <class T>
Status GammaGrad(Context& ctx) {
  const Tensor &alpha = ctx.input(0), &sample = ctx.input(1);
  Result<PartialShape> shape =
      BroadcastShapes(PartialShape(alpha.shape()), PartialShape(sample.shape()));
  RETURN_IF_ERROR(shape.status());
  ASSIGN_OR_RETURN(const Shape full, Shape::Make(shape->dims()));
  ASSIGN_OR_RETURN(const ParameterRows rows,
                   ParameterRows::Of(full, {alpha.shape(), sample.shape()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, full));
  T* const y = out->template mutable_data<T>();
  return compute::ForBlocks(ctx.work(), out->num_elements(), 512, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<T>(compute::GammaSampleDerivative(alpha.data<T>()[rows.Index(0, i)],
                                                           sample.data<T>()[rows.Index(1, i)]));
    }
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(distribution, cpu) {
  ForEachType<FloatTypes>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    if (kType != DType::kBfloat16) {
      registry.Add<RandomGammaCpu<T>>("RandomGamma", kCpu, {{"T", kType}}).KeepsState();
      registry.AddFunction<StatelessGamma<T, false>>("StatelessRandomGammaV2", kCpu,
                                                     {{"dtype", kType}});
      registry.AddFunction<StatelessGamma<T, true>>("StatelessRandomGammaV3", kCpu,
                                                    {{"dtype", kType}});
      registry.Add<RandomPoissonCpu<T>>("RandomPoisson", kCpu, {{"dtype", kType}}).KeepsState();
    }
  });
  ForEachType<Types<Half, float, double, int32_t, int64_t>>([&]<class Out>() {
    constexpr DType kOut = kDTypeOf<Out>;
    for (DType rate : {DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
      registry.Add<RandomPoissonCpu<Out>>("RandomPoissonV2", kCpu, {{"R", rate}, {"dtype", kOut}})
          .KeepsState();
      registry.AddFunction<StatelessPoisson<Out>>("StatelessRandomPoisson", kCpu,
                                                  {{"Rtype", rate}, {"dtype", kOut}});
    }
    for (DType type : {DType::kHalf, DType::kFloat, DType::kDouble}) {
      registry.AddFunction<StatelessBinomial<Out>>("StatelessRandomBinomial", kCpu,
                                                   {{"T", type}, {"dtype", kOut}});
    }
  });
  registry.AddFunction<GammaGrad<float>>("RandomGammaGrad", kCpu, {{"T", DType::kFloat}});
  registry.AddFunction<GammaGrad<double>>("RandomGammaGrad", kCpu, {{"T", DType::kDouble}});
}
