// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/quantized/levels.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

Result<int> ConcatAxis(int64_t given, int rank) {
  Result<int> axis = NormalizeAxis(given, rank, "concatenating dimensions");
  if (!axis.ok()) return InvalidArgument("ConcatOp : ", axis.status().message());
  return axis;
}

// The shape of values [begin, end) joined along `axis`.
Result<Shape> JoinedShape(Context& ctx, int begin, int end, int axis) {
  const Shape first = ctx.input(begin).shape();
  Dims dims = first.dims();
  for (int i = begin + 1; i < end; ++i) {
    const Shape next = ctx.input(i).shape();
    if (next.rank() != first.rank()) {
      return InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                             first, " vs. shape[", i - begin, "] = ", next);
    }
    for (int d = 0; d < dims.size(); ++d) {
      if (d == axis) {
        if (__builtin_add_overflow(dims[d], next.dim(d), &dims[d])) {
          return InvalidArgument("the sizes along axis ", axis, " add up beyond 64 bits");
        }
      } else if (dims[d] != next.dim(d)) {
        return InvalidArgument("ConcatOp : Dimensions of inputs should match: shape[0] = ", first,
                               " vs. shape[", i - begin, "] = ", next);
      }
    }
  }
  return Shape::Make(dims);
}

using Parts = std::vector<Tensor>;

// Output 0: the parts after each other along the axis.
Status JoinParts(Context& ctx, const Parts& parts, int axis, const Shape& shape) {
  const DType dtype = parts[0].dtype();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  if (out->num_elements() == 0) return OkStatus();
  int64_t outer = 1;
  int64_t below = 1;
  for (int d = 0; d < axis; ++d) outer *= shape.dim(d);
  for (int d = axis + 1; d < shape.rank(); ++d) below *= shape.dim(d);
  const int64_t row = shape.dim(axis) * below;
  int64_t offset = 0;
  for (const Tensor& input : parts) {
    const int64_t part = input.dim(axis) * below;
    RETURN_IF_ERROR(ClaimCopies(ctx, *out, input));
    RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), dtype, Dims{outer, part},
                                         {input.raw_data(), {part, 1}},
                                         {out->mutable_raw_data(), {row, 1}, offset}));
    offset += part;
  }
  return OkStatus();
}

Status ConcatValues(Context& ctx, int axis_input, int begin, int end) {
  if (begin == end) return InvalidArgument("Concat needs at least one value");
  ASSIGN_OR_RETURN(const int64_t given, LegacyIntScalar(ctx.input(axis_input), "axis"));
  ASSIGN_OR_RETURN(const int axis, ConcatAxis(given, ctx.input(begin).rank()));
  if (end - begin == 1) {
    ctx.set_output(0, ctx.input(begin));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Shape shape, JoinedShape(ctx, begin, end, axis));
  Parts parts;
  for (int i = begin; i < end; ++i) parts.push_back(ctx.input(i));
  return JoinParts(ctx, parts, axis, shape);
}

// The values' ranges follow each other: the low ends, then the high ones.
template <bool kAxisFirst>
Status QuantizedConcat(Context& ctx) {
  const int n = (ctx.num_inputs() - 1) / 3;
  const int begin = kAxisFirst ? 1 : 0, ranges = n + 1;
  if (n < 1) return InvalidArgument("Concat needs at least one value");
  ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(kAxisFirst ? 0 : n), "axis"));
  ASSIGN_OR_RETURN(const int axis, ConcatAxis(given, ctx.input(begin).rank()));
  ASSIGN_OR_RETURN(const Shape shape, JoinedShape(ctx, begin, begin + n, axis));
  for (int i = ranges; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).num_elements() == 1) continue;
    return InvalidArgument("the ends of a range must have one element, got shape ",
                           ctx.input(i).shape());
  }
  const auto range_of = [&](int i) {
    return compute::RealRange{ctx.input(ranges + i).scalar<float>(),
                              ctx.input(ranges + n + i).scalar<float>()};
  };
  compute::RealRange all = range_of(0);
  for (int i = 1; i < n; ++i) {
    all.low = std::min(all.low, range_of(i).low);
    all.high = std::max(all.high, range_of(i).high);
  }
  all.low = std::min(all.low, 0.0f);
  if (ctx.input(begin).dtype() != DType::kQuint8) {  // signed: zero in the middle
    all.high = std::max(std::abs(all.low), std::abs(all.high));
    all.low = -all.high;
  }
  Parts parts;
  for (int i = 0; i < n; ++i) {
    const Tensor& x = ctx.input(begin + i);
    const compute::RealRange range = range_of(i);
    if (range.low == all.low && range.high == all.high) {
      parts.push_back(x);
      continue;
    }
    ASSIGN_OR_RETURN(Tensor moved, ctx.AllocateTemporary(x.dtype(), x.shape()));
    RETURN_IF_ERROR(compute::MoveLevels(ctx.work(), x.dtype(), x.num_elements(), range, all,
                                        x.raw_data(), moved.mutable_raw_data()));
    parts.push_back(std::move(moved));
  }
  ctx.set_output(1, Tensor::Scalar(all.low));
  ctx.set_output(2, Tensor::Scalar(all.high));
  return JoinParts(ctx, parts, axis, shape);
}

Status Concat(Context& ctx) { return ConcatValues(ctx, 0, 1, ctx.num_inputs()); }
Status ConcatV2(Context& ctx) {
  return ConcatValues(ctx, ctx.num_inputs() - 1, 0, ctx.num_inputs() - 1);
}

template <class T>
Status ConcatOffset(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(0), "concat_dim"));
  ASSIGN_OR_RETURN(const Dims first, IntVector(ctx.input(1), "shape"));
  const int rank = first.size();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, rank, "concat_dim"));
  int64_t offset = 0;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const Dims shape, IntVector(ctx.input(i), "shape"));
    bool same = shape.size() == rank;
    for (int d = 0; same && d < rank; ++d) same = d == axis || shape[d] == first[d];
    if (!same) {
      return InvalidArgument("All shapes must agree but in dimension ", axis, ": input ", i - 1,
                             " is ", Shape(shape), ", input 0 is ", Shape(first));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i - 1, kDTypeOf<T>, Shape{int64_t{rank}}));
    T* values = out->mutable_data<T>();
    std::fill_n(values, rank, T{0});
    values[axis] = static_cast<T>(offset);
    if (__builtin_add_overflow(offset, shape[axis], &offset)) {
      return InvalidArgument("the sizes along dimension ", axis, " add up beyond 64 bits");
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(concat, cpu) {
  registry.AddFunction<Concat>("Concat", kCpu);
  registry.AddFunction<ConcatV2>("ConcatV2", kCpu);
  for (DType dtype : {DType::kQuint8, DType::kQint32}) {
    registry.AddFunction<QuantizedConcat<true>>("QuantizedConcat", kCpu, {{"T", dtype}});
  }
  for (DType dtype : {DType::kQuint8, DType::kQint8}) {
    registry.AddFunction<QuantizedConcat<false>>("QuantizedConcatV2", kCpu, {{"T", dtype}});
  }
  registry.AddFunction<ConcatOffset<int32_t>>("ConcatOffset", kCpu,
                                              {{"shape_type", DType::kInt32}});
  registry.AddFunction<ConcatOffset<int64_t>>("ConcatOffset", kCpu,
                                              {{"shape_type", DType::kInt64}});
}
