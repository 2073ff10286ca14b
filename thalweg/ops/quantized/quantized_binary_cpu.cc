// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/quantized/requantize.h"
#include "thalweg/ops/quantized/range_inputs.h"

namespace thalweg {
namespace {

using compute::RealRange;

// A range `room` times as far as either goes.
RealRange Wider(RealRange a, RealRange b, float room) {
  const float reach = std::max(std::max(std::abs(a.low), std::abs(a.high)),
                               std::max(std::abs(b.low), std::abs(b.high)));
  return {-reach * room, reach * room};
}

template <bool kMul>
Status Binary(Context& ctx) {
  const Tensor &x = ctx.input(0), &y = ctx.input(1);
  ASSIGN_OR_RETURN(const RealRange of_x, RisingRange(ctx, 2, "x"));
  ASSIGN_OR_RETURN(const RealRange of_y, RisingRange(ctx, 4, "y"));
  const Shape x_shape = x.shape(), y_shape = y.shape();
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({x_shape.dims(), y_shape.dims()}));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(broadcast.output_dims()));
  ASSIGN_OR_RETURN(Tensor a, ctx.AllocateTemporary(DType::kInt32, x_shape));
  ASSIGN_OR_RETURN(Tensor b, ctx.AllocateTemporary(DType::kInt32, y_shape));
  const RealRange to = kMul ? ProductRange(StepOf(x.dtype(), of_x), StepOf(y.dtype(), of_y))
                            : Wider(of_x, of_y, 16384);
  const auto widen = [&](const Tensor& from, RealRange range, Tensor& wide) {
    auto* out = wide.mutable_data<int32_t>();
    const int64_t n = from.num_elements();
    return kMul
               ? compute::WidenLevels(ctx.work(), from.dtype(), n,
                                      compute::ZeroLevel(from.dtype(), range), from.raw_data(), out)
               : compute::WidenLevelsTo(ctx.work(), from.dtype(), n, range, to, from.raw_data(),
                                        out);
  };
  RETURN_IF_ERROR(widen(x, of_x, a));
  RETURN_IF_ERROR(widen(y, of_y, b));
  SetRange(ctx, 1, to);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kQint32, shape));
  return compute::RunBinary(ctx.work(), kMul ? compute::BinaryOp::kMul : compute::BinaryOp::kAdd,
                            DType::kInt32, broadcast, a.raw_data(), b.raw_data(),
                            out->mutable_raw_data());
}

Status BiasAdd(Context& ctx) {
  const Tensor &x = ctx.input(0), &bias = ctx.input(1);
  if (x.rank() < 1 || bias.rank() != 1 || bias.dim(0) != x.dim(x.rank() - 1)) {
    return InvalidArgument("Must provide as many biases as the last dimension of the input: ",
                           bias.shape(), " vs. ", x.shape());
  }
  ASSIGN_OR_RETURN(const RealRange of_x, ScalarRange(ctx, 2, "input"));
  ASSIGN_OR_RETURN(const RealRange of_bias, ScalarRange(ctx, 4, "bias"));
  const RealRange to = Wider(of_x, of_bias, 131072);
  SetRange(ctx, 1, to);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kQint32, x.shape()));
  return compute::AddBiasLevels(ctx.work(), x.dtype(), x.num_elements(), bias.dim(0), of_x, of_bias,
                                to, x.raw_data(), bias.raw_data(),
                                static_cast<int32_t*>(out->mutable_raw_data()));
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantized_binary, cpu) {
  constexpr DType kBytes = DType::kQuint8, kOut = DType::kQint32;
  registry.AddFunction<Binary<false>>("QuantizedAdd", kCpu,
                                      {{"T1", kBytes}, {"T2", kBytes}, {"Toutput", kOut}});
  registry.AddFunction<Binary<true>>("QuantizedMul", kCpu,
                                     {{"T1", kBytes}, {"T2", kBytes}, {"Toutput", kOut}});
  for (DType dtype : {DType::kQint8, DType::kQuint8}) {
    registry.AddFunction<BiasAdd>("QuantizedBiasAdd", kCpu,
                                  {{"T1", dtype}, {"T2", dtype}, {"out_type", kOut}});
  }
}
