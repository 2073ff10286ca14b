// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

// Elements that are objects.
template <class T>
void SelectObjects(const compute::Broadcast& broadcast, const bool* condition, const T* a,
                   const T* b, T* out) {
  const int last = broadcast.rank() - 1;
  compute::RowCursor row(broadcast, 0);
  for (int64_t r = 0; r < broadcast.rows(); ++r, row.Next()) {
    for (int64_t i = 0; i < broadcast.inner(); ++i) {
      *out++ = condition[row.offset(0) + i * broadcast.stride(0, last)]
                   ? a[row.offset(1) + i * broadcast.stride(1, last)]
                   : b[row.offset(2) + i * broadcast.stride(2, last)];
    }
  }
}

Status RunSelect(Context& ctx, const compute::Broadcast& broadcast) {
  const Tensor &condition = ctx.input(0), &a = ctx.input(1), &b = ctx.input(2);
  const bool* mask = condition.data<bool>();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.dtype(), Shape(broadcast.output_dims())));
  switch (a.dtype()) {
    case DType::kString:
      SelectObjects(broadcast, mask, a.data<std::string>(), b.data<std::string>(),
                    out->mutable_data<std::string>());
      return OkStatus();
    case DType::kResource:
      SelectObjects(broadcast, mask, a.data<ResourceHandle>(), b.data<ResourceHandle>(),
                    out->mutable_data<ResourceHandle>());
      return OkStatus();
    case DType::kVariant:
      SelectObjects(broadcast, mask, a.data<Variant>(), b.data<Variant>(),
                    out->mutable_data<Variant>());
      return OkStatus();
    default:
      return compute::RunSelect(ctx.work(), DTypeSize(a.dtype()), broadcast, mask, a.raw_data(),
                                b.raw_data(), out->mutable_raw_data());
  }
}

Status SelectV2(Context& ctx) {
  const Shape condition = ctx.input(0).shape(), a = ctx.input(1).shape(), b = ctx.input(2).shape();
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({condition.dims(), a.dims(), b.dims()}));
  return RunSelect(ctx, broadcast);
}

// A condition that is a vector chooses rows.
Status Select(Context& ctx) {
  const Shape condition = ctx.input(0).shape(), a = ctx.input(1).shape(), b = ctx.input(2).shape();
  if (a != b) {
    return InvalidArgument("t and e must have one shape, got ", a.ToString(), " and ",
                           b.ToString());
  }
  Dims mask = condition.dims();
  if (condition.rank() == 1 && a.rank() >= 1 && condition != a) {
    if (condition.dim(0) != a.dim(0)) {
      return InvalidArgument("a condition that is a vector must have one element per row of t: ",
                             condition.ToString(), " against ", a.ToString());
    }
    mask.resize(a.rank(), 1);
  } else if (condition.rank() != 0 && condition != a) {
    return InvalidArgument("condition must be a scalar, a vector, or have the shape of t: ",
                           condition.ToString(), " against ", a.ToString());
  }
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({mask, a.dims(), b.dims()}));
  return RunSelect(ctx, broadcast);
}

Status ClipByValue(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape shape = x.shape();
  const DType dtype = x.dtype();
  const void* data = x.raw_data();
  for (int i : {1, 2}) {
    const Shape bound = ctx.input(i).shape();
    if (!bound.IsScalar() && bound != shape) {
      return InvalidArgument("clip bounds must be scalars or have the shape of t: ",
                             bound.ToString(), " against ", shape.ToString());
    }
  }
  // Complex numbers are clipped as two real ones each.
  const bool is_complex = IsComplex(dtype);
  const DType part = !is_complex                  ? dtype
                     : dtype == DType::kComplex64 ? DType::kFloat
                                                  : DType::kDouble;
  const auto parts = [&](const Shape& of) {
    Dims dims = of.dims();
    if (is_complex) dims.push_back(2);
    return dims;
  };
  const Dims whole = parts(shape);
  ASSIGN_OR_RETURN(const auto with_high,
                   compute::Broadcast::Make({whole, parts(ctx.input(2).shape())}));
  ASSIGN_OR_RETURN(const auto with_low,
                   compute::Broadcast::Make({whole, parts(ctx.input(1).shape())}));
  ASSIGN_OR_RETURN(Tensor * y, ctx.TakeOrAllocateOutput({0}, 0, dtype, shape));
  RETURN_IF_ERROR(compute::RunBinary(ctx.work(), compute::BinaryOp::kMinimum, part, with_high, data,
                                     ctx.input(2).raw_data(), y->mutable_raw_data()));
  return compute::RunBinary(ctx.work(), compute::BinaryOp::kMaximum, part, with_low, y->raw_data(),
                            ctx.input(1).raw_data(), y->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(select, cpu) {
  const auto add = [&](DType dtype) {
    registry.AddFunction<Select>("Select", kCpu, {{"T", dtype}});
    registry.AddFunction<SelectV2>("SelectV2", kCpu, {{"T", dtype}});
  };
  for (DType dtype : kNumbers) add(dtype);
  for (DType dtype : {DType::kBool, DType::kString, DType::kResource, DType::kVariant}) add(dtype);
  const auto add_clip = [&](DType dtype) {
    registry.AddFunction<ClipByValue>("ClipByValue", kCpu, {{"T", dtype}});
  };
  for (DType dtype : kReals) add_clip(dtype);
  for (DType dtype : {DType::kComplex64, DType::kComplex128}) add_clip(dtype);
}
