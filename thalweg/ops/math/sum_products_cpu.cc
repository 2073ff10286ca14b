// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/ops/math/matmul_kernel.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

using compute::GemmShape;
using compute::Transpose;

// A sum on its way: a matrix, and operands side by side along the depth whose product is not in it
// yet. A value like any other: who changes one that others hold too changes a copy.
class ProductSum : public VariantValue, public std::enable_shared_from_this<ProductSum> {
 public:
  explicit ProductSum(Tensor initial) : sum_(std::move(initial)) {}

  const Tensor& sum() const { return sum_; }
  std::string TypeName() const override { return "thalweg::ProductSum"; }
  std::string DebugString() const override {
    return StrCat("a sum of products ", sum_.dtype(), sum_.shape());
  }

  // `shape` is that of a b, with the rows and columns of the sum.
  Status Add(Context& ctx, const GemmShape& shape, const Tensor& a, const Tensor& b) {
    if (a_.empty() || shape.a != form_.a || shape.b != form_.b) {
      RETURN_IF_ERROR(Gather(ctx));
      RETURN_IF_ERROR(Reserve(ctx, shape));
    }
    // A product that is deep enough by itself.
    if (2 * shape.k > room_) return Multiply(ctx, shape, a, b);
    if (form_.k + shape.k > room_) RETURN_IF_ERROR(Gather(ctx));
    RETURN_IF_ERROR(Append(ctx, a, shape.a == Transpose::kYes, form_.a_stride, &a_));
    RETURN_IF_ERROR(Append(ctx, b, shape.b == Transpose::kNo, form_.b_stride, &b_));
    form_.k += shape.k;
    return OkStatus();
  }

  // What was gathered becomes part of the sum.
  Status Gather(Context& ctx) {
    if (form_.k == 0) return OkStatus();
    RETURN_IF_ERROR(Multiply(ctx, form_, a_, b_));
    form_.k = 0;
    return OkStatus();
  }

 private:
  // Deeper products gain nothing; and never more is gathered than twice the elements of the sum.
  static constexpr int64_t kMostDepth = 512;

  Status Reserve(Context& ctx, const GemmShape& shape) {
    form_ = shape;
    form_.k = 0;
    const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n);
    room_ = m * n > 0 ? static_cast<int64_t>(std::min(2 * m * n / (m + n), 1.0 * kMostDepth)) : 0;
    form_.a_stride = shape.a == Transpose::kYes ? shape.m : room_;
    form_.b_stride = shape.b == Transpose::kNo ? shape.n : room_;
    const DType dtype = sum_.dtype();
    ASSIGN_OR_RETURN(a_, Tensor::Allocate(ctx.allocator(), dtype, Shape{room_ * shape.m}));
    ASSIGN_OR_RETURN(b_, Tensor::Allocate(ctx.allocator(), dtype, Shape{room_ * shape.n}));
    return OkStatus();
  }

  // sum += a b, in place where nobody else holds it.
  Status Multiply(Context& ctx, const GemmShape& shape, const Tensor& a, const Tensor& b) {
    if (shape.m == 0 || shape.n == 0 || shape.k == 0) return OkStatus();
    Tensor result = std::move(sum_), before;
    if (!result.IsSoleOwner()) {
      before = std::move(result);
      sum_ = before;
      ASSIGN_OR_RETURN(result, Tensor::Allocate(ctx.allocator(), before.dtype(), before.shape()));
    }
    void* const c = result.mutable_raw_data();
    Status status = compute::Gemm(ctx.work(), result.dtype(), shape, a.raw_data(), b.raw_data(), c,
                                  {.residual = before.empty() ? c : before.raw_data()});
    sum_ = std::move(result);
    return status;
  }

  // An operand behind those in `all`: as rows or as columns, `stride` elements from one
  // row to the next.
  Status Append(Context& ctx, const Tensor& operand, bool as_rows, int64_t stride,
                Tensor* all) const {
    if (!all->IsSoleOwner()) {
      ASSIGN_OR_RETURN(Tensor mine, Tensor::Allocate(ctx.allocator(), all->dtype(), all->shape()));
      RETURN_IF_ERROR(compute::CopyElements(ctx.work(), all->dtype(), all->raw_data(),
                                            mine.mutable_raw_data(), all->num_elements()));
      *all = std::move(mine);
    }
    const int64_t rows = operand.dim(0), columns = operand.dim(1);
    const Dims dims = {rows, columns};
    return compute::CopyStrided(
        ctx.work(), operand.dtype(), dims, {operand.raw_data(), {columns, 1}},
        {all->mutable_raw_data(), {stride, 1}, as_rows ? form_.k * stride : form_.k});
  }

  Tensor sum_;
  Tensor a_, b_;
  GemmShape form_;  // of what was gathered; k is its depth
  int64_t room_ = 0;
};

