// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/complex_parts.h"
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/graph/reduction_axes.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

using compute::ReduceOp;

template <ReduceOp Op>
class ReduceCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<ReduceCpu>();
    ASSIGN_OR_RETURN(kernel->keep_dims_, c.Attr<bool>("keep_dims"));
    kernel->may_repeat_ = TakesAxesTwice(c.node().graph());
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const Dims axes, ReductionAxes(ctx.input(1), shape.rank(), may_repeat_));
    if (axes.size() == 0) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const compute::Reduction reduction,
                     compute::Reduction::Make(shape.dims(), axes));
    ASSIGN_OR_RETURN(Tensor * y,
                     ctx.AllocateOutput(0, x.dtype(), Shape(reduction.OutputDims(keep_dims_))));
    return compute::Reduce(ctx.work(), Op, x.dtype(), reduction, x.raw_data(),
                           y->mutable_raw_data());
  }

 private:
  bool keep_dims_ = false;
  bool may_repeat_ = false;
};

// The type in which norms of elements of this type are made: floats for halves; integers wrap in
// their own type before the root is taken.
DType NormType(DType dtype) {
  if (dtype == DType::kHalf || dtype == DType::kBfloat16 || dtype == DType::kComplex64) {
    return DType::kFloat;
  }
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

class EuclideanNormCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<EuclideanNormCpu>();
    ASSIGN_OR_RETURN(kernel->keep_dims_, c.Attr<bool>("keep_dims"));
    kernel->may_repeat_ = TakesAxesTwice(c.node().graph());
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const Dims axes, ReductionAxes(ctx.input(1), shape.rank(), may_repeat_));
    ASSIGN_OR_RETURN(const compute::Reduction reduction,
                     compute::Reduction::Make(shape.dims(), axes));
    const Shape out_shape(reduction.OutputDims(keep_dims_));
    ASSIGN_OR_RETURN(const Tensor real, Real(ctx, x));
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemporary(real.dtype(), out_shape));
    RETURN_IF_ERROR(compute::Reduce(ctx.work(), ReduceOp::kSumSquares, real.dtype(), reduction,
                                    real.raw_data(), sums.mutable_raw_data()));
    const DType root = IsInteger(real.dtype()) ? DType::kDouble : real.dtype();
    const int64_t n = sums.num_elements();
    ASSIGN_OR_RETURN(Tensor norms, ctx.AllocateTemporary(root, out_shape));
    RETURN_IF_ERROR(compute::RunCast(ctx.work(), sums.dtype(), root, n, sums.raw_data(),
                                     norms.mutable_raw_data()));
    RETURN_IF_ERROR(compute::RunUnary(ctx.work(), compute::UnaryOp::kSqrt, root, n,
                                      norms.raw_data(), norms.mutable_raw_data()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), out_shape));
    return compute::RunCast(ctx.work(), root, x.dtype(), n, norms.raw_data(),
                            y->mutable_raw_data());
  }

 private:
  // Complex numbers as their absolute values, halves as floats.
  static Result<Tensor> Real(Context& ctx, const Tensor& x) {
    const DType real = NormType(x.dtype());
    if (real == x.dtype()) return x;
    ASSIGN_OR_RETURN(Tensor made, ctx.AllocateTemporary(real, x.shape()));
    if (IsComplex(x.dtype())) {
      RETURN_IF_ERROR(compute::RunComplexPart(ctx.work(), compute::ComplexPart::kAbs, x.dtype(),
                                              x.num_elements(), x.raw_data(),
                                              made.mutable_raw_data()));
    } else {
      RETURN_IF_ERROR(compute::RunCast(ctx.work(), x.dtype(), real, x.num_elements(), x.raw_data(),
                                       made.mutable_raw_data()));
    }
    return made;
  }

  bool keep_dims_ = false;
  bool may_repeat_ = false;
};

template <ReduceOp Op>
void AddReduce(KernelRegistry& registry, std::string_view op, DTypeList types) {
  for (DType dtype : types) {
    if (compute::HasReduce(Op, dtype)) registry.Add<ReduceCpu<Op>>(op, kCpu, {{"T", dtype}});
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(reduce, cpu) {
  AddReduce<ReduceOp::kSum>(registry, "Sum", kNumbers);
  AddReduce<ReduceOp::kMean>(registry, "Mean", kNumbers);
  AddReduce<ReduceOp::kProd>(registry, "Prod", kNumbers);
  for (DType dtype : kNumbers)
    registry.Add<EuclideanNormCpu>("EuclideanNorm", kCpu, {{"T", dtype}});
  AddReduce<ReduceOp::kMax>(registry, "Max", kReals);
  AddReduce<ReduceOp::kMin>(registry, "Min", kReals);
  registry.Add<ReduceCpu<ReduceOp::kAll>>("All", kCpu);
  registry.Add<ReduceCpu<ReduceOp::kAny>>("Any", kCpu);
}
