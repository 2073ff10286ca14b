// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/kernel/shared_rows.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/strided_slice.h"

namespace thalweg {
namespace {

// Where a slice lies in a contiguous tensor.
struct Region {
  Dims strides;
  int64_t offset = 0;
};

Region RegionOf(const Shape& shape, const StridedSlice& slice) {
  Region region{compute::ContiguousStrides(shape.dims()), 0};
  for (int i = 0; i < shape.rank(); ++i) {
    region.offset += slice.begin[i] * region.strides[i];
    // A stride that is never taken may be any number.
    region.strides[i] *= slice.sizes[i] > 1 ? slice.strides[i] : 1;
  }
  return region;
}

bool IsEmpty(const StridedSlice& slice) {
  for (int64_t size : slice.sizes) {
    if (size == 0) return true;
  }
  return false;
}

class StridedSliceKernel : public Kernel {
 public:
  explicit StridedSliceKernel(const StridedSliceMasks& masks) : masks_(masks) {}

 protected:
  // The slice of a tensor of `shape`; begin, end, strides are inputs first, first + 1, first + 2.
  Result<StridedSlice> SliceOf(Context& ctx, const Shape& shape, int first) const {
    RETURN_IF_ERROR(CheckSliceArguments(ctx.input(first).shape(), ctx.input(first + 1).shape(),
                                        ctx.input(first + 2).shape()));
    ASSIGN_OR_RETURN(const Dims begin, IntVector(ctx.input(first), "begin"));
    ASSIGN_OR_RETURN(const Dims end, IntVector(ctx.input(first + 1), "end"));
    ASSIGN_OR_RETURN(const Dims strides, IntVector(ctx.input(first + 2), "strides"));
    return MakeStridedSlice(shape, &begin, &end, strides, masks_);
  }

 private:
  const StridedSliceMasks masks_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithMasks(const KernelConstruction& c) {
  StridedSliceMasks masks;
  ASSIGN_OR_RETURN(masks.begin, Int32Attr(c, "begin_mask"));
  ASSIGN_OR_RETURN(masks.end, Int32Attr(c, "end_mask"));
  ASSIGN_OR_RETURN(masks.ellipsis, Int32Attr(c, "ellipsis_mask"));
  ASSIGN_OR_RETURN(masks.new_axis, Int32Attr(c, "new_axis_mask"));
  ASSIGN_OR_RETURN(masks.shrink_axis, Int32Attr(c, "shrink_axis_mask"));
  return std::unique_ptr<Kernel>(std::make_unique<K>(masks));
}

class StridedSliceCpu : public StridedSliceKernel {
 public:
  using StridedSliceKernel::StridedSliceKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithMasks<StridedSliceCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape input = x.shape();
    ASSIGN_OR_RETURN(const StridedSlice slice, SliceOf(ctx, input, 1));
    const Shape shape = slice.shape.ToShape();
    if (IsWholeRows(input, slice)) {
      if (slice.sizes[0] == input.dim(0)) {
        ASSIGN_OR_RETURN(Tensor same, x.Reshaped(shape));
        ctx.set_output(0, std::move(same));
        return OkStatus();
      }
      ASSIGN_OR_RETURN(Tensor shared,
                       ShareRows(x, slice.begin[0], slice.begin[0] + slice.sizes[0], shape));
      if (!shared.empty()) {
        ctx.set_output(0, std::move(shared));
        return OkStatus();
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
    if (IsEmpty(slice)) return OkStatus();
    const Region region = RegionOf(input, slice);
    return compute::CopyStrided(ctx.work(), x.dtype(), slice.sizes,
                                {x.raw_data(), region.strides, region.offset},
                                {out->mutable_raw_data(), compute::ContiguousStrides(slice.sizes)});
  }

 private:
  // Consecutive rows of dimension 0 and all of the others.
  static bool IsWholeRows(const Shape& input, const StridedSlice& slice) {
    for (int i = 0; i < input.rank(); ++i) {
      if (slice.sizes[i] > 1 && slice.strides[i] != 1) return false;
      if (i > 0 && slice.sizes[i] != input.dim(i)) return false;
    }
    return input.rank() > 0;
  }
};

class StridedSliceGradCpu : public StridedSliceKernel {
 public:
  using StridedSliceKernel::StridedSliceKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithMasks<StridedSliceGradCpu>(c);
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    const Tensor& dy = ctx.input(4);
    ASSIGN_OR_RETURN(const StridedSlice slice, SliceOf(ctx, shape, 1));
    if (!slice.shape.Admits(dy.shape())) {
      return InvalidArgument("shape of dy was ", dy.shape(), " instead of ", slice.shape);
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dy.dtype(), shape));
    RETURN_IF_ERROR(
        compute::FillZeros(ctx.work(), dy.dtype(), out->mutable_raw_data(), out->num_elements()));
    if (IsEmpty(slice)) return OkStatus();
    Region region = RegionOf(shape, slice);
    return compute::CopyStrided(ctx.work(), dy.dtype(), slice.sizes,
                                {dy.raw_data(), compute::ContiguousStrides(slice.sizes)},
                                {out->mutable_raw_data(), region.strides, region.offset});
  }
};

// Strides of `value` seen in the shape of the slice's result, 0 where it repeats: those of the
// slice's own dimensions. More dimensions of size 1 in front are none. InvalidArgument when it does
// not broadcast.
Result<Dims> BroadcastStrides(const Shape& value, const StridedSlice& slice) {
  const Shape result = slice.shape.ToShape();
  const int missing = result.rank() - value.rank();
  bool fits = true;
  for (int i = 0; fits && i < value.rank(); ++i) {
    fits = value.dim(i) == 1 || (missing + i >= 0 && value.dim(i) == result.dim(missing + i));
  }
  if (!fits) {
    return InvalidArgument("a value of shape ", value,
                           " does not broadcast to the shape of the slice, ", result);
  }
  const Dims packed = compute::ContiguousStrides(value.dims());
  // The result's dimensions are the slice's but for those of size 1, in the same order.
  Dims strides;
  strides.resize(slice.sizes.size(), 0);
  int at = slice.sizes.size() - 1;
  for (int i = result.rank() - 1; i >= 0; --i) {
    if (result.dim(i) == 1) continue;
    while (at >= 0 && slice.sizes[at] == 1) --at;
    const int of_value = i - missing;
    strides[at--] = of_value < 0 || value.dim(of_value) == 1 ? 0 : packed[of_value];
  }
  return strides;
}

Status WriteSlice(Context& ctx, const Tensor& value, const StridedSlice& slice, Tensor& target) {
  if (IsEmpty(slice)) return OkStatus();  // whatever the value is
  ASSIGN_OR_RETURN(const Dims strides, BroadcastStrides(value.shape(), slice));
  const Region region = RegionOf(target.shape(), slice);
  const int64_t copies = Shape(slice.sizes).num_elements() / value.num_elements();
  RETURN_IF_ERROR(ClaimCopies(ctx, target, value, copies));
  RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), value.dtype(), slice.sizes,
                                       {value.raw_data(), strides},
                                       {target.mutable_raw_data(), region.strides, region.offset}));
  return RechargeTextHeap(ctx.allocator(), target);
}