Result<const ProductSum*> SumOf(const Tensor& x) {
  if (x.dtype() == DType::kVariant && x.rank() == 0) {
    const auto* const sum = x.scalar<Variant>().As<ProductSum>();
    if (sum != nullptr) return sum;
  }
  return InvalidArgument("expected a sum of products, got ", x.dtype(), x.shape());
}

// The sum that input 0 holds, to be changed: itself where nobody else holds it, else a copy.
Result<std::shared_ptr<ProductSum>> TakeSum(Context& ctx) {
  RETURN_IF_ERROR(SumOf(ctx.input(0)).status());
  const Tensor taken = ctx.TakeInput(0);
  const Tensor& held = taken.empty() ? ctx.input(0) : taken;
  const auto* const sum = held.scalar<Variant>().As<ProductSum>();
  if (!taken.empty() && sum->weak_from_this().use_count() == 1) {
    // Counts up by an acquire: what other holders did came before they let go of it.
    return std::const_pointer_cast<ProductSum>(sum->shared_from_this());
  }
  return std::make_shared<ProductSum>(*sum);
}

Status SetSum(Context& ctx, std::shared_ptr<ProductSum> sum) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, Shape()));
  *out->mutable_data<Variant>() = Variant(std::move(sum));
  return OkStatus();
}

Status StartProducts(Context& ctx) {
  const Tensor& initial = ctx.input(0);
  if (initial.rank() != 2) return InvalidArgument("expected a matrix, got ", initial.shape());
  return SetSum(ctx, std::make_shared<ProductSum>(initial));
}

class AddProductCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<AddProductCpu>();
    ASSIGN_OR_RETURN(kernel->attrs_, MatMulAttrs::Parse(c));
    if (c.node().FindAttr("_fused_from") != nullptr) {
      ASSIGN_OR_RETURN(kernel->fused_from_, c.Attr<std::string>("_fused_from"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    Status status = Run(ctx);
    if (status.ok() || fused_from_.empty()) return status;
    return status.WithContext(fused_from_);
  }

 private:
  Status Run(Context& ctx) const {
    const Tensor &a = ctx.input(1), &b = ctx.input(2);
    ASSIGN_OR_RETURN(const GemmShape shape, attrs_.ShapeOf(a, b));
    ASSIGN_OR_RETURN(const ProductSum* const before, SumOf(ctx.input(0)));
    const Shape product{shape.m, shape.n};
    if (before->sum().dtype() != a.dtype() || before->sum().shape() != product) {
      return InvalidArgument("the product, ", a.dtype(), product, ", does not fit to the sum, ",
                             before->sum().dtype(), before->sum().shape());
    }
    ASSIGN_OR_RETURN(std::shared_ptr<ProductSum> sum, TakeSum(ctx));
    RETURN_IF_ERROR(sum->Add(ctx, shape, a, b));
    return SetSum(ctx, std::move(sum));
  }

  MatMulAttrs attrs_;
  std::string fused_from_;
};

class EndProductsCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<EndProductsCpu>();
    ASSIGN_OR_RETURN(kernel->dtype_, c.Attr<DType>("T"));
    ASSIGN_OR_RETURN(kernel->shape_, c.Attr<PartialShape>("shape"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const ProductSum* const before, SumOf(ctx.input(0)));
    if (before->sum().dtype() != dtype_ || !shape_.Admits(before->sum().shape())) {
      return InvalidArgument("expected a sum of ", dtype_, shape_, ", got ", before->sum().dtype(),
                             before->sum().shape());
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<ProductSum> sum, TakeSum(ctx));
    RETURN_IF_ERROR(sum->Gather(ctx));
    ctx.set_output(0, sum->sum());
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  PartialShape shape_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sum_products, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    registry.AddFunction<StartProducts>("_StartProducts", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kCheap);
    registry.Add<AddProductCpu>("_AddProduct", kCpu, {{"T", dtype}});
    registry.Add<EndProductsCpu>("_EndProducts", kCpu, {{"T", dtype}});
  }
}
