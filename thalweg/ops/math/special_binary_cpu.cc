// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "thalweg/compute/ew/special.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

using compute::Broadcast;
using compute::SpecialBinary;

// The inputs as they broadcast, and an output of their type and common shape.
struct Broadcasted {
  Broadcast broadcast;
  void* out;
};

Result<Broadcasted> BroadcastInputs(Context& ctx) {
  const Shape a = ctx.input(0).shape(), b = ctx.input(1).shape();
  ASSIGN_OR_RETURN(Broadcast broadcast, Broadcast::Make({a.dims(), b.dims()}));
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, ctx.input(0).dtype(), Shape(broadcast.output_dims())));
  return Broadcasted{std::move(broadcast), out->mutable_raw_data()};
}

Status ComputeSpecial(Context& ctx, SpecialBinary op) {
  ASSIGN_OR_RETURN(const Broadcasted to, BroadcastInputs(ctx));
  return compute::RunSpecial(ctx.work(), op, ctx.input(0).dtype(), to.broadcast,
                             ctx.input(0).raw_data(), ctx.input(1).raw_data(), to.out);
}

template <SpecialBinary Op>
Status ComputeBinary(Context& ctx) {
  return ComputeSpecial(ctx, Op);
}

Status NextAfter(Context& ctx) {
  ASSIGN_OR_RETURN(const Broadcasted to, BroadcastInputs(ctx));
  return compute::RunNextAfter(ctx.work(), ctx.input(0).dtype(), to.broadcast,
                               ctx.input(0).raw_data(), ctx.input(1).raw_data(), to.out);
}

Status ComplexXlog1py(Context& ctx) {
  ASSIGN_OR_RETURN(const Broadcasted to, BroadcastInputs(ctx));
  return compute::RunComplexXlog1py(ctx.work(), ctx.input(0).dtype(), to.broadcast,
                                    ctx.input(0).raw_data(), ctx.input(1).raw_data(), to.out);
}

Status Betainc(Context& ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1), &x = ctx.input(2);
  Shape shape;
  for (int i = 0; i < 3; ++i) {
    const Shape given = ctx.input(i).shape();
    if (given.IsScalar()) continue;
    if (!shape.IsScalar() && shape != given) {
      return InvalidArgument("a, b and x must be scalars or have one shape, got ", a.shape(), ", ",
                             b.shape(), " and ", x.shape());
    }
    shape = given;
  }
  const Shape a_shape = a.shape(), b_shape = b.shape(), x_shape = x.shape();
  ASSIGN_OR_RETURN(const Broadcast broadcast,
                   Broadcast::Make({a_shape.dims(), b_shape.dims(), x_shape.dims()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  return compute::RunBetainc(ctx.work(), x.dtype(), broadcast, a.raw_data(), b.raw_data(),
                             x.raw_data(), out->mutable_raw_data());
}

template <SpecialBinary Op>
void AddBinary(KernelRegistry& registry, std::string_view name, DTypeList types) {
  for (DType dtype : types) registry.AddFunction<ComputeBinary<Op>>(name, kCpu, {{"T", dtype}});
}

constexpr DTypeList kWideBinary = {DType::kFloat, DType::kDouble};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(special_binary, cpu) {
  AddBinary<SpecialBinary::kIgamma>(registry, "Igamma", kWideBinary);
  AddBinary<SpecialBinary::kIgammaGradA>(registry, "IgammaGradA", kWideBinary);
  AddBinary<SpecialBinary::kIgammac>(registry, "Igammac", kWideBinary);
  AddBinary<SpecialBinary::kPolygamma>(registry, "Polygamma", kWideBinary);
  AddBinary<SpecialBinary::kXlog1py>(registry, "Xlog1py", kFloats);
  AddBinary<SpecialBinary::kZeta>(registry, "Zeta", kWideBinary);
  for (DType dtype : kWideBinary) {
    registry.AddFunction<Betainc>("Betainc", kCpu, {{"T", dtype}});
    registry.AddFunction<NextAfter>("NextAfter", kCpu, {{"T", dtype}});
  }
  for (DType dtype : {DType::kComplex64, DType::kComplex128}) {
    registry.AddFunction<ComplexXlog1py>("Xlog1py", kCpu, {{"T", dtype}});
  }
}
