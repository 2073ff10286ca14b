// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::Combine;

enum class SegmentOp { kSum, kMean, kProd, kMax, kMin };

Combine CombineOf(SegmentOp op) {
  switch (op) {
    case SegmentOp::kProd:
      return Combine::kMul;
    case SegmentOp::kMax:
      return Combine::kMax;
    case SegmentOp::kMin:
      return Combine::kMin;
    default:
      return Combine::kAdd;
  }
}

// The element that an empty segment holds. Unsorted extremes start at the end of the type.
template <class T>
T EmptyValue(SegmentOp op, bool sorted) {
  if (op == SegmentOp::kProd) return T(1);
  if constexpr (std::is_integral_v<T>) {
    if (!sorted && op == SegmentOp::kMax) return std::numeric_limits<T>::lowest();
    if (!sorted && op == SegmentOp::kMin) return std::numeric_limits<T>::max();
  } else if constexpr (std::is_same_v<T, Half>) {
    if (!sorted && op == SegmentOp::kMax) return Half(-65504.0f);
    if (!sorted && op == SegmentOp::kMin) return Half(65504.0f);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    if (!sorted && op == SegmentOp::kMax) return Bfloat16::FromBits(0xff7f);
    if (!sorted && op == SegmentOp::kMin) return Bfloat16::FromBits(0x7f7f);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!sorted && op == SegmentOp::kMax) return std::numeric_limits<T>::lowest();
    if (!sorted && op == SegmentOp::kMin) return std::numeric_limits<T>::max();
  }
  return T(0);
}

Result<Tensor> EmptyElement(SegmentOp op, DType dtype, bool sorted) {
  Result<Tensor> made = Unimplemented("segments of elements of type ", dtype);
  ForEachType<NumberTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const T value = EmptyValue<T>(op, sorted);
    made = Tensor::Of<T>({&value, 1}, Shape{1});
  });
  return made;
}

// Rows divided by the number of rows in their segment.
template <class T>
void DivideRows(const std::vector<int64_t>& counts, int64_t inner, T* data) {
  for (size_t row = 0; row < counts.size(); ++row) {
    for (int64_t i = 0; i < inner; ++i) {
      T& value = data[static_cast<int64_t>(row) * inner + i];
      if constexpr (compute::kIsHalf<T>) {
        value = T(static_cast<float>(value) / static_cast<float>(counts[row]));
      } else if (counts[row] > 0) {
        value = value / static_cast<T>(counts[row]);
      }
    }
  }
}

// Fills output 0 of `shape` and combines the rows of data into it; ids are checked, -1 drops.
Status CombineInto(Context& ctx, SegmentOp op, bool sorted, const Shape& shape, int64_t inner,
                   const std::vector<int64_t>& ids) {
  const Tensor& data = ctx.input(0);
  const DType dtype = data.dtype();
  ASSIGN_OR_RETURN(const Tensor empty, EmptyElement(op, dtype, sorted));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  RETURN_IF_ERROR(compute::FillElements(ctx.work(), dtype, empty.raw_data(),
                                        out->mutable_raw_data(), out->num_elements()));
  const auto count = static_cast<int64_t>(ids.size());
  const compute::CombineShape rows{.inner = inner, .count = count};
  if (!sorted || (op != SegmentOp::kMax && op != SegmentOp::kMin)) {
    return compute::CombineRows(ctx.work(), dtype, CombineOf(op), rows, ids.data(), data.raw_data(),
                                out->mutable_raw_data());
  }
  // Sorted extremes start from the first row of each segment.
  std::vector<int64_t> first = ids, others = ids;
  for (int64_t i = 0; i < count; ++i) {
    const bool begins = i == 0 || ids[i] != ids[i - 1];
    (begins ? others : first)[i] = -1;
  }
  RETURN_IF_ERROR(compute::CombineRows(ctx.work(), dtype, Combine::kAssign, rows, first.data(),
                                       data.raw_data(), out->mutable_raw_data()));
  return compute::CombineRows(ctx.work(), dtype, CombineOf(op), rows, others.data(),
                              data.raw_data(), out->mutable_raw_data());
}

