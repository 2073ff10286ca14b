// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "thalweg/ops/queue/accumulator.h"
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

template <class A>
class AccumulatorHandleCpu : public HandleKernel {
 public:
  AccumulatorHandleCpu(const KernelConstruction& c, const ResourceName& name,
                       Accumulator::Spec spec)
      : HandleKernel(c, name, "tensorflow::ConditionalAccumulatorBase"), spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    Accumulator::Spec spec;
    spec.name = name.name;
    ASSIGN_OR_RETURN(spec.dtype, c.Attr<DType>("dtype"));
    ASSIGN_OR_RETURN(spec.shape, c.Attr<PartialShape>("shape"));
    // Rows are of no scalar: TensorFlow takes that for a shape nobody knows.
    if (std::is_same_v<A, SparseAccumulator> && spec.shape.rank() == 0) spec.shape = PartialShape();
    ASSIGN_OR_RETURN(const std::string reduction, c.Attr<std::string>("reduction_type"));
    if (reduction != "MEAN" && reduction != "SUM") {
      return InvalidArgument("reduction_type must be MEAN or SUM, got '", reduction, "'");
    }
    spec.is_mean = reduction == "MEAN";
    return std::unique_ptr<Kernel>(
        std::make_unique<AccumulatorHandleCpu>(c, name, std::move(spec)));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    ASSIGN_OR_RETURN(RefPtr<Accumulator> found,
                     resources.LookupOrCreate<Accumulator>(
                         place().container, place().name, [&]() -> Result<RefPtr<Accumulator>> {
                           return RefPtr<Accumulator>::Adopt(std::make_unique<A>(spec_).release());
                         }));
    if (dynamic_cast<A*>(found.get()) == nullptr || !(found->spec() == spec_)) {
      return InvalidArgument("Shared accumulator '", spec_.name,
                             "' has another kind, type, shape or reduction than this node says");
    }
    return RefPtr<Resource>::Adopt(found.release());
  }

  const Accumulator::Spec spec_;
};

Status ApplyDense(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Accumulator> found, ResourceOf<Accumulator>(ctx));
  auto* dense = dynamic_cast<DenseAccumulator*>(found.get());
  if (dense == nullptr) return InvalidArgument(found->DebugString(), " takes rows, no tensors");
  return dense->ApplyGradient(ctx);
}

class ApplySparseCpu : public Kernel {
 public:
  explicit ApplySparseCpu(bool has_known_shape) : has_known_shape_(has_known_shape) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool known, c.Attr<bool>("has_known_shape"));
    return std::unique_ptr<Kernel>(std::make_unique<ApplySparseCpu>(known));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Accumulator> found, ResourceOf<Accumulator>(ctx));
    auto* sparse = dynamic_cast<SparseAccumulator*>(found.get());
    if (sparse == nullptr) return InvalidArgument(found->DebugString(), " takes tensors, no rows");
    return sparse->ApplyGradient(ctx, has_known_shape_);
  }

 private:
  const bool has_known_shape_;
};

Status NumAccumulated(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Accumulator> found, ResourceOf<Accumulator>(ctx));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(found->count())));
  return OkStatus();
}

Status SetGlobalStep(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Accumulator> found, ResourceOf<Accumulator>(ctx));
  ASSIGN_OR_RETURN(const int64_t step, IntScalar(ctx.input(1), "new_global_step"));
  found->SetGlobalStep(step);
  return OkStatus();
}

template <class A>
class TakeGradientCpu : public WaitingKernel {
 public:
  explicit TakeGradientCpu(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("dtype"));
    return std::unique_ptr<Kernel>(std::make_unique<TakeGradientCpu>(dtype));
  }

  std::optional<Status> TryCompute(Context& ctx) override {
    const Result<RefPtr<Accumulator>> found = ResourceOf<Accumulator>(ctx);
    if (!found.ok()) return found.status();
    if (dynamic_cast<A*>(found->get()) == nullptr || (*found)->spec().dtype != dtype_) {
      return InvalidArgument((*found)->DebugString(), " has another kind or type than asked for, ",
                             dtype_);
    }
    const Result<int64_t> required = IntScalar(ctx.input(1), "num_required");
    if (!required.ok()) return required.status();
    if (*required > 0) return std::nullopt;
    return InvalidArgument("Argument num_required must be positive, but was ", *required);
  }
  void Wait(Context& ctx, Done done) override {
    const Result<RefPtr<Accumulator>> found = ResourceOf<Accumulator>(ctx);
    if (!found.ok()) return std::move(done)(found.status());
    (*found)->Join(
        std::make_unique<Accumulator::Take>(ctx, std::move(done), ctx.input(1).scalar<int32_t>()));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<RefPtr<Accumulator>> found = ResourceOf<Accumulator>(ctx);
    return found.ok() ? (*found)->DebugString() : "";
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(accumulator, cpu) {
  for (const DType dtype : {DType::kHalf, DType::kFloat, DType::kDouble}) {
    for (const char* op : {"ConditionalAccumulator", "ResourceConditionalAccumulator"}) {
      registry.Add<AccumulatorHandleCpu<DenseAccumulator>>(op, kCpu, {{"dtype", dtype}});
    }
    registry.Add<AccumulatorHandleCpu<SparseAccumulator>>("SparseConditionalAccumulator", kCpu,
                                                          {{"dtype", dtype}});
  }
  for (const char* kind : {"", "Resource"}) {
    registry.AddFunction<ApplyDense>(StrCat(kind, "AccumulatorApplyGradient"), kCpu);
    registry.AddFunction<NumAccumulated>(StrCat(kind, "AccumulatorNumAccumulated"), kCpu);
    registry.AddFunction<SetGlobalStep>(StrCat(kind, "AccumulatorSetGlobalStep"), kCpu);
    registry.Add<TakeGradientCpu<DenseAccumulator>>(StrCat(kind, "AccumulatorTakeGradient"), kCpu);
  }
  registry.Add<ApplySparseCpu>("SparseAccumulatorApplyGradient", kCpu);
  registry.Add<TakeGradientCpu<SparseAccumulator>>("SparseAccumulatorTakeGradient", kCpu);
}
