// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/diagonals.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/diagonal_range.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

using compute::DiagonalShape;

// Without the attribute (the first two versions) diagonals lie at the left.
class DiagonalKernel : public Kernel {
 public:
  explicit DiagonalKernel(DiagonalAlign align) : align_(align) {}

 protected:
  // The main diagonal without an input k.
  static Result<DiagonalRange> RangeOf(Context& ctx, int input) {
    if (ctx.num_inputs() <= input) return DiagonalRange{};
    return DiagonalRangeOf(ctx.input(input));
  }
  DiagonalShape Geometry(const DiagonalRange& range, int64_t batch, int64_t rows, int64_t columns,
                         int64_t longest) const {
    return {batch,
            rows,
            columns,
            range.lower,
            range.upper,
            longest,
            align_.upper_right,
            align_.lower_right};
  }
  // Output 0 of `shape`, filled with input `padding`, or zeros when there is none.
  static Result<Tensor*> FilledOutput(Context& ctx, int padding, const Shape& shape) {
    const DType dtype = ctx.input(0).dtype();
    const bool padded = ctx.num_inputs() > padding;
    // Those that take diagonals out have it in input 2, and take a vector of one element as well.
    const bool legacy = padded && padding == 2 && IsLegacyScalar(ctx.input(padding));
    if (padded && ctx.input(padding).rank() != 0 && !legacy) {
      return InvalidArgument("padding_value must be a scalar, got shape ",
                             ctx.input(padding).shape());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
    void* const data = out->mutable_raw_data();
    const int64_t n = out->num_elements();
    if (padded) RETURN_IF_ERROR(ClaimCopies(ctx, *out, ctx.input(padding), n));
    RETURN_IF_ERROR(
        padded ? compute::FillElements(ctx.work(), dtype, ctx.input(padding).raw_data(), data, n)
               : compute::FillZeros(ctx.work(), dtype, data, n));
    return out;
  }

 private:
  const DiagonalAlign align_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateAligned(const KernelConstruction& c) {
  DiagonalAlign align;
  if (c.node().FindAttr("align") != nullptr) {
    std::string name;
    ASSIGN_OR_RETURN(name, c.Attr<std::string>("align"));
    ASSIGN_OR_RETURN(align, ParseDiagonalAlign(name));
  }
  return std::unique_ptr<Kernel>(std::make_unique<K>(align));
}

int64_t Product(const Shape& shape, int end) {
  int64_t product = 1;
  for (int i = 0; i < end; ++i) product *= shape.dim(i);
  return product;
}

Result<int64_t> SizeArgument(Context& ctx, int i, std::string_view what) {
  return ctx.num_inputs() > i ? IntScalar(ctx.input(i), what) : Result<int64_t>(-1);
}

class MatrixDiagCpu : public DiagonalKernel {
 public:
  using DiagonalKernel::DiagonalKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateAligned<MatrixDiagCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& diagonal = ctx.input(0);
    const Shape from = diagonal.shape();
    ASSIGN_OR_RETURN(const DiagonalRange range, RangeOf(ctx, 1));
    const int packed = range.count() > 1 ? 2 : 1;
    if (from.rank() < packed) {
      return InvalidArgument("diagonal must be at least ", packed, "-dim, received shape: ", from);
    }
    if (packed == 2 && from.dim(from.rank() - 2) != range.count()) {
      return InvalidArgument(
          "The number of diagonals provided in the input does not match the lower_diag_index and "
          "upper_diag_index range: ",
          from.dim(from.rank() - 2), " and [", range.lower, ", ", range.upper, "]");
    }
    ASSIGN_OR_RETURN(const int64_t rows, SizeArgument(ctx, 2, "num_rows"));
    ASSIGN_OR_RETURN(const int64_t columns, SizeArgument(ctx, 3, "num_cols"));
    const int64_t longest = from.dim(from.rank() - 1);
    ASSIGN_OR_RETURN(const MatrixSize size, MatrixSizeFor(range, longest, rows, columns));
    Dims dims(from.dims());
    dims.resize(from.rank() - packed);
    dims.push_back(size.rows);
    dims.push_back(size.columns);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, FilledOutput(ctx, 4, shape));
    const int64_t batch = Product(from, from.rank() - packed);
    return compute::UnpackDiagonals(ctx.work(), diagonal.dtype(),
                                    Geometry(range, batch, size.rows, size.columns, longest),
                                    diagonal.raw_data(), out->mutable_raw_data());
  }
};

