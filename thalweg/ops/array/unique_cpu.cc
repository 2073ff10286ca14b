// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/compute/blocks_in_order.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/move/unique.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kPerBlock = 1 << 16;  // numbers between two looks at the cancel flag

Status CheckFits(int64_t n, DType index_type) {
  if (index_type == DType::kInt64 || n <= std::numeric_limits<int32_t>::max()) return OkStatus();
  return InvalidArgument(
      "unique does not support input tensors larger than 2^31 - 1 elements with ", index_type,
      " places, got ", n);
}

// Output i = n numbers in the type that the node asks for.
Status SetIntegers(Context& ctx, int i, DType type, const int64_t* values, int64_t n) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, type, Shape{n}));
  return compute::ForBlocks(ctx.work(), n, kPerBlock, [&](int64_t begin, int64_t end) {
    if (type == DType::kInt64) {
      std::copy(values + begin, values + end, out->mutable_data<int64_t>() + begin);
    } else {
      int32_t* const to = out->mutable_data<int32_t>();
      for (int64_t k = begin; k < end; ++k) to[k] = static_cast<int32_t>(values[k]);
    }
  });
}

// x seen as `n` slices along a dimension with `outer` before and `inner` elements behind.
struct Slices {
  int64_t outer = 1;
  int64_t n = 0;
  int64_t inner = 1;
  int axis = 0;
};

Result<Slices> VectorSlices(const Tensor& x) {
  if (x.rank() != 1) {
    return InvalidArgument("unique expects a 1D vector, got shape ", x.shape());
  }
  return Slices{.n = x.num_elements()};
}

Result<Slices> SlicesAlong(const Tensor& x, const Tensor& axes) {
  if (axes.rank() != 1) {
    return InvalidArgument("axis expects a 1D vector, got shape ", axes.shape());
  }
  if (axes.num_elements() == 0) return VectorSlices(x);
  if (axes.num_elements() > 1) {
    return InvalidArgument("axis does not support input tensors larger than 1 elements, got ",
                           axes.num_elements());
  }
  Slices slices;
  ASSIGN_OR_RETURN(slices.axis, NormalizeAxis(IntAt(axes, 0), x.rank(), "axis"));
  for (int i = 0; i < slices.axis; ++i) slices.outer *= x.dim(i);
  slices.n = x.dim(slices.axis);
  for (int i = slices.axis + 1; i < x.rank(); ++i) slices.inner *= x.dim(i);
  return slices;
}

class UniqueCpu : public Kernel {
 public:
  explicit UniqueCpu(const KernelConstruction& c)
      : index_type_(c.output_type(1)), has_axis_(c.node().num_inputs() > 1) {}

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const Slices s, has_axis_ ? SlicesAlong(x, ctx.input(1)) : VectorSlices(x));
    RETURN_IF_ERROR(CheckFits(s.n, index_type_));
    ASSIGN_OR_RETURN(const Tensor rows, RowsOf(ctx, x, s));
    ASSIGN_OR_RETURN(Tensor first, ctx.AllocateTemporary(DType::kInt64, Shape{s.n}));
    ASSIGN_OR_RETURN(Tensor index, ctx.AllocateTemporary(DType::kInt64, Shape{s.n}));
    ASSIGN_OR_RETURN(
        const int64_t distinct,
        compute::UniqueRows(ctx.work(), x.dtype(), s.n, s.outer * s.inner, rows.raw_data(),
                            first.mutable_data<int64_t>(), index.mutable_data<int64_t>()));
    Dims dims = x.shape().dims();
    dims[s.axis] = distinct;
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), Shape(dims)));
    RETURN_IF_ERROR(compute::GatherRows(
        ctx.work(), x.dtype(), {.outer = s.outer, .rows = s.n, .inner = s.inner, .count = distinct},
        x.raw_data(), first.data<int64_t>(), y->mutable_raw_data()));
    RETURN_IF_ERROR(SetIntegers(ctx, 1, index_type_, index.data<int64_t>(), s.n));
    return ctx.num_outputs() > 2 ? SetCounts(ctx, first, index, distinct) : OkStatus();
  }

 private:
  // The slices one after the other.
  static Result<Tensor> RowsOf(Context& ctx, const Tensor& x, const Slices& s) {
    if (s.outer == 1) return x;
    ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemporary(x.dtype(), x.shape()));
    RETURN_IF_ERROR(
        compute::CopyStrided(ctx.work(), x.dtype(), Dims{s.n, s.outer, s.inner},
                             {x.raw_data(), Dims{s.inner, s.n * s.inner, 1}},
                             {rows.mutable_raw_data(), Dims{s.outer * s.inner, s.inner, 1}}));
    return rows;
  }

  // `first` is not needed any more and holds the counts.
  Status SetCounts(Context& ctx, Tensor& first, const Tensor& index, int64_t distinct) const {
    int64_t* const counts = first.mutable_data<int64_t>();
    std::fill_n(counts, distinct, int64_t{0});
    const int64_t* const numbers = index.data<int64_t>();
    RETURN_IF_ERROR(compute::ForBlocksInOrder(ctx.work(), index.num_elements(), kPerBlock,
                                              [&](int64_t begin, int64_t end) {
                                                for (int64_t i = begin; i < end; ++i)
                                                  ++counts[numbers[i]];
                                              }));
    return SetIntegers(ctx, 2, index_type_, counts, distinct);
  }

  const DType index_type_;
  const bool has_axis_;
};

class ListDiffCpu : public Kernel {
 public:
  explicit ListDiffCpu(const KernelConstruction& c) : index_type_(c.output_type(1)) {}

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    for (int i = 0; i < 2; ++i) {
      if (ctx.input(i).rank() == 1) continue;
      return InvalidArgument(i == 0 ? "x" : "y", " should be a 1D vector, got shape ",
                             ctx.input(i).shape());
    }
    const int64_t n = x.num_elements();
    RETURN_IF_ERROR(CheckFits(n, index_type_));
    ASSIGN_OR_RETURN(Tensor kept, ctx.AllocateTemporary(DType::kInt64, Shape{n}));
    ASSIGN_OR_RETURN(
        const int64_t count,
        compute::AbsentElements(ctx.work(), x.dtype(), n, x.raw_data(), y.num_elements(),
                                y.raw_data(), kept.mutable_data<int64_t>()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), Shape{count}));
    RETURN_IF_ERROR(compute::GatherRows(ctx.work(), x.dtype(), {.rows = n, .count = count},
                                        x.raw_data(), kept.data<int64_t>(),
                                        out->mutable_raw_data()));
    return SetIntegers(ctx, 1, index_type_, kept.data<int64_t>(), count);
  }

 private:
  const DType index_type_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(unique, cpu) {
  const auto add = [&](DType dtype) {
    for (const char* op : {"Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"}) {
      registry.Add<UniqueCpu>(op, kCpu, {{"T", dtype}});
    }
    registry.Add<ListDiffCpu>("ListDiff", kCpu, {{"T", dtype}});
  };
  ForEachType<RealTypes>([&]<class T>() { add(kDTypeOf<T>); });
  add(DType::kBool);
  add(DType::kString);
}
