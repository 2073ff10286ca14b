// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/rows.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::Combine;

class NdKernel : public Kernel {
 public:
  explicit NdKernel(bool ignore) : ignore_(ignore) {}

 protected:
  bool ignore_bad_indices() const { return ignore_; }

 private:
  const bool ignore_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithPolicy(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const std::string policy, c.Attr<std::string>("bad_indices_policy"));
  ASSIGN_OR_RETURN(const bool ignore, IgnoresBadIndices(policy));
  return std::unique_ptr<Kernel>(std::make_unique<K>(ignore));
}

class GatherNdCpu : public NdKernel {
 public:
  using NdKernel::NdKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithPolicy<GatherNdCpu>(c);
  }
  Status Compute(Context& ctx) override {
    return GatherNdOutput(ctx, ctx.input(0), ctx.input(1), ignore_bad_indices());
  }
};

// Whether updates are slices of a tensor of this shape: before that is made.
Status CheckSlices(const Shape& shape, const Shape& indices, const Shape& updates) {
  if (indices.rank() == 0) return OkStatus();  // refused with a better text later
  const int64_t depth = indices.dim(indices.rank() - 1);
  const int64_t before = indices.rank() - 1;
  bool fits = updates.rank() == 0 || depth > shape.rank() ||
              updates.rank() == before + shape.rank() - depth;
  for (int64_t d = depth; fits && updates.rank() > 0 && d < shape.rank(); ++d) {
    fits = updates.dim(static_cast<int>(before + d - depth)) == shape.dim(static_cast<int>(d));
  }
  if (fits) return OkStatus();
  return InvalidArgument("updates of shape ", updates, " are no slices of a tensor of shape ",
                         shape, " that indices of shape ", indices, " name");
}

class ScatterNdCpu : public NdKernel {
 public:
  using NdKernel::NdKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithPolicy<ScatterNdCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(2), "shape"));
    RETURN_IF_ERROR(CheckSlices(shape, ctx.input(0).shape(), ctx.input(1).shape()));
    const DType dtype = ctx.input(1).dtype();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
    RETURN_IF_ERROR(
        compute::FillZeros(ctx.work(), dtype, out->mutable_raw_data(), out->num_elements()));
    return CombineIntoNdRows(ctx, Combine::kAdd, *out, ctx.input(0), ctx.input(1),
                             ignore_bad_indices());
  }
};

template <Combine kCombine>
class TensorScatterCpu : public NdKernel {
 public:
  using NdKernel::NdKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithPolicy<TensorScatterCpu>(c);
  }
  Status Compute(Context& ctx) override {
    Tensor target = ctx.TakeInput(0);
    if (target.empty()) {
      ASSIGN_OR_RETURN(target, ctx.input(0).Clone(ctx.allocator()));
    }
    RETURN_IF_ERROR(
        CombineIntoNdRows(ctx, kCombine, target, ctx.input(1), ctx.input(2), ignore_bad_indices()));
    ctx.set_output(0, std::move(target));
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(gather_nd, cpu) {
  registry.Add<GatherNdCpu>("GatherNd", kCpu);
  registry.Add<ScatterNdCpu>("ScatterNd", kCpu);
  registry.Add<TensorScatterCpu<Combine::kAssign>>("TensorScatterUpdate", kCpu);
  ForEachType<PodTypes>([&]<class T>() {
    const DType dtype = kDTypeOf<T>;
    registry.Add<TensorScatterCpu<Combine::kAdd>>("ScatterNdNonAliasingAdd", kCpu, {{"T", dtype}});
    if (dtype == DType::kBool) return;
    registry.Add<TensorScatterCpu<Combine::kAdd>>("TensorScatterAdd", kCpu, {{"T", dtype}});
    registry.Add<TensorScatterCpu<Combine::kSub>>("TensorScatterSub", kCpu, {{"T", dtype}});
    if (IsComplex(dtype)) return;
    registry.Add<TensorScatterCpu<Combine::kMax>>("TensorScatterMax", kCpu, {{"T", dtype}});
    registry.Add<TensorScatterCpu<Combine::kMin>>("TensorScatterMin", kCpu, {{"T", dtype}});
  });
}
