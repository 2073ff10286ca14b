// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::Combine;

// Input 0 to be overwritten: its own buffer when nobody else holds it, else a copy.
Result<Tensor> TakeOrClone(Context& ctx) {
  Tensor x = ctx.TakeInput(0);
  return x.empty() ? ctx.input(0).Clone(ctx.allocator()) : Result<Tensor>(std::move(x));
}

Status CheckRows(const Tensor& x, const Tensor& i, const Tensor& v) {
  if (i.rank() != 1) return InvalidArgument("i must be a vector. ", i.shape());
  if (x.rank() == 0 || x.rank() != v.rank()) {
    return InvalidArgument("x and v must have the same rank, at least 1: ", x.shape(), " and ",
                           v.shape());
  }
  for (int d = 1; d < x.rank(); ++d) {
    if (x.dim(d) == v.dim(d)) continue;
    return InvalidArgument("x and v shape doesn't match at index ", d, " : ", x.shape(), " vs. ",
                           v.shape());
  }
  if (i.num_elements() == v.dim(0)) return OkStatus();
  return InvalidArgument("i and v shape doesn't match at index 0: ", i.shape(), " vs. ", v.shape());
}

// Row numbers count round and round: -1 is the last one, n the first again.
template <Combine kCombine>
Status Inplace(Context& ctx) {
  const Tensor& i = ctx.input(1);
  const Tensor& v = ctx.input(2);
  const DType dtype = ctx.input(0).dtype();
  RETURN_IF_ERROR(CheckRows(ctx.input(0), i, v));
  if (kCombine != Combine::kAssign && (!IsPlain(dtype) || dtype == DType::kBool)) {
    return InvalidArgument("Unsupported data type: ", dtype);
  }
  ASSIGN_OR_RETURN(Tensor x, TakeOrClone(ctx));
  const int64_t n = x.dim(0);
  if (x.num_elements() > 0) {
    ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemporary(DType::kInt64, i.shape()));
    for (int64_t k = 0; k < i.num_elements(); ++k) {
      const int64_t row = IntAt(i, k) % n;
      rows.mutable_data<int64_t>()[k] = row < 0 ? row + n : row;
    }
    RETURN_IF_ERROR(compute::CombineRows(ctx.work(), dtype, kCombine,
                                         {.inner = x.num_elements() / n, .count = i.num_elements()},
                                         rows.data<int64_t>(), v.raw_data(), x.mutable_raw_data()));
    RETURN_IF_ERROR(RechargeTextHeap(ctx.allocator(), x));
  }
  ctx.set_output(0, std::move(x));
  return OkStatus();
}

class ParallelConcatCpu : public Kernel {
 public:
  explicit ParallelConcatCpu(PartialShape shape) : shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    return std::unique_ptr<Kernel>(std::make_unique<ParallelConcatCpu>(std::move(shape)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& first = ctx.input(0);
    if (first.rank() == 0 || first.dim(0) != 1) {
      return InvalidArgument("size of the first dimension must be 1, got shape ", first.shape());
    }
    Dims dims = first.shape().dims();
    dims[0] = ctx.num_inputs();
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (!shape_.Admits(shape)) {
      return InvalidArgument(ctx.num_inputs(), " inputs of shape ", first.shape(),
                             " do not make the shape ", shape_);
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, first.dtype(), shape));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor& row = ctx.input(i);
      if (row.shape() != first.shape()) {
        return InvalidArgument("input ", i, " has shape ", row.shape(), ", the first has ",
                               first.shape());
      }
      RETURN_IF_ERROR(ClaimCopies(ctx, *out, row));
      auto* const to =
          static_cast<char*>(out->mutable_raw_data()) + static_cast<size_t>(i) * row.bytes();
      RETURN_IF_ERROR(
          compute::CopyElements(ctx.work(), row.dtype(), row.raw_data(), to, row.num_elements()));
    }
    return OkStatus();
  }

 private:
  const PartialShape shape_;
};

class ParallelConcatStartCpu : public Kernel {
 public:
  ParallelConcatStartCpu(PartialShape shape, DType dtype)
      : shape_(std::move(shape)), dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    if (!shape.IsFullyDefined()) {
      return InvalidArgument("the attribute shape must be fully defined, got ", shape);
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<ParallelConcatStartCpu>(std::move(shape), c.output_type(0)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(shape_.dims()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, shape));
    return compute::FillZeros(ctx.work(), dtype_, out->mutable_raw_data(), out->num_elements());
  }

 private:
  const PartialShape shape_;
  const DType dtype_;
};

class ParallelConcatUpdateCpu : public Kernel {
 public:
  explicit ParallelConcatUpdateCpu(int64_t row) : row_(row) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t row, c.Attr<int64_t>("loc"));
    return std::unique_ptr<Kernel>(std::make_unique<ParallelConcatUpdateCpu>(row));
  }

  Status Compute(Context& ctx) override {
    const Tensor& update = ctx.input(1);
    Dims dims = ctx.input(0).shape().dims();
    if (dims.size() == 0 || row_ < 0 || row_ >= dims[0]) {
      return InvalidArgument("loc = ", row_, " is no row of a tensor of shape ",
                             ctx.input(0).shape());
    }
    dims[0] = 1;
    if (update.shape() != Shape(dims)) {
      return InvalidArgument("update shape doesn't match: ", Shape(dims), " expected, got ",
                             update.shape());
    }
    ASSIGN_OR_RETURN(Tensor x, TakeOrClone(ctx));
    auto* const to =
        static_cast<char*>(x.mutable_raw_data()) + static_cast<size_t>(row_) * update.bytes();
    RETURN_IF_ERROR(compute::CopyElements(ctx.work(), update.dtype(), update.raw_data(), to,
                                          update.num_elements()));
    RETURN_IF_ERROR(RechargeTextHeap(ctx.allocator(), x));
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }

 private:
  const int64_t row_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(inplace, cpu) {
  registry.AddFunction<Inplace<Combine::kAssign>>("InplaceUpdate", kCpu);
  registry.AddFunction<Inplace<Combine::kAdd>>("InplaceAdd", kCpu);
  registry.AddFunction<Inplace<Combine::kSub>>("InplaceSub", kCpu);
  registry.Add<ParallelConcatCpu>("ParallelConcat", kCpu);
  registry.Add<ParallelConcatStartCpu>("_ParallelConcatStart", kCpu);
  registry.Add<ParallelConcatUpdateCpu>("_ParallelConcatUpdate", kCpu);
}
