// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "thalweg/compute/random/distributions.h"
#include "thalweg/ops/random/distribution_args.h"
#include "thalweg/ops/random/random_stream.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

// The state in variable input 0: the counter (two numbers) and the key, behind the algorithm's
// number where `begin` is 1; what follows is not looked at. It moves on by `blocks`. When `before`
// is not null, it gets those three as they were.
Result<Philox> TakeStream(Context& ctx, uint64_t blocks, std::array<int64_t, 3>* before = nullptr,
                          int begin = 0) {
  ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
  Variable::Update update(*variable, /*use_locking=*/true);
  ASSIGN_OR_RETURN(Tensor * state, update.Writable(ctx.allocator()));
  if (state->dtype() != DType::kInt64 || state->rank() != 1) {
    return InvalidArgument("RNG state must be an int64 vector, got ", state->dtype(),
                           state->shape());
  }
  if (state->num_elements() < begin + 3) {
    return InvalidArgument("For the Philox algorithm, the size of state must be at least ",
                           begin + 3, "; got ", state->num_elements());
  }
  int64_t* const whole = state->mutable_data<int64_t>();
  if (begin == 1) RETURN_IF_ERROR(CheckAlgorithm(whole[0]));
  int64_t* const numbers = whole + begin;
  if (before != nullptr) std::copy_n(numbers, 3, before->begin());
  const auto low = static_cast<uint64_t>(numbers[0]), high = static_cast<uint64_t>(numbers[1]);
  const auto key = static_cast<uint64_t>(numbers[2]);
  const Philox now({static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                    static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)},
                   {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
  const uint64_t next = low + blocks;
  numbers[0] = static_cast<int64_t>(next);
  if (next < low) numbers[1] = static_cast<int64_t>(high + 1);
  update.Commit();
  return now;
}

Status CheckAlgorithmInput(Context& ctx, int i) {
  ASSIGN_OR_RETURN(const int64_t algorithm, IntScalar(ctx.input(i), "algorithm"));
  return CheckAlgorithm(algorithm);
}

using Fill = Status (*)(compute::Work&, DType, const Philox&, void*, int64_t);

// Inputs: state, algorithm (in the first form it is the first number of the state), shape.
Status FillFromState(Context& ctx, Fill fill, DType dtype, bool has_algorithm) {
  if (has_algorithm) RETURN_IF_ERROR(CheckAlgorithmInput(ctx, 1));
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(has_algorithm ? 2 : 1), "shape"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  const int64_t n = out->num_elements();
  ASSIGN_OR_RETURN(const Philox stream,
                   TakeStream(ctx, compute::ReservedBlocks(n), nullptr, has_algorithm ? 0 : 1));
  return fill(ctx.work(), dtype, stream, out->mutable_raw_data(), n);
}

template <Fill kFill, DType kType, bool kHasAlgorithm>
Status StatefulFill(Context& ctx) {
  return FillFromState(ctx, kFill, kType, kHasAlgorithm);
}

template <DType kType>
Status StatefulUniformInt(Context& ctx) {
  RETURN_IF_ERROR(CheckAlgorithmInput(ctx, 1));
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(2), "shape"));
  ASSIGN_OR_RETURN(const int64_t low, LimitOf(ctx.input(3), "minval"));
  ASSIGN_OR_RETURN(const int64_t high, LimitOf(ctx.input(4), "maxval"));
  if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
  const int64_t n = out->num_elements();
  ASSIGN_OR_RETURN(const Philox stream, TakeStream(ctx, compute::ReservedBlocks(n)));
  return compute::FillUniformInt(ctx.work(), kType, stream, low, high, out->mutable_raw_data(), n);
}

