// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/sparse/sparse_product.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/csr_matrix.h"

namespace thalweg {
namespace {

// The matrix turned around, each of a batch.
Result<CsrMatrix> TransposeMatrix(Context& ctx, const CsrMatrix& a, bool conjugate) {
  Dims dims = a.shape().dims();
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  const Shape shape(dims);
  RETURN_IF_ERROR(CheckCsrShape(shape, a.count()));
  const int64_t row_starts = a.columns() + 1;
  ASSIGN_OR_RETURN(Tensor starts,
                   Tensor::Allocate(ctx.allocator(), DType::kInt32, Shape{a.batch() * row_starts}));
  ASSIGN_OR_RETURN(Tensor places,
                   Tensor::Allocate(ctx.allocator(), DType::kInt32, Shape{a.count()}));
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), a.dtype(), Shape{a.count()}));
  std::vector<int64_t> first = {0};
  for (int64_t b = 0; b < a.batch(); ++b) {
    first.push_back(a.first(b + 1));
    const size_t at = static_cast<size_t>(a.first(b)) * DTypeSize(a.dtype());
    RETURN_IF_ERROR(compute::Interruptibly(ctx.work(), [&] {
      return compute::TransposeCsr(a.dtype(), a.matrix(b), conjugate,
                                   starts.mutable_data<int32_t>() + b * row_starts,
                                   places.mutable_data<int32_t>() + a.first(b),
                                   static_cast<char*>(values.mutable_raw_data()) + at);
    }));
  }
  return CsrMatrix(shape, std::move(first), std::move(starts), std::move(places),
                   std::move(values));
}

// How the attributes say that an argument is turned.
struct Turned {
  bool transpose = false, adjoint = false;

  static Result<Turned> Of(const KernelConstruction& c, const std::string& which) {
    Turned t;
    ASSIGN_OR_RETURN(t.transpose, c.Attr<bool>("transpose_" + which));
    ASSIGN_OR_RETURN(t.adjoint, c.Attr<bool>("adjoint_" + which));
    if (!t.transpose || !t.adjoint) return t;
    return InvalidArgument("Only one of adjoint_", which, " and transpose_", which,
                           " may be true.");
  }
  bool any() const { return transpose || adjoint; }
};

class TransposeCpu : public Kernel {
 public:
  TransposeCpu(bool conjugate, DType dtype) : conjugate_(conjugate), dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool conjugate, c.Attr<bool>("conjugate"));
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("type"));
    return std::unique_ptr<Kernel>(std::make_unique<TransposeCpu>(conjugate, dtype));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    ASSIGN_OR_RETURN(CsrMatrix turned, TransposeMatrix(ctx, *a, conjugate_));
    SetCsrOutput(ctx, 0, std::move(turned));
    return OkStatus();
  }

 private:
  const bool conjugate_;
  const DType dtype_;
};

class DenseProductCpu : public Kernel {
 public:
  explicit DenseProductCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<DenseProductCpu>(c);
    ASSIGN_OR_RETURN(kernel->a_, Turned::Of(c, "a"));
    ASSIGN_OR_RETURN(kernel->b_, Turned::Of(c, "b"));
    ASSIGN_OR_RETURN(kernel->turn_output_, c.Attr<bool>("transpose_output"));
    ASSIGN_OR_RETURN(kernel->conjugate_output_, c.Attr<bool>("conjugate_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    const Tensor& b = ctx.input(1);
    const int rank = a->shape().rank();
    if (b.rank() != rank) {
      return InvalidArgument("Ranks of a and b must match, saw: ", rank, " vs. ", b.rank(), ".");
    }
    if (a->is_batch() && b.dim(0) != a->batch()) {
      return InvalidArgument("Batch sizes of a and b must match, saw: ", a->batch(), " vs. ",
                             b.dim(0), ".");
    }
    compute::SparseProduct product{.count = 0,
                                   .rows = a_.any() ? a->columns() : a->rows(),
                                   .inner = a_.any() ? a->rows() : a->columns(),
                                   .columns = b.dim(rank - (b_.any() ? 2 : 1)),
                                   .adjoint_a = false,
                                   .adjoint_b = b_.any()};
    if (b.dim(rank - (b_.any() ? 1 : 2)) != product.inner) {
      return InvalidArgument("Inner product dimensions of A and B do not agree. Shapes are: ",
                             a->shape(), " vs. ", b.shape());
    }
    Dims dims = a->shape().dims();
    dims[rank - 2] = product.rows;
    dims[rank - 1] = product.columns;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (!turn_output_) {
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, shape));
      return Multiply(ctx, *a, b, product, out);
    }
    ASSIGN_OR_RETURN(Tensor made, ctx.AllocateTemporary(dtype_, shape));
    RETURN_IF_ERROR(Multiply(ctx, *a, b, product, &made));
    return TurnOutput(ctx, made, product, a->batch());
  }

 private:
  // MultiplySparse conjugates what it turns of b: for a b that is only transposed, the values of a
  // and the product are conjugated instead.
  Status Multiply(Context& ctx, const CsrMatrix& a, const Tensor& b, compute::SparseProduct product,
                  Tensor* out) const {
    const bool conjugate_a = a_.adjoint != b_.transpose;
    const bool conjugate_out = conjugate_output_ != b_.transpose;
    Tensor values = a.values();
    if (conjugate_a && IsComplex(dtype_)) {
      ASSIGN_OR_RETURN(values, values.Clone(ctx.allocator()));
      RETURN_IF_ERROR(
          compute::ConjugateValues(dtype_, values.num_elements(), values.mutable_raw_data()));
    }
    std::vector<int64_t> places;
    a.ForEach([&](int64_t, int64_t row, int64_t column, int64_t) {
      places.push_back(a_.any() ? column : row);
      places.push_back(a_.any() ? row : column);
    });
    const auto size = static_cast<int64_t>(DTypeSize(dtype_));
    for (int64_t k = 0; k < a.batch(); ++k) {
      product.count = a.count(k);
      const auto* from = static_cast<const char*>(values.raw_data()) + a.first(k) * size;
      const auto* factor =
          static_cast<const char*>(b.raw_data()) + k * product.inner * product.columns * size;
      auto* to =
          static_cast<char*>(out->mutable_raw_data()) + k * product.rows * product.columns * size;
      RETURN_IF_ERROR(compute::MultiplySparse(ctx.work(), dtype_, product,
                                              places.data() + 2 * a.first(k), from, factor, to));
    }
    if (!conjugate_out || !IsComplex(dtype_)) return OkStatus();
    return compute::ConjugateValues(dtype_, out->num_elements(), out->mutable_raw_data());
  }
  Status TurnOutput(Context& ctx, const Tensor& made, const compute::SparseProduct& product,
                    int64_t batch) const {
    Dims dims = made.shape().dims();
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, Shape(dims)));
    const int64_t rows = product.columns, columns = product.rows, matrix = rows * columns;
    const int64_t each[] = {batch, rows, columns};
    return compute::CopyStrided(ctx.work(), dtype_, each, {made.raw_data(), {matrix, 1, rows}},
                                {out->mutable_raw_data(), {matrix, columns, 1}});
  }

  const DType dtype_;
  Turned a_, b_;
  bool turn_output_ = false, conjugate_output_ = false;
};

