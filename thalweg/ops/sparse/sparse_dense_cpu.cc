// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/sparse/sparse_product.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

class ProductCpu : public Kernel {
 public:
  ProductCpu(bool adjoint_a, bool adjoint_b) : adjoint_a_(adjoint_a), adjoint_b_(adjoint_b) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool adjoint_a, c.Attr<bool>("adjoint_a"));
    ASSIGN_OR_RETURN(const bool adjoint_b, c.Attr<bool>("adjoint_b"));
    return std::unique_ptr<Kernel>(std::make_unique<ProductCpu>(adjoint_a, adjoint_b));
  }

  Status Compute(Context& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &b = ctx.input(3);
    ASSIGN_OR_RETURN(const Shape a, ShapeOf(ctx.input(2), "a_shape"));
    if (a.rank() != 2 || b.rank() != 2) {
      return InvalidArgument("a and b must be matrices, got shapes ", a, " and ", b.shape());
    }
    if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
        values.dim(0) != indices.dim(0)) {
      return InvalidArgument("a_indices must be a matrix of two columns and a_values as long, got ",
                             indices.shape(), " and ", values.shape());
    }
    compute::SparseProduct product{.count = indices.dim(0),
                                   .rows = a.dim(adjoint_a_ ? 1 : 0),
                                   .inner = a.dim(adjoint_a_ ? 0 : 1),
                                   .columns = b.dim(adjoint_b_ ? 0 : 1),
                                   .adjoint_a = adjoint_a_,
                                   .adjoint_b = adjoint_b_};
    if (b.dim(adjoint_b_ ? 1 : 0) != product.inner) {
      return InvalidArgument("Cannot multiply A and B because inner dimension does not match: ",
                             product.inner, " vs. ", b.dim(adjoint_b_ ? 1 : 0));
    }
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemporary(DType::kInt64, indices.shape()));
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t at = IntAt(indices, i), size = a.dim(static_cast<int>(i % 2));
      if (at < 0 || at >= size) {
        return InvalidArgument(i % 2 == 0 ? "row" : "column", " index ", at,
                               " of a is out of bounds: need 0 <= index < ", size);
      }
      places.mutable_data<int64_t>()[i] = at;
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::vector{product.rows, product.columns}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, b.dtype(), shape));
    return compute::MultiplySparse(ctx.work(), b.dtype(), product, places.data<int64_t>(),
                                   values.raw_data(), b.raw_data(), out->mutable_raw_data());
  }

 private:
  const bool adjoint_a_, adjoint_b_;
};

// The dense tensor's dimensions are the sparse one's last, of the same size or of one.
Status CombineWithDense(Context& ctx, compute::Combine combine) {
  ASSIGN_OR_RETURN(const SparseInput sparse, SparseInput::Checked(ctx, 0, 1, 2));
  const Shape dense = ctx.input(3).shape();
  const int extra = sparse.rank() - dense.rank();
  std::vector<int64_t> strides;
  int64_t stride = 1;
  for (int d = dense.rank() - 1; d >= 0; --d) {
    if (extra < 0 || (dense.dim(d) != 1 && dense.dim(d) != sparse.shape().dim(d + extra))) {
      return InvalidArgument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got ",
                             "incompatible shapes: [", sparse.shape(), "] vs. [", dense, "]");
    }
    strides.insert(strides.begin(), dense.dim(d) == 1 ? 0 : stride);
    stride *= dense.dim(d);
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < sparse.count(); ++i) {
    int64_t at = 0;
    for (int d = 0; d < dense.rank(); ++d) {
      at += sparse.row(i)[d + extra] * strides[static_cast<size_t>(d)];
    }
    places.push_back(at);
  }
  const Tensor& from = ctx.input(3);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, from.dtype(), sparse.values().shape()));
  ASSIGN_OR_RETURN(Tensor operand, ctx.AllocateTemporary(from.dtype(), sparse.values().shape()));
  RETURN_IF_ERROR(compute::GatherRows(ctx.work(), from.dtype(),
                                      {.rows = stride, .inner = 1, .count = sparse.count()},
                                      from.raw_data(), places.data(), operand.mutable_raw_data()));
  std::vector<int64_t> each(static_cast<size_t>(sparse.count()));
  std::iota(each.begin(), each.end(), int64_t{0});
  RETURN_IF_ERROR(compute::CombineRows(ctx.work(), from.dtype(), compute::Combine::kAssign,
                                       {.count = sparse.count()}, each.data(),
                                       sparse.values().raw_data(), out->mutable_raw_data()));
  return compute::CombineElements(ctx.work(), from.dtype(), combine, sparse.count(),
                                  operand.raw_data(), out->mutable_raw_data());
}

template <compute::Combine kCombine>
Status Cwise(Context& ctx) {
  return CombineWithDense(ctx, kCombine);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_dense, cpu) {
  using compute::Combine;
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16,
                            DType::kInt32, DType::kComplex64, DType::kComplex128}) {
    for (const DType index : {DType::kInt32, DType::kInt64}) {
      registry.Add<ProductCpu>("SparseTensorDenseMatMul", kCpu,
                               {{"T", dtype}, {"Tindices", index}});
    }
  }
  ForEachType<RealTypes>([&]<class T>() {
    const DType t = kDTypeOf<T>;
    registry.AddFunction<Cwise<Combine::kAdd>>("SparseDenseCwiseAdd", kCpu, {{"T", t}});
    registry.AddFunction<Cwise<Combine::kMul>>("SparseDenseCwiseMul", kCpu, {{"T", t}});
    registry.AddFunction<Cwise<Combine::kDiv>>("SparseDenseCwiseDiv", kCpu, {{"T", t}});
  });
}
