// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "thalweg/compute/linalg/not_there.h"
#include "thalweg/compute/linalg/ordering.h"
#include "thalweg/compute/sparse/cholesky.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/csr_matrix.h"

namespace thalweg {
namespace {

Status CheckSquare(const CsrMatrix& a) {
  if (a.rows() == a.columns()) return OkStatus();
  return InvalidArgument("sparse matrix must be square; got: ", a.rows(), " != ", a.columns());
}

// The places of the lower part, each once, in order.
compute::CsrPattern LowerPattern(const compute::CsrView& a) {
  compute::CsrPattern lower;
  lower.starts.push_back(0);
  for (int64_t row = 0; row < a.rows; ++row) {
    const auto first = lower.places.insert(lower.places.end(), a.places + a.starts[row],
                                           a.places + a.starts[row + 1]);
    lower.places.erase(
        std::remove_if(first, lower.places.end(), [&](int32_t column) { return column > row; }),
        lower.places.end());
    const auto begin = lower.places.begin() + lower.starts.back();
    std::sort(begin, lower.places.end());
    lower.places.erase(std::unique(begin, lower.places.end()), lower.places.end());
    lower.starts.push_back(static_cast<int32_t>(lower.places.size()));
  }
  return lower;
}

Status FindOrder(Context& ctx) {
  ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0));
  RETURN_IF_ERROR(CheckSquare(*a));
  Dims dims = a->shape().dims();
  dims.erase(dims.size() - 1);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * order, ctx.AllocateOutput(0, DType::kInt32, shape));
  if (a->rows() == 0) return OkStatus();
  for (int64_t b = 0; b < a->batch(); ++b) {
    const compute::CsrPattern lower = LowerPattern(a->matrix(b));
    const compute::LinalgResult result = compute::MinimumDegreeOrder(
        static_cast<int32_t>(a->rows()), lower.starts.data(), lower.places.data(),
        order->mutable_data<int32_t>() + b * a->rows());
    if (result == compute::LinalgResult::kNotThere) return compute::NoLinalg();
    if (result != compute::LinalgResult::kOk) {
      return ResourceExhausted("no memory for the order of ", a->rows(), " rows");
    }
  }
  return OkStatus();
}

Status CheckOrders(const CsrMatrix& a, const Tensor& orders) {
  if (orders.rank() + 1 != a.shape().rank()) {
    return InvalidArgument("sparse matrix must have the same rank as permutation; got: ",
                           a.shape().rank(), " != ", orders.rank(), " + 1.");
  }
  if (orders.dim(orders.rank() - 1) != a.rows()) {
    return InvalidArgument("permutation must have the same number of elements in each batch as ",
                           "the number of rows in sparse matrix; got: ",
                           orders.dim(orders.rank() - 1), " != ", a.rows());
  }
  if (a.is_batch() && orders.dim(0) != a.batch()) {
    return InvalidArgument("permutation must have the same batch size as sparse matrix; got: ",
                           orders.dim(0), " != ", a.batch());
  }
  std::vector<bool> seen;
  for (int64_t b = 0; b < a.batch(); ++b) {
    seen.assign(static_cast<size_t>(a.rows()), false);
    for (int64_t i = 0; i < a.rows(); ++i) {
      const int32_t row = orders.data<int32_t>()[b * a.rows() + i];
      if (row < 0 || row >= a.rows() || seen[static_cast<size_t>(row)]) {
        return InvalidArgument("permutation must name every row in [0, ", a.rows(), ") once, got ",
                               row, " at ", i, " of batch ", b);
      }
      seen[static_cast<size_t>(row)] = true;
    }
  }
  return OkStatus();
}

class FactorCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<FactorCpu>();
    ASSIGN_OR_RETURN(kernel->dtype_, c.Attr<DType>("type"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    const Tensor& orders = ctx.input(1);
    RETURN_IF_ERROR(CheckSquare(*a));
    RETURN_IF_ERROR(CheckOrders(*a, orders));
    const int32_t* const order = orders.data<int32_t>();
    std::vector<compute::SparseCholesky> plans;
    std::vector<int64_t> first = {0};
    for (int64_t b = 0; b < a->batch(); ++b) {
      ASSIGN_OR_RETURN(auto plan, compute::SparseCholesky::Plan(ctx.work(), a->matrix(b),
                                                                order + b * a->rows()));
      first.push_back(first.back() + plan.starts().back());
      plans.push_back(std::move(plan));
    }
    RETURN_IF_ERROR(CheckCsrShape(a->shape(), first.back()));
    ASSIGN_OR_RETURN(Tensor starts, Tensor::Allocate(ctx.allocator(), DType::kInt32,
                                                     Shape{a->batch() * (a->rows() + 1)}));
    ASSIGN_OR_RETURN(Tensor places,
                     Tensor::Allocate(ctx.allocator(), DType::kInt32, Shape{first.back()}));
    ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), dtype_, Shape{first.back()}));
    int32_t* start = starts.mutable_data<int32_t>();
    auto* const bytes = static_cast<char*>(values.mutable_raw_data());
    for (size_t b = 0; b < plans.size(); ++b) {
      start = std::copy(plans[b].starts().begin(), plans[b].starts().end(), start);
      const Status made =
          plans[b].Factor(ctx.work(), dtype_, places.mutable_data<int32_t>() + first[b],
                          bytes + static_cast<size_t>(first[b]) * DTypeSize(dtype_));
      if (made.code() == Code::kInvalidArgument) {
        return InvalidArgument("Sparse Cholesky factorization failed for batch index ", b, ": ",
                               made.message());
      }
      RETURN_IF_ERROR(made);
    }
    SetCsrOutput(ctx, 0,
                 CsrMatrix(a->shape(), std::move(first), std::move(starts), std::move(places),
                           std::move(values)));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(csr_factor, cpu) {
  registry.AddFunction<FindOrder>("SparseMatrixOrderingAMD", kCpu);
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kComplex64, DType::kComplex128}) {
    registry.Add<FactorCpu>("SparseMatrixSparseCholesky", kCpu, {{"type", dtype}});
  }
}
