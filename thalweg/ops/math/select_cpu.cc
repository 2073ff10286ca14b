// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>

#include "thalweg/kernel/element_wise.h"
#include "thalweg/kernel/made_texts.h"

namespace thalweg {
namespace {

// f(the element that is chosen) for every element of the output.
template <class T, class F>
void ForEachChosen(const compute::Broadcast& broadcast, const bool* condition, const T* a,
                   const T* b, const F& f) {
  const int last = broadcast.rank() - 1;
  compute::RowCursor row(broadcast, 0);
  for (int64_t r = 0; r < broadcast.rows(); ++r, row.Next()) {
    for (int64_t i = 0; i < broadcast.inner(); ++i) {
      f(condition[row.offset(0) + i * broadcast.stride(0, last)]
            ? a[row.offset(1) + i * broadcast.stride(1, last)]
            : b[row.offset(2) + i * broadcast.stride(2, last)]);
    }
  }
}

// Elements that are objects.
template <class T>
Status SelectObjects(Context& ctx, const compute::Broadcast& broadcast, Tensor& out) {
  const bool* const mask = ctx.input(0).data<bool>();
  const T *const a = ctx.input(1).data<T>(), *const b = ctx.input(2).data<T>();
  if constexpr (std::is_same_v<T, std::string>) {
    size_t bytes = 0;  // of at most as many strings as there is room for
    ForEachChosen(broadcast, mask, a, b,
                  [&](const T& text) { bytes += TextHeapBytes(text.size()); });
    RETURN_IF_ERROR(ClaimTextHeap(ctx.allocator(), out, bytes));
  }
  T* to = out.mutable_data<T>();
  ForEachChosen(broadcast, mask, a, b, [&](const T& chosen) { *to++ = chosen; });
  return OkStatus();
}

Status RunSelect(Context& ctx, const compute::Broadcast& broadcast) {
  const Tensor &condition = ctx.input(0), &a = ctx.input(1), &b = ctx.input(2);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.dtype(), Shape(broadcast.output_dims())));
  switch (a.dtype()) {
    case DType::kString:
      return SelectObjects<std::string>(ctx, broadcast, *out);
    case DType::kResource:
      return SelectObjects<ResourceHandle>(ctx, broadcast, *out);
    case DType::kVariant:
      return SelectObjects<Variant>(ctx, broadcast, *out);
    default:
      return compute::RunSelect(ctx.work(), DTypeSize(a.dtype()), broadcast, condition.data<bool>(),
                                a.raw_data(), b.raw_data(), out->mutable_raw_data());
  }
}

Status SelectV2(Context& ctx) {
  const Shape condition = ctx.input(0).shape(), a = ctx.input(1).shape(), b = ctx.input(2).shape();
  const Result<compute::Broadcast> broadcast =
      compute::Broadcast::Make({condition.dims(), a.dims(), b.dims()});
  if (broadcast.ok()) return RunSelect(ctx, *broadcast);
  return InvalidArgument("condition ", condition, ", then ", a, ", and else ", b,
                         " must be broadcastable");
}

// What a step that knows no shapes before says of them. A condition that is a vector chooses rows.
Status CheckSelect(const std::string& node, const Shape& condition, const Shape& a,
                   const Shape& b) {
  const bool of_rows = condition.rank() == 1 && a.rank() != 1;
  if (condition.rank() != 0 && !of_rows) {
    for (const Shape* value : {&a, &b}) {
      if (*value == condition) continue;
      return InvalidArgument("Inputs to operation ", node,
                             " of type Select must have the same size and shape.  Input 0: ",
                             condition, " != input ", value == &a ? 1 : 2, ": ", *value);
    }
    return OkStatus();
  }
  if (of_rows && a.rank() == 0) {
    return InvalidArgument("'then' must be at least a vector, but saw shape: ", a);
  }
  if (of_rows && condition.dim(0) != a.dim(0)) {
    return InvalidArgument("Number of batches of 'then' must match size of 'cond', but saw: ",
                           a.dim(0), " vs. ", condition.dim(0));
  }
  if (a == b) return OkStatus();
  return InvalidArgument("'then' and 'else' must have the same size.  but received: ", a, " vs. ",
                         b);
}

class SelectCpu : public Kernel {
 public:
  explicit SelectCpu(const KernelConstruction& c) : node_(c.node().name()) {}
  Status Compute(Context& ctx) override {
    const Shape condition = ctx.input(0).shape(), a = ctx.input(1).shape();
    RETURN_IF_ERROR(CheckSelect(node_, condition, a, ctx.input(2).shape()));
    Dims mask = condition.dims();
    if (condition.rank() == 1) mask.resize(a.rank(), 1);
    ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                     compute::Broadcast::Make({mask, a.dims(), a.dims()}));
    return RunSelect(ctx, broadcast);
  }

 private:
  const std::string node_;
};

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
    registry.Add<SelectCpu>("Select", kCpu, {{"T", dtype}});
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
