// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The two seeds, scrambled so that it does not matter which of them carries the randomness.
Result<Philox> StreamOf(const Tensor& seed) {
  if (seed.rank() != 1 || seed.num_elements() != 2) {
    return InvalidArgument("seed must have shape [2], not ", seed.shape());
  }
  const auto low = static_cast<uint64_t>(IntAt(seed, 0));
  const auto high = static_cast<uint64_t>(IntAt(seed, 1));
  const Philox::Block counter = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
  const Philox::Block mixed = Philox::Generate(counter, {0x3ec8f720u, 0x02461e29u});
  return Philox({0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]});
}

using Fill = Status (*)(compute::Work&, DType, const Philox&, void*, int64_t);

template <Fill kFill, DType kType>
Status StatelessFill(Context& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOf(ctx.input(1)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
  return kFill(ctx.work(), kType, stream, out->mutable_raw_data(), out->num_elements());
}

template <DType kType>
Status StatelessUniformInt(Context& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(const Philox stream, StreamOf(ctx.input(1)));
  ASSIGN_OR_RETURN(const int64_t low, IntScalar(ctx.input(2), "minval"));
  ASSIGN_OR_RETURN(const int64_t high, IntScalar(ctx.input(3), "maxval"));
  if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
  return compute::FillUniformInt(ctx.work(), kType, stream, low, high, out->mutable_raw_data(),
                                 out->num_elements());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(stateless_random, cpu) {
  ForEachType<FloatTypes>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.AddFunction<StatelessFill<compute::FillUniform, kType>>("StatelessRandomUniform", kCpu,
                                                                     {{"dtype", kType}});
    registry.AddFunction<StatelessFill<compute::FillNormal, kType>>("StatelessRandomNormal", kCpu,
                                                                    {{"dtype", kType}});
    registry.AddFunction<StatelessFill<compute::FillTruncatedNormal, kType>>(
        "StatelessTruncatedNormal", kCpu, {{"dtype", kType}});
  });
  ForEachType<Types<int32_t, int64_t, uint32_t, uint64_t>>([&]<class T>() {
    constexpr DType kType = kDTypeOf<T>;
    registry.AddFunction<StatelessFill<compute::FillBits, kType>>("StatelessRandomUniformFullInt",
                                                                  kCpu, {{"dtype", kType}});
  });
  registry.AddFunction<StatelessUniformInt<DType::kInt32>>("StatelessRandomUniformInt", kCpu,
                                                           {{"dtype", DType::kInt32}});
  registry.AddFunction<StatelessUniformInt<DType::kInt64>>("StatelessRandomUniformInt", kCpu,
                                                           {{"dtype", DType::kInt64}});
}
