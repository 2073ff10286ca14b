// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/ops/random/multinomial.h"
#include "thalweg/ops/random/random_stream.h"
#include "thalweg/ops/random/shuffle.h"

namespace thalweg {
namespace {

using Fill = Status (*)(compute::Work&, DType, const Philox&, void*, int64_t);

// Inputs: shape, seed. The V2 forms have key, counter and algorithm in place of the seed.
Result<Philox> StreamOf(Context& ctx, bool keyed) {
  if (keyed) return StreamOfKey(ctx.input(1), ctx.input(2), ctx.input(3));
  return StreamOfSeed(ctx.input(1));
}

Status FillStateless(Context& ctx, Fill fill, DType dtype, bool keyed) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOf(ctx, keyed));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  return fill(ctx.work(), dtype, stream, out->mutable_raw_data(), out->num_elements());
}

template <Fill kFill, DType kType, bool kKeyed>
Status StatelessFill(Context& ctx) {
  return FillStateless(ctx, kFill, kType, kKeyed);
}

Status UniformIntStateless(Context& ctx, DType dtype, bool keyed) {
  const int first_limit = keyed ? 4 : 2;
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOf(ctx, keyed));
  ASSIGN_OR_RETURN(const int64_t low, LimitOf(ctx.input(first_limit), "minval"));
  ASSIGN_OR_RETURN(const int64_t high, LimitOf(ctx.input(first_limit + 1), "maxval"));
  if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  return compute::FillUniformInt(ctx.work(), dtype, stream, low, high, out->mutable_raw_data(),
                                 out->num_elements());
}

template <DType kType, bool kKeyed>
Status StatelessUniformInt(Context& ctx) {
  return UniformIntStateless(ctx, kType, kKeyed);
}

Status MultinomialStateless(Context& ctx, DType dtype) {
  const Tensor& logits = ctx.input(0);
  if (logits.rank() != 2) {
    return InvalidArgument("logits should be a matrix, got shape ", logits.shape());
  }
  ASSIGN_OR_RETURN(const int64_t samples, IntScalar(ctx.input(1), "num_samples"));
  if (samples < 0) return InvalidArgument("num_samples should be nonnegative, got ", samples);
  ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(2)));
  return DrawMultinomial(ctx, dtype, logits, samples, [&] { return stream; });
}

template <DType kType>
Status StatelessMultinomial(Context& ctx) {
  return MultinomialStateless(ctx, kType);
}

// The key and the counter that the seeded forms use for a seed.
Status GetKeyCounter(Context& ctx) {
  ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(0)));
  ASSIGN_OR_RETURN(Tensor * key, ctx.AllocateOutput(0, DType::kUint64, Shape{1}));
  ASSIGN_OR_RETURN(Tensor * counter, ctx.AllocateOutput(1, DType::kUint64, Shape{2}));
  const auto joined = [](uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; };
  *key->mutable_data<uint64_t>() = joined(stream.key()[0], stream.key()[1]);
  counter->mutable_data<uint64_t>()[0] = joined(stream.counter()[0], stream.counter()[1]);
  counter->mutable_data<uint64_t>()[1] = joined(stream.counter()[2], stream.counter()[3]);
  return OkStatus();
}

Status GetAlgorithm(Context& ctx) {
  ctx.set_output(ctx.num_outputs() - 1, Tensor::Scalar(static_cast<int32_t>(kPhiloxAlgorithm)));
  return OkStatus();
}

Status GetKeyCounterAlgorithm(Context& ctx) {
  RETURN_IF_ERROR(GetKeyCounter(ctx));
  return GetAlgorithm(ctx);
}

Status StatelessShuffle(Context& ctx) {
  ASSIGN_OR_RETURN(const Philox stream, StreamOfKey(ctx.input(1), ctx.input(2), ctx.input(3)));
  return ShuffleRows(ctx, ctx.input(0), [&](uint64_t) { return stream; });
}

template <bool kKeyed>
void AddFills(KernelRegistry& registry) {
  const std::string end = kKeyed ? "V2" : "";
  ForEachType<FloatTypes>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.AddFunction<StatelessFill<compute::FillUniform, kType, kKeyed>>(
        "StatelessRandomUniform" + end, kCpu, {{"dtype", kType}});
    registry.AddFunction<StatelessFill<compute::FillNormal, kType, kKeyed>>(
        "StatelessRandomNormal" + end, kCpu, {{"dtype", kType}});
    registry.AddFunction<StatelessFill<compute::FillTruncatedNormal, kType, kKeyed>>(
        "StatelessTruncatedNormal" + end, kCpu, {{"dtype", kType}});
  });
  ForEachType<Types<int32_t, int64_t, uint32_t, uint64_t>>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.AddFunction<StatelessFill<compute::FillBits, kType, kKeyed>>(
        "StatelessRandomUniformFullInt" + end, kCpu, {{"dtype", kType}});
  });
  registry.AddFunction<StatelessUniformInt<DType::kInt32, kKeyed>>(
      "StatelessRandomUniformInt" + end, kCpu, {{"dtype", DType::kInt32}});
  registry.AddFunction<StatelessUniformInt<DType::kInt64, kKeyed>>(
      "StatelessRandomUniformInt" + end, kCpu, {{"dtype", DType::kInt64}});
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(stateless_random, cpu) {
  AddFills<false>(registry);
  AddFills<true>(registry);
  ForEachType<FloatTypes>([&]<class T>() {
    registry.AddFunction<StatelessMultinomial<DType::kInt32>>(
        "StatelessMultinomial", kCpu, {{"T", kDTypeOf<T>}, {"output_dtype", DType::kInt32}});
    registry.AddFunction<StatelessMultinomial<DType::kInt64>>(
        "StatelessMultinomial", kCpu, {{"T", kDTypeOf<T>}, {"output_dtype", DType::kInt64}});
  });
  registry.AddFunction<GetKeyCounter>("StatelessRandomGetKeyCounter", kCpu);
  registry.AddFunction<GetKeyCounterAlgorithm>("StatelessRandomGetKeyCounterAlg", kCpu);
  registry.AddFunction<GetAlgorithm>("StatelessRandomGetAlg", kCpu);
  registry.AddFunction<StatelessShuffle>("StatelessShuffle", kCpu);
}
