// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/element.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/kernel/shared_rows.h"
#include "thalweg/tensor/axis.h"

namespace thalweg {
namespace {

int64_t Product(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape.dim(i);
  return product;
}

Result<int> PackedAxis(int64_t axis, int rank) {
  const std::optional<int> at = AxisFromFront(axis, rank);
  if (at.has_value()) return *at;
  return InvalidArgument("axis = ", axis, " not in [", -rank, ", ", rank, ")");
}

// The common shape of all inputs.
Result<Shape> CommonShape(Context& ctx) {
  Shape shape = ctx.input(0).shape();
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).shape() == shape) continue;
    return InvalidArgument("Shapes of all inputs must match: values[0].shape = ", shape,
                           " != values[", i, "].shape = ", ctx.input(i).shape());
  }
  return shape;
}

class PackCpu : public Kernel {
 public:
  explicit PackCpu(int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::make_unique<PackCpu>(axis));
  }

  Status Compute(Context& ctx) override {
    const int64_t n = ctx.num_inputs();
    if (n == 0) return InvalidArgument("Pack needs at least one input");
    ASSIGN_OR_RETURN(const Shape part, CommonShape(ctx));
    ASSIGN_OR_RETURN(const int axis, PackedAxis(axis_, part.rank() + 1));
    Dims dims = part.dims();
    dims.insert(axis, n);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    const DType dtype = ctx.input(0).dtype();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
    for (int i = 0; i < n && dtype == DType::kString; ++i) {
      RETURN_IF_ERROR(ClaimCopies(ctx, *out, ctx.input(i)));
    }
    if (part.num_elements() == 1) return PackOnes(ctx, *out);
    const int64_t outer = Product(part, 0, axis);
    const int64_t inner = Product(part, axis, part.rank());
    for (int i = 0; i < n; ++i) {
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), dtype, Dims{outer, inner},
                                           {ctx.input(i).raw_data(), {inner, 1}},
                                           {out->mutable_raw_data(), {n * inner, 1}, i * inner}));
    }
    return OkStatus();
  }

 private:
  // Shapes are packed from scalars in every dynamic graph.
  static Status PackOnes(Context& ctx, Tensor& out) {
    return compute::WithElement(out.dtype(), [&]<class E>() {
      E* to = static_cast<E*>(out.mutable_raw_data());
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        to[i] = *static_cast<const E*>(ctx.input(i).raw_data());
      }
      return OkStatus();
    });
  }

  const int64_t axis_;
};

class UnpackCpu : public Kernel {
 public:
  explicit UnpackCpu(int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::make_unique<UnpackCpu>(axis));
  }

  Status Compute(Context& ctx) override {
    const Tensor& value = ctx.input(0);
    const Shape whole = value.shape();
    const int64_t n = ctx.num_outputs();
    ASSIGN_OR_RETURN(const int axis, PackedAxis(axis_, whole.rank()));
    if (whole.dim(axis) != n) {
      return InvalidArgument("Input shape axis ", axis, " must equal ", n, ", got shape ", whole);
    }
    Dims dims = whole.dims();
    dims.erase(axis);
    const Shape part{Dims(dims)};
    const int64_t outer = Product(whole, 0, axis);
    const int64_t inner = Product(whole, axis + 1, whole.rank());
    for (int i = 0; i < n; ++i) {
      if (axis == 0) {
        ASSIGN_OR_RETURN(Tensor shared, ShareRows(value, i, i + 1, part));
        if (!shared.empty()) {
          ctx.set_output(i, std::move(shared));
          continue;
        }
      }
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, value.dtype(), part));
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), value.dtype(), Dims{outer, inner},
                                           {value.raw_data(), {n * inner, 1}, i * inner},
                                           {out->mutable_raw_data(), {inner, 1}}));
    }
    return OkStatus();
  }

 private:
  const int64_t axis_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(pack, cpu) {
  registry.Add<PackCpu>("Pack", kCpu);
  registry.Add<UnpackCpu>("Unpack", kCpu);
}