class SparseProductCpu : public Kernel {
 public:
  explicit SparseProductCpu(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("type"));
    auto kernel = std::make_unique<SparseProductCpu>(dtype);
    ASSIGN_OR_RETURN(kernel->a_, Turned::Of(c, "a"));
    ASSIGN_OR_RETURN(kernel->b_, Turned::Of(c, "b"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix a, Argument(ctx, 0, a_));
    ASSIGN_OR_RETURN(const CsrMatrix b, Argument(ctx, 1, b_));
    if (a.shape().rank() != b.shape().rank() || a.batch() != b.batch()) {
      return InvalidArgument("Ranks and batch sizes of a and b must match, saw: ", a.shape(),
                             " vs. ", b.shape());
    }
    if (a.columns() != b.rows()) {
      return InvalidArgument("Inner product dimensions of A and B do not agree.  Shapes are: ",
                             a.shape(), " vs. ", b.shape());
    }
    Dims dims = a.shape().dims();
    dims[dims.size() - 1] = b.columns();
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    std::vector<compute::CsrPattern> patterns;
    std::vector<int64_t> first = {0};
    std::vector<int32_t> starts, places;
    for (int64_t k = 0; k < a.batch(); ++k) {
      compute::CsrPattern pattern;
      RETURN_IF_ERROR(compute::Interruptibly(ctx.work(), [&]() -> Status {
        ASSIGN_OR_RETURN(pattern, compute::ProductPattern(a.matrix(k), b.matrix(k)));
        return OkStatus();
      }));
      starts.insert(starts.end(), pattern.starts.begin(), pattern.starts.end());
      places.insert(places.end(), pattern.places.begin(), pattern.places.end());
      first.push_back(static_cast<int64_t>(places.size()));
      patterns.push_back(std::move(pattern));
    }
    RETURN_IF_ERROR(CheckCsrShape(shape, first.back()));
    ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), dtype_, Shape{first.back()}));
    for (int64_t k = 0; k < a.batch(); ++k) {
      const auto at = static_cast<size_t>(k);
      RETURN_IF_ERROR(compute::Interruptibly(ctx.work(), [&] {
        return compute::ProductValues(dtype_, a.matrix(k), b.matrix(k), patterns[at],
                                      static_cast<char*>(values.mutable_raw_data()) +
                                          static_cast<size_t>(first[at]) * DTypeSize(dtype_));
      }));
    }
    const auto num_starts = static_cast<int64_t>(starts.size());
    const int64_t count = first.back();
    SetCsrOutput(ctx, 0,
                 CsrMatrix(shape, std::move(first), Tensor::Of<int32_t>(starts, Shape{num_starts}),
                           Tensor::Of<int32_t>(places, Shape{count}), std::move(values)));
    return OkStatus();
  }

 private:
  Result<CsrMatrix> Argument(Context& ctx, int i, const Turned& turned) const {
    ASSIGN_OR_RETURN(const CsrMatrix* const given, CsrInput(ctx, i, dtype_));
    if (!turned.any()) return *given;
    return TransposeMatrix(ctx, *given, turned.adjoint);
  }

  const DType dtype_;
  Turned a_, b_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(csr_product, cpu) {
  ForEachType<Types<float, double, std::complex<float>, std::complex<double>>>([&]<class T>() {
    const DType t = kDTypeOf<T>;
    registry.Add<TransposeCpu>("SparseMatrixTranspose", kCpu, {{"type", t}});
    registry.Add<DenseProductCpu>("SparseMatrixMatMul", kCpu, {{"T", t}});
    registry.Add<SparseProductCpu>("SparseMatrixSparseMatMul", kCpu, {{"type", t}});
  });
}