// What a matrix and its packed diagonals are for MatrixDiagPart and MatrixSetDiag.
struct Packed {
  DiagonalRange range;
  Shape shape;
  int64_t batch = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t longest = 0;
};

Result<Packed> PackedOf(const Shape& matrix, const DiagonalRange& range) {
  if (matrix.rank() < 2) {
    return InvalidArgument("input must be at least 2-dim, received shape: ", matrix);
  }
  Packed packed{.range = range};
  const int outer = matrix.rank() - 2;
  packed.batch = Product(matrix, outer);
  packed.rows = matrix.dim(outer);
  packed.columns = matrix.dim(outer + 1);
  RETURN_IF_ERROR(range.CheckInside(packed.rows, packed.columns));
  packed.longest = range.Longest(packed.rows, packed.columns);
  Dims dims(matrix.dims());
  dims.resize(outer);
  if (range.count() > 1) dims.push_back(range.count());
  dims.push_back(packed.longest);
  ASSIGN_OR_RETURN(packed.shape, Shape::Make(dims));
  return packed;
}

class MatrixDiagPartCpu : public DiagonalKernel {
 public:
  using DiagonalKernel::DiagonalKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateAligned<MatrixDiagPartCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& matrix = ctx.input(0);
    ASSIGN_OR_RETURN(const DiagonalRange range, RangeOf(ctx, 1));
    ASSIGN_OR_RETURN(const Packed p, PackedOf(matrix.shape(), range));
    ASSIGN_OR_RETURN(Tensor * out, FilledOutput(ctx, 2, p.shape));
    return compute::PackDiagonals(ctx.work(), matrix.dtype(),
                                  Geometry(range, p.batch, p.rows, p.columns, p.longest),
                                  matrix.raw_data(), out->mutable_raw_data());
  }
};

class MatrixSetDiagCpu : public DiagonalKernel {
 public:
  using DiagonalKernel::DiagonalKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateAligned<MatrixSetDiagCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& diagonal = ctx.input(1);
    ASSIGN_OR_RETURN(const DiagonalRange range, RangeOf(ctx, 2));
    ASSIGN_OR_RETURN(const Packed p, PackedOf(ctx.input(0).shape(), range));
    if (diagonal.shape() != p.shape) {
      return InvalidArgument(
          "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1]"
          " is not equal to the longests diagonal in range [",
          range.lower, ", ", range.upper, "]: expected ", p.shape, ", got ", diagonal.shape());
    }
    Tensor matrix = ctx.TakeInput(0);
    if (matrix.empty()) {
      ASSIGN_OR_RETURN(matrix, ctx.input(0).Clone(ctx.allocator()));
    }
    RETURN_IF_ERROR(compute::UnpackDiagonals(ctx.work(), matrix.dtype(),
                                             Geometry(range, p.batch, p.rows, p.columns, p.longest),
                                             diagonal.raw_data(), matrix.mutable_raw_data()));
    RETURN_IF_ERROR(RechargeTextHeap(ctx.allocator(), matrix));
    ctx.set_output(0, std::move(matrix));
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(matrix_diag, cpu) {
  for (const char* op : {"MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "BatchMatrixDiag"}) {
    registry.Add<MatrixDiagCpu>(op, kCpu);
  }
  for (const char* op :
       {"MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "BatchMatrixDiagPart"}) {
    registry.Add<MatrixDiagPartCpu>(op, kCpu);
  }
  for (const char* op :
       {"MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "BatchMatrixSetDiag"}) {
    registry.Add<MatrixSetDiagCpu>(op, kCpu);
  }
}
