// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/rows.h"
#include "thalweg/ops/sparse/csr_matrix.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

Status DenseToCsr(Context& ctx) {
  const Tensor &dense = ctx.input(0), &indices = ctx.input(1);
  if (dense.rank() != 2 && dense.rank() != 3) {
    return InvalidArgument("params must have rank == 2 or 3; but saw shape: ", dense.shape());
  }
  if (indices.rank() != 2) {
    return InvalidArgument("indices must be a matrix, but saw shape: ", indices.shape());
  }
  if (indices.dim(1) != dense.rank()) {
    return InvalidArgument("indices.shape[1] must be equal to the rank of params, but saw: ",
                           indices.dim(1), " vs. ", dense.rank());
  }
  ASSIGN_OR_RETURN(const NdRows rows,
                   RowsOfNdIndices(ctx.allocator(), indices, dense.shape(), false));
  const int64_t count = indices.dim(0);
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), dense.dtype(), Shape{count}));
  RETURN_IF_ERROR(compute::GatherRows(ctx.work(), dense.dtype(), {.inner = 1, .count = count},
                                      dense.raw_data(), rows.rows.data<int64_t>(),
                                      values.mutable_raw_data()));
  ASSIGN_OR_RETURN(CsrMatrix matrix,
                   CsrFromPlaces(ctx, dense.shape(), indices.data<int64_t>(), std::move(values)));
  SetCsrOutput(ctx, 0, std::move(matrix));
  return OkStatus();
}

Status SparseToCsr(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  RETURN_IF_ERROR(CheckCsrShape(input.shape(), input.count()));
  const int64_t* places = input.indices().data<int64_t>();
  ASSIGN_OR_RETURN(CsrMatrix matrix, CsrFromPlaces(ctx, input.shape(), places, input.values()));
  SetCsrOutput(ctx, 0, std::move(matrix));
  return OkStatus();
}

class CsrToDenseCpu : public Kernel {
 public:
  explicit CsrToDenseCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, a->shape()));
    RETURN_IF_ERROR(
        compute::FillZeros(ctx.work(), dtype_, out->mutable_raw_data(), out->num_elements()));
    std::vector<int64_t> flat;
    a->ForEach([&](int64_t b, int64_t row, int64_t column, int64_t) {
      flat.push_back((b * a->rows() + row) * a->columns() + column);
    });
    return compute::CombineRows(ctx.work(), dtype_, compute::Combine::kAssign,
                                {.count = a->count()}, flat.data(), a->values().raw_data(),
                                out->mutable_raw_data());
  }

 private:
  const DType dtype_;
};

class CsrToSparseCpu : public Kernel {
 public:
  explicit CsrToSparseCpu(const KernelConstruction& c) : dtype_(c.output_type(1)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    const Shape shape = a->shape();
    const Tensor values = a->values();
    std::vector<int64_t> places;
    a->ForEach([&](int64_t b, int64_t row, int64_t column, int64_t) {
      if (a->is_batch()) places.push_back(b);
      places.push_back(row);
      places.push_back(column);
    });
    SetSparse(ctx, 0, IndexMatrix(places, shape.rank(), values.num_elements()), values, shape);
    return OkStatus();
  }

 private:
  const DType dtype_;
};

class ComponentsCpu : public Kernel {
 public:
  explicit ComponentsCpu(const KernelConstruction& c) : dtype_(c.output_type(2)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    ASSIGN_OR_RETURN(const int64_t b, IntScalar(ctx.input(1), "index"));
    if (b < 0 || b >= a->batch()) {
      return InvalidArgument("index (", b, ") not in [0, ", a->batch(), ")");
    }
    const compute::CsrView view = a->matrix(b);
    const auto rows = static_cast<size_t>(view.rows), count = static_cast<size_t>(a->count(b));
    Tensor starts = Tensor::Of<int32_t>({view.starts, rows + 1}, Shape{view.rows + 1});
    Tensor places = Tensor::Of<int32_t>({view.places, count}, Shape{a->count(b)});
    ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), dtype_, Shape{a->count(b)}));
    RETURN_IF_ERROR(compute::CopyElements(ctx.work(), dtype_, view.values,
                                          values.mutable_raw_data(), a->count(b)));
    ctx.set_output(0, std::move(starts));
    ctx.set_output(1, std::move(places));
    ctx.set_output(2, std::move(values));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status CountValues(Context& ctx) {
  ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0));
  std::vector<int32_t> counts;
  for (int64_t b = 0; b < a->batch(); ++b) counts.push_back(static_cast<int32_t>(a->count(b)));
  ctx.set_output(0, a->is_batch() ? Tensor::Of<int32_t>(counts, Shape{a->batch()})
                                  : Tensor::Scalar(counts[0]));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(csr_convert, cpu) {
  ForEachType<Types<float, double, std::complex<float>, std::complex<double>>>([&]<class T>() {
    const DType t = kDTypeOf<T>;
    registry.AddFunction<DenseToCsr>("DenseToCSRSparseMatrix", kCpu, {{"T", t}});
    registry.AddFunction<SparseToCsr>("SparseTensorToCSRSparseMatrix", kCpu, {{"T", t}});
    registry.Add<CsrToDenseCpu>("CSRSparseMatrixToDense", kCpu, {{"type", t}});
    registry.Add<CsrToSparseCpu>("CSRSparseMatrixToSparseTensor", kCpu, {{"type", t}});
    registry.Add<ComponentsCpu>("CSRSparseMatrixComponents", kCpu, {{"type", t}});
  });
  registry.AddFunction<CountValues>("SparseMatrixNNZ", kCpu);
}