Status DrawStatefulBinomials(Context& ctx, DType dtype) {
  RETURN_IF_ERROR(CheckAlgorithmInput(ctx, 1));
  const Tensor &counts = ctx.input(3), &probabilities = ctx.input(4);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(2), "shape"));
  ASSIGN_OR_RETURN(const ParameterRows rows,
                   ParameterRows::Of(shape, {counts.shape(), probabilities.shape()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  const int64_t n = out->num_elements();
  if (n == 0) return OkStatus();
  const int64_t parameters = rows.count(), samples = n / parameters;
  // The state moves as far as in TensorFlow, which counts four samples at a time.
  const auto blocks = static_cast<uint64_t>(parameters * 200 * (samples + 3) / 4) * 256;
  ASSIGN_OR_RETURN(const Philox stream, TakeStream(ctx, blocks));
  const NumberOutput drawn(*out);
  return compute::ForBlocks(ctx.work(), n, 512, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = i / samples;
      compute::DoublePairs numbers(
          compute::StreamAt(stream, static_cast<uint64_t>(i) * compute::kBlocksOfNumber));
      drawn.Put(i % samples * parameters + p,
                compute::DrawBinomial(numbers, NumberAt(counts, rows.Index(0, p)),
                                      NumberAt(probabilities, rows.Index(1, p))));
    }
  });
}

template <DType kType>
Status StatefulBinomial(Context& ctx) {
  return DrawStatefulBinomials(ctx, kType);
}

Result<uint64_t> DeltaOf(const Tensor& delta) {
  if (delta.rank() != 0) return InvalidArgument("delta must be a scalar, got ", delta.shape());
  const uint64_t numbers = delta.dtype() == DType::kUint64
                               ? delta.scalar<uint64_t>()
                               : static_cast<uint64_t>(delta.scalar<int64_t>());
  return numbers * 256;
}

Status RngSkip(Context& ctx) {
  RETURN_IF_ERROR(CheckAlgorithmInput(ctx, 1));
  ASSIGN_OR_RETURN(const uint64_t blocks, DeltaOf(ctx.input(2)));
  return TakeStream(ctx, blocks).status();
}

Status RngReadAndSkip(Context& ctx) {
  RETURN_IF_ERROR(CheckAlgorithmInput(ctx, 1));
  ASSIGN_OR_RETURN(const uint64_t blocks, DeltaOf(ctx.input(2)));
  std::array<int64_t, 3> before{};
  RETURN_IF_ERROR(TakeStream(ctx, blocks, &before).status());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt64, Shape{3}));
  std::ranges::copy(before, out->mutable_data<int64_t>());
  return OkStatus();
}

template <DType kType>
Status NonDeterministicInts(Context& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
  return compute::FillBits(ctx.work(), kType, Philox(RandomSeed(), RandomSeed()),
                           out->mutable_raw_data(), out->num_elements());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(stateful_random, cpu) {
  ForEachType<FloatTypes>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.AddFunction<StatefulFill<compute::FillUniform, kType, true>>("StatefulUniform", kCpu,
                                                                          {{"dtype", kType}});
    registry.AddFunction<StatefulFill<compute::FillNormal, kType, false>>("StatefulStandardNormal",
                                                                          kCpu, {{"dtype", kType}});
    registry.AddFunction<StatefulFill<compute::FillNormal, kType, true>>("StatefulStandardNormalV2",
                                                                         kCpu, {{"dtype", kType}});
    registry.AddFunction<StatefulFill<compute::FillTruncatedNormal, kType, true>>(
        "StatefulTruncatedNormal", kCpu, {{"dtype", kType}});
  });
  ForEachType<Types<int32_t, int64_t, uint32_t, uint64_t>>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.AddFunction<StatefulFill<compute::FillBits, kType, true>>("StatefulUniformFullInt",
                                                                       kCpu, {{"dtype", kType}});
    registry.AddFunction<NonDeterministicInts<kType>>("NonDeterministicInts", kCpu,
                                                      {{"dtype", kType}});
  });
  registry.AddFunction<StatefulUniformInt<DType::kInt32>>("StatefulUniformInt", kCpu,
                                                          {{"dtype", DType::kInt32}});
  registry.AddFunction<StatefulUniformInt<DType::kInt64>>("StatefulUniformInt", kCpu,
                                                          {{"dtype", DType::kInt64}});
  ForEachType<Types<Half, float, double, int32_t, int64_t>>([&]<class Out>() {
    for (DType type : {DType::kHalf, DType::kFloat, DType::kDouble}) {
      registry.AddFunction<StatefulBinomial<kDTypeOf<Out>>>(
          "StatefulRandomBinomial", kCpu, {{"T", type}, {"dtype", kDTypeOf<Out>}});
    }
  });
  registry.AddFunction<RngSkip>("RngSkip", kCpu);
  registry.AddFunction<RngReadAndSkip>("RngReadAndSkip", kCpu);
}
