// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/move.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/strided_slice.h"

namespace thalweg {
namespace {

// A kernel that is moves alone: Compute of the class below says which.
class MoveKernel : public Kernel {
 public:
  explicit MoveKernel(GpuMove move) : move_(move) {}
  template <class K>
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const GpuMove move, GpuMove::Make(GpuOf(c), c.output_type(0)));
    auto kernel = std::make_unique<K>(move);
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Read(const KernelConstruction&) { return OkStatus(); }

 protected:
  Status Move(Context& ctx, const MovePlan& plan, const Tensor& in, const Tensor& out) const {
    return move_.Run(GpuOf(ctx).queue(), plan, in, out);
  }
  Status Clear(Context& ctx, const Tensor& out) const {
    return move_.Clear(GpuOf(ctx).queue(), out);
  }

 private:
  const GpuMove move_;
};

class TransposeKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Dims dims = x.shape().dims(), in = DenseStrides(dims);
    ASSIGN_OR_RETURN(const Dims perm, IntVector(ctx.input(1), "perm"));
    if (perm.size() != dims.size()) {
      return InvalidArgument("transpose expects a vector of size ", dims.size(),
                             ". But input(1) is a vector of size ", perm.size());
    }
    std::vector<bool> seen(static_cast<size_t>(dims.size()));
    Dims out_dims;
    MovePlan plan;
    for (const int64_t from : perm) {
      const std::optional<int> axis = AxisFromFront(from, dims.size());
      if (!axis) return InvalidArgument(from, " is out of range [0 .. ", dims.size(), ")");
      if (seen[static_cast<size_t>(*axis)]) {
        return InvalidArgument(*axis, " is in the permutation twice");
      }
      seen[static_cast<size_t>(*axis)] = true;
      out_dims.push_back(dims[*axis]);
      plan.dims.push_back({dims[*axis], in[*axis], 0});
    }
    const Dims out = DenseStrides(out_dims);
    for (int d = 0; d < out.size(); ++d) plan.dims[static_cast<size_t>(d)].out = out[d];
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), Shape(out_dims)));
    return Move(ctx, plan, x, *y);
  }
};

class TileKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Dims dims = x.shape().dims(), in = DenseStrides(dims);
    ASSIGN_OR_RETURN(const Dims multiples, IntVector(ctx.input(1), "multiples"));
    if (multiples.size() != dims.size()) {
      return InvalidArgument("Expected multiples argument to be a vector of length ", dims.size(),
                             " but got length ", multiples.size());
    }
    Dims out_dims;
    for (int d = 0; d < dims.size(); ++d) {
      int64_t size = 0;
      if (multiples[d] < 0) {
        return InvalidArgument("Expected multiples[", d, "] >= 0, but got ", multiples[d]);
      }
      if (__builtin_mul_overflow(dims[d], multiples[d], &size)) {
        return InvalidArgument("multiples[", d, "] is too large: ", multiples[d]);
      }
      out_dims.push_back(size);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(out_dims));
    const Dims out = DenseStrides(out_dims);
    MovePlan plan;
    for (int d = 0; d < dims.size(); ++d) {
      plan.dims.push_back({multiples[d], 0, out[d] * dims[d]});
      plan.dims.push_back({dims[d], in[d], out[d]});
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    return Move(ctx, plan, x, *y);
  }
};

class BroadcastToKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Dims dims = x.shape().dims(), in = DenseStrides(dims);
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(1), "shape"));
    const int added = shape.rank() - dims.size();
    const Dims out = DenseStrides(shape.dims());
    MovePlan plan;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t size = d < added ? 1 : dims[d - added];
      if (size != 1 && size != shape.dim(d)) {
        return InvalidArgument("Incompatible shapes: ", x.shape(), " vs. ", shape);
      }
      plan.dims.push_back({shape.dim(d), size == 1 ? 0 : in[d - added], out[d]});
    }
    if (added < 0) return InvalidArgument("Incompatible shapes: ", x.shape(), " vs. ", shape);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    return Move(ctx, plan, x, *y);
  }
};

class SliceKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Dims dims = x.shape().dims(), in = DenseStrides(dims);
    ASSIGN_OR_RETURN(const Dims begin, IntVector(ctx.input(1), "begin"));
    ASSIGN_OR_RETURN(Dims size, IntVector(ctx.input(2), "size"));
    if (begin.size() != dims.size() || size.size() != dims.size()) {
      return InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ",
                             dims.size(), ", but got ", begin.size(), " and ", size.size());
    }
    MovePlan plan;
    for (int d = 0; d < dims.size(); ++d) {
      if (begin[d] < 0 || begin[d] > dims[d]) {
        return InvalidArgument("Expected begin[", d, "] in [0, ", dims[d], "], but got ", begin[d]);
      }
      if (size[d] == -1) size[d] = dims[d] - begin[d];
      if (size[d] < 0 || size[d] > dims[d] - begin[d]) {
        return InvalidArgument("Expected size[", d, "] in [0, ", dims[d] - begin[d], "], but got ",
                               size[d]);
      }
      plan.in_start += begin[d] * in[d];
      plan.dims.push_back({size[d], in[d], 0});
    }
    const Dims out = DenseStrides(size);
    for (int d = 0; d < out.size(); ++d) plan.dims[static_cast<size_t>(d)].out = out[d];
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), Shape(size)));
    return Move(ctx, plan, x, *y);
  }
};

class StridedSliceKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(masks_.begin, c.Attr<int64_t>("begin_mask"));
    ASSIGN_OR_RETURN(masks_.end, c.Attr<int64_t>("end_mask"));
    ASSIGN_OR_RETURN(masks_.ellipsis, c.Attr<int64_t>("ellipsis_mask"));
    ASSIGN_OR_RETURN(masks_.new_axis, c.Attr<int64_t>("new_axis_mask"));
    ASSIGN_OR_RETURN(masks_.shrink_axis, c.Attr<int64_t>("shrink_axis_mask"));
    of_gradient_ = c.node().op_name() == "StridedSliceGrad";
    return OkStatus();
  }
  Status Compute(Context& ctx) override {
    Shape whole = ctx.input(0).shape();
    if (of_gradient_) {
      ASSIGN_OR_RETURN(whole, ShapeOf(ctx.input(0), "shape"));
    }
    ASSIGN_OR_RETURN(const Dims begin, IntVector(ctx.input(1), "begin"));
    ASSIGN_OR_RETURN(const Dims end, IntVector(ctx.input(2), "end"));
    ASSIGN_OR_RETURN(const Dims strides, IntVector(ctx.input(3), "strides"));
    RETURN_IF_ERROR(
        CheckSliceArguments(ctx.input(1).shape(), ctx.input(2).shape(), ctx.input(3).shape()));
    ASSIGN_OR_RETURN(const StridedSlice slice,
                     MakeStridedSlice(whole, &begin, &end, strides, masks_));
    const Dims of_whole = DenseStrides(whole.dims()), of_part = DenseStrides(slice.sizes);
    MovePlan plan;
    for (int d = 0; d < whole.rank(); ++d) {
      const int64_t step = of_whole[d] * slice.strides[d];
      if (slice.sizes[d] > 0) plan.in_start += slice.begin[d] * of_whole[d];
      plan.dims.push_back({slice.sizes[d], step, of_part[d]});
    }
    if (!of_gradient_) {
      const Tensor& x = ctx.input(0);
      ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), slice.shape.ToShape()));
      return Move(ctx, plan, x, *y);
    }
    const Tensor& dy = ctx.input(4);
    if (dy.shape() != slice.shape.ToShape()) {
      return InvalidArgument("shape of dy was ", dy.shape(), " instead of ", slice.shape);
    }
    std::swap(plan.in_start, plan.out_start);
    for (MoveDim& dim : plan.dims) std::swap(dim.in, dim.out);
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, dy.dtype(), whole));
    RETURN_IF_ERROR(Clear(ctx, *dx));
    return Move(ctx, plan, dy, *dx);
  }

 private:
  StridedSliceMasks masks_;
  bool of_gradient_ = false;
};

class PadKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &paddings = ctx.input(1);
    const Dims dims = x.shape().dims(), in = DenseStrides(dims);
    if (paddings.rank() != 2 || paddings.dim(0) != dims.size() || paddings.dim(1) != 2) {
      return InvalidArgument("paddings must be a matrix of ", dims.size(),
                             " rows and 2 columns: ", paddings.shape());
    }
    Dims out_dims;
    for (int d = 0; d < dims.size(); ++d) {
      const int64_t before = IntAt(paddings, 2 * d), after = IntAt(paddings, 2 * d + 1);
      int64_t size = 0;
      if (before < 0 || after < 0 || __builtin_add_overflow(dims[d], before, &size) ||
          __builtin_add_overflow(size, after, &size)) {
        return InvalidArgument("Paddings must be non-negative: ", before, " ", after);
      }
      out_dims.push_back(size);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(out_dims));
    const Dims out = DenseStrides(out_dims);
    MovePlan plan;
    for (int d = 0; d < dims.size(); ++d) {
      plan.out_start += IntAt(paddings, 2 * d) * out[d];
      plan.dims.push_back({dims[d], in[d], out[d]});
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    RETURN_IF_ERROR(Clear(ctx, *y));
    return Move(ctx, plan, x, *y);
  }
};