template <SegmentOp Op>
Status Sorted(Context& ctx) {
  const Tensor &data = ctx.input(0), &given = ctx.input(1);
  if (given.rank() != 1) {
    return InvalidArgument("segment_ids should be a vector, got shape ", given.shape());
  }
  if (data.rank() < 1 || given.dim(0) != data.dim(0)) {
    return InvalidArgument("segment_ids should be the same size as dimension 0 of input: ",
                           given.shape(), " against ", data.shape());
  }
  const int64_t count = given.dim(0);
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    ids[i] = IntAt(given, i);
    if (ids[i] < 0) {
      return InvalidArgument("segment ids must be >= 0, but element ", i, " is ", ids[i]);
    }
    if (ids[i] < (i == 0 ? 0 : ids[i - 1])) {
      return InvalidArgument("segment ids are not increasing: ", ids[i], " at ", i,
                             i == 0 ? "" : StrCat(" after ", ids[i - 1]));
    }
  }
  Dims dims = data.shape().dims();
  dims[0] = 1;
  const int64_t inner = Shape(dims).num_elements();
  if (count > 0 && ids.back() == std::numeric_limits<int64_t>::max()) {
    return InvalidArgument("segment id ", ids.back(), " is too large");
  }
  dims[0] = count == 0 ? 0 : ids.back() + 1;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  RETURN_IF_ERROR(CombineInto(ctx, Op, true, shape, inner, ids));
  // Without elements nothing has bounded the number of segments.
  if (Op != SegmentOp::kMean || shape.num_elements() == 0) return OkStatus();
  std::vector<int64_t> counts(static_cast<size_t>(dims[0]), 0);
  for (int64_t id : ids) ++counts[id];
  for (int64_t& n : counts) n = std::max<int64_t>(n, 1);
  Tensor& out = ctx.output(0);
  ForEachType<NumberTypes>([&]<class T> {
    if (kDTypeOf<T> == out.dtype()) DivideRows(counts, inner, out.mutable_data<T>());
  });
  return OkStatus();
}

template <SegmentOp Op>
Status Unsorted(Context& ctx) {
  const Tensor &data = ctx.input(0), &given = ctx.input(1);
  ASSIGN_OR_RETURN(const int64_t segments, IntScalar(ctx.input(2), "num_segments"));
  if (segments < 0) return InvalidArgument("num_segments must not be negative, got ", segments);
  const Shape data_shape = data.shape(), ids_shape = given.shape();
  Dims dims = {segments};
  int64_t inner = 1;
  for (int d = 0; d < std::max(data_shape.rank(), ids_shape.rank()); ++d) {
    if (d < ids_shape.rank()) {
      if (d < data_shape.rank() && data_shape.dim(d) == ids_shape.dim(d)) continue;
      return InvalidArgument("data.shape = ", data_shape,
                             " does not start with segment_ids.shape = ", ids_shape);
    }
    dims.push_back(data_shape.dim(d));
    inner *= data_shape.dim(d);
  }
  std::vector<int64_t> ids(static_cast<size_t>(given.num_elements()));
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = IntAt(given, static_cast<int64_t>(i));
    if (id >= segments) {
      return InvalidArgument("segment_ids", IndexText(ids_shape, static_cast<int64_t>(i)), " = ",
                             id, " is out of range [0, ", segments, ")");
    }
    ids[i] = id < 0 ? -1 : id;
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return CombineInto(ctx, Op, false, shape, inner, ids);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(segment, cpu) {
  for (DType dtype : kNumbers) {
    registry.AddFunction<Sorted<SegmentOp::kSum>>("SegmentSum", kCpu, {{"T", dtype}});
    registry.AddFunction<Sorted<SegmentOp::kMean>>("SegmentMean", kCpu, {{"T", dtype}});
    registry.AddFunction<Sorted<SegmentOp::kProd>>("SegmentProd", kCpu, {{"T", dtype}});
    registry.AddFunction<Unsorted<SegmentOp::kProd>>("UnsortedSegmentProd", kCpu, {{"T", dtype}});
    registry.AddFunction<Unsorted<SegmentOp::kSum>>("UnsortedSegmentSum", kCpu, {{"T", dtype}});
  }
  for (DType dtype : kReals) {
    registry.AddFunction<Sorted<SegmentOp::kMax>>("SegmentMax", kCpu, {{"T", dtype}});
    registry.AddFunction<Sorted<SegmentOp::kMin>>("SegmentMin", kCpu, {{"T", dtype}});
    registry.AddFunction<Unsorted<SegmentOp::kMax>>("UnsortedSegmentMax", kCpu, {{"T", dtype}});
    registry.AddFunction<Unsorted<SegmentOp::kMin>>("UnsortedSegmentMin", kCpu, {{"T", dtype}});
  }
}
