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

// Every sample of all p < parameters is draw(p, numbers). Samples lie with a stride of the number
// of parameters.
template <class Draw>
Status DrawNumbers(Context& ctx, const Philox& stream, int64_t parameters, Tensor& out,
                   const Draw& draw) {
  constexpr int64_t kGrain = 512;
  const int64_t samples = out.num_elements() / parameters;
  if (samples == 0) return OkStatus();
  const NumberOutput drawn(out);
  return compute::ForBlocks(
      ctx.work(), parameters * samples, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          DoublePairs numbers(
              StreamAt(stream, static_cast<uint64_t>(i) * compute::kBlocksOfNumber));
          const int64_t p = i / samples;
          drawn.Put(i % samples * parameters + p, draw(p, numbers));
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

Status DrawGammas(Context& ctx, const Philox& stream, const Tensor& alpha, Tensor& out) {
  return DrawNumbers(ctx, stream, alpha.num_elements(), out, [&](int64_t p, DoublePairs& n) {
    return compute::DrawGamma(n, NumberAt(alpha, p));
  });
}

class RandomGammaCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomGammaCpu>(c);
  }
  Status Compute(Context& ctx) override {
    const Tensor& alpha = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, AppendedShape(ctx.input(0), alpha));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, alpha.dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    return DrawGammas(ctx, stream().Reserve(BlocksOf(out->num_elements())), alpha, *out);
  }
};

// The shape must end in alpha's.
Status StatelessGammaOf(Context& ctx, bool keyed) {
  const Tensor& alpha = ctx.input(keyed ? 4 : 2);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  Result<Philox> stream =
      keyed ? StreamOfKey(ctx.input(1), ctx.input(2), ctx.input(3)) : StreamOfSeed(ctx.input(1));
  RETURN_IF_ERROR(stream.status());
  RETURN_IF_ERROR(CheckEndsIn(shape, alpha.shape(), "alpha"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, alpha.dtype(), shape));
  if (out->num_elements() == 0) return OkStatus();
  return DrawGammas(ctx, *stream, alpha, *out);
}

template <bool kKeyed>
Status StatelessGamma(Context& ctx) {
  return StatelessGammaOf(ctx, kKeyed);
}

Status DrawPoissons(Context& ctx, const Philox& stream, const Tensor& rate, Tensor& out) {
  const double largest = NumberOutput(out).largest();
  return DrawNumbers(ctx, stream, rate.num_elements(), out, [&](int64_t p, DoublePairs& n) {
    return compute::DrawPoisson(n, NumberAt(rate, p), largest);
  });
}

class RandomPoissonCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomPoissonCpu>(c);
  }
  Status Compute(Context& ctx) override {
    const Tensor& rate = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, AppendedShape(ctx.input(0), rate));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, output_type(), shape));
    if (out->num_elements() == 0) return OkStatus();
    return DrawPoissons(ctx, stream().Reserve(BlocksOf(out->num_elements())), rate, *out);
  }
};

Status StatelessPoissonAs(Context& ctx, DType dtype) {
  const Tensor& rate = ctx.input(2);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(1)));
  RETURN_IF_ERROR(CheckEndsIn(shape, rate.shape(), "lam"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  if (out->num_elements() == 0) return OkStatus();
  return DrawPoissons(ctx, stream, rate, *out);
}

template <DType kOut>
Status StatelessPoisson(Context& ctx) {
  return StatelessPoissonAs(ctx, kOut);
}

// Counts and probabilities broadcast to the end of the shape.
Status StatelessBinomialAs(Context& ctx, DType dtype) {
  const Tensor &counts = ctx.input(2), &probabilities = ctx.input(3);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(const ParameterRows rows,
                   ParameterRows::Of(shape, {counts.shape(), probabilities.shape()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  if (out->num_elements() == 0) return OkStatus();
  return DrawNumbers(ctx, stream, rows.count(), *out, [&](int64_t p, DoublePairs& n) {
    return compute::DrawBinomial(n, NumberAt(counts, rows.Index(0, p)),
                                 NumberAt(probabilities, rows.Index(1, p)));
  });
}

template <DType kOut>
Status StatelessBinomial(Context& ctx) {
  return StatelessBinomialAs(ctx, kOut);
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
  for (const DType type : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    registry.Add<RandomGammaCpu>("RandomGamma", kCpu, {{"T", type}}).KeepsState();
    registry.AddFunction<StatelessGamma<false>>("StatelessRandomGammaV2", kCpu, {{"dtype", type}});
    registry.AddFunction<StatelessGamma<true>>("StatelessRandomGammaV3", kCpu, {{"dtype", type}});
    registry.Add<RandomPoissonCpu>("RandomPoisson", kCpu, {{"dtype", type}}).KeepsState();
  }
  ForEachType<Types<Half, float, double, int32_t, int64_t>>([&]<class Out>() {
    constexpr DType kOut = kDTypeOf<Out>;
    for (DType rate : {DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
      registry.Add<RandomPoissonCpu>("RandomPoissonV2", kCpu, {{"R", rate}, {"dtype", kOut}})
          .KeepsState();
      registry.AddFunction<StatelessPoisson<kOut>>("StatelessRandomPoisson", kCpu,
                                                   {{"Rtype", rate}, {"dtype", kOut}});
    }
    for (DType type : {DType::kHalf, DType::kFloat, DType::kDouble}) {
      registry.AddFunction<StatelessBinomial<kOut>>("StatelessRandomBinomial", kCpu,
                                                    {{"T", type}, {"dtype", kOut}});
    }
  });
  registry.AddFunction<GammaGrad<float>>("RandomGammaGrad", kCpu, {{"T", DType::kFloat}});
  registry.AddFunction<GammaGrad<double>>("RandomGammaGrad", kCpu, {{"T", DType::kDouble}});
}