// Concat has its axis first, ConcatV2 last.
class ConcatKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Read(const KernelConstruction& c) {
    axis_first_ = c.node().op_name() == "Concat";
    return OkStatus();
  }
  Status Compute(Context& ctx) override {
    const int n = ctx.num_inputs() - 1, first = axis_first_ ? 1 : 0;
    ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(axis_first_ ? 0 : n), "axis"));
    Dims dims = ctx.input(first).shape().dims();
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, dims.size(), "axis"));
    dims[axis] = 0;
    for (int i = first; i < first + n; ++i) {
      const Dims other = ctx.input(i).shape().dims();
      bool fits = other.size() == dims.size();
      for (int d = 0; fits && d < dims.size(); ++d) fits = d == axis || other[d] == dims[d];
      if (!fits) {
        return InvalidArgument(
            "ConcatOp : Dimensions of inputs should match: shape[0] = ", ctx.input(first).shape(),
            " vs. shape[", i - first, "] = ", ctx.input(i).shape());
      }
      dims[axis] += other[axis];
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, ctx.input(first).dtype(), shape));
    const Dims out = DenseStrides(dims);
    MovePlan plan;
    for (int i = first; i < first + n; ++i) {
      const Tensor& part = ctx.input(i);
      const Dims of_part = part.shape().dims(), in = DenseStrides(of_part);
      plan.dims.clear();
      for (int d = 0; d < dims.size(); ++d) plan.dims.push_back({of_part[d], in[d], out[d]});
      RETURN_IF_ERROR(Move(ctx, plan, part, *y));
      plan.out_start += of_part[axis] * out[axis];
    }
    return OkStatus();
  }

 private:
  bool axis_first_ = false;
};

class SplitKernel : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(0), "split_dim"));
    const Tensor& x = ctx.input(1);
    Dims dims = x.shape().dims();
    const Dims in = DenseStrides(dims);
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, dims.size(), "split_dim"));
    if (dims[axis] % ctx.num_outputs() != 0) {
      return InvalidArgument(
          "Number of ways to split should evenly divide the split dimension, "
          "but got split_dim ",
          axis, " (size = ", dims[axis], ") and num_split ", ctx.num_outputs());
    }
    dims[axis] /= ctx.num_outputs();
    const Dims out = DenseStrides(dims);
    MovePlan plan;
    for (int d = 0; d < dims.size(); ++d) plan.dims.push_back({dims[d], in[d], out[d]});
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(i, x.dtype(), Shape(dims)));
      RETURN_IF_ERROR(Move(ctx, plan, x, *y));
      plan.in_start += dims[axis] * in[axis];
    }
    return OkStatus();
  }
};

}  // namespace

void AddMoveKernels(KernelAdder& adder) {
  for (const DType dtype : {DType::kFloat, DType::kInt64, DType::kBool}) {
    const KernelAdder::TypeList types = {{"T", dtype}};
    adder.AddLimited<MoveKernel::Make<TransposeKernel>>("Transpose", types, {"perm"});
    adder.AddLimited<MoveKernel::Make<TileKernel>>("Tile", types, {"multiples"});
    adder.AddLimited<MoveKernel::Make<BroadcastToKernel>>("BroadcastTo", types, {"shape"});
    adder.AddLimited<MoveKernel::Make<SliceKernel>>("Slice", types, {"begin", "size"});
    adder.AddLimited<MoveKernel::Make<StridedSliceKernel>>("StridedSlice", types,
                                                           {"begin", "end", "strides"});
    adder.AddLimited<MoveKernel::Make<StridedSliceKernel>>("StridedSliceGrad", types,
                                                           {"shape", "begin", "end", "strides"});
    adder.AddLimited<MoveKernel::Make<PadKernel>>("Pad", types, {"paddings"});
    adder.AddLimited<MoveKernel::Make<ConcatKernel>>("Concat", types, {"concat_dim"});
    adder.AddLimited<MoveKernel::Make<ConcatKernel>>("ConcatV2", types, {"axis"});
    adder.AddLimited<MoveKernel::Make<SplitKernel>>("Split", types, {"split_dim"});
  }
}

}  // namespace thalweg