class StridedSliceAssignCpu : public StridedSliceKernel {
 public:
  using StridedSliceKernel::StridedSliceKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithMasks<StridedSliceAssignCpu>(c);
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    const Tensor& value = ctx.input(4);
    {
      Variable::Update update(*variable, true);
      ASSIGN_OR_RETURN(Tensor * target, update.Writable(ctx.allocator()));
      if (target->dtype() != value.dtype()) {
        return InvalidArgument("variable '", variable->name(), "' has type ", target->dtype(),
                               ", got a value of type ", value.dtype());
      }
      ASSIGN_OR_RETURN(const StridedSlice slice, SliceOf(ctx, target->shape(), 1));
      RETURN_IF_ERROR(WriteSlice(ctx, value, slice, *target));
      update.Commit();
    }
    if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }
};

class TensorStridedSliceUpdateCpu : public StridedSliceKernel {
 public:
  using StridedSliceKernel::StridedSliceKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithMasks<TensorStridedSliceUpdateCpu>(c);
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const StridedSlice slice, SliceOf(ctx, ctx.input(0).shape(), 1));
    Tensor target = ctx.TakeInput(0);
    if (target.empty()) {
      ASSIGN_OR_RETURN(target, ctx.input(0).Clone(ctx.allocator()));
    }
    RETURN_IF_ERROR(WriteSlice(ctx, ctx.input(4), slice, target));
    ctx.set_output(0, std::move(target));
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(strided_slice, cpu) {
  registry.Add<StridedSliceCpu>("StridedSlice", kCpu);
  registry.Add<StridedSliceGradCpu>("StridedSliceGrad", kCpu);
  registry.Add<StridedSliceAssignCpu>("StridedSliceAssign", kCpu);
  registry.Add<StridedSliceAssignCpu>("ResourceStridedSliceAssign", kCpu);
  registry.Add<TensorStridedSliceUpdateCpu>("TensorStridedSliceUpdate", kCpu);
}
