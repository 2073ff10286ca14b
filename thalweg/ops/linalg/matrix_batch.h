// SPDX-License-Identifier: Apache-2.0
// What the kernels of ops/linalg share: the matrices in the last two dimensions of a tensor, and a
// loop over them.
//
//   ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
//   ASSIGN_OR_RETURN(const Shape shape, a.With({a.rows, a.columns}));
//   ASSIGN_OR_RETURN(Tensor* out, ctx.AllocateOutput(0, dtype, shape));
//   return ForEachMatrix(ctx, a.count, Cubed(a.rows), "Input is not invertible.", [&](int64_t i) {
//     return kernels->inverse(a.rows, a.At(i), adjoint, ElementAt(*out, i * a.size()));
//   });
//
// Ownership: a batch points at its tensor, which outlives it.
// Threads: any; matrices are spread over the step's threads.
// Errors: InvalidArgument for shapes, and with `failure` for what cannot be decomposed; Cancelled,
// ResourceExhausted, Unimplemented without the component.
#pragma once

#include <atomic>
#include <initializer_list>
#include <string_view>

#include "thalweg/compute/interruption.h"
#include "thalweg/compute/linalg/linalg.h"
#include "thalweg/compute/linalg/not_there.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

inline int64_t WidthOf(DType dtype) { return static_cast<int64_t>(DTypeSize(dtype)); }
inline char* ElementAt(Tensor& tensor, int64_t element) {
  return static_cast<char*>(tensor.mutable_raw_data()) + element * WidthOf(tensor.dtype());
}
inline const char* ElementAt(const Tensor& tensor, int64_t element) {
  return static_cast<const char*>(tensor.raw_data()) + element * WidthOf(tensor.dtype());
}

struct MatrixBatch {
  const Tensor* tensor = nullptr;
  Dims leading;
  int64_t count = 1;
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t size() const { return rows * columns; }
  const char* At(int64_t i) const { return ElementAt(*tensor, i * size()); }
  // The leading dimensions with others behind.
  Result<Shape> With(std::initializer_list<int64_t> last) const {
    Dims dims = leading;
    for (int64_t dim : last) dims.push_back(dim);
    return Shape::Make(dims);
  }
};

inline Result<MatrixBatch> Matrices(const Tensor& tensor, int input = 0) {
  const int rank = tensor.rank();
  if (rank < 2) {
    return InvalidArgument("Input tensor ", input, " must have rank >= 2, got ", rank);
  }
  MatrixBatch batch{.tensor = &tensor,
                    .leading = tensor.shape().dims(),
                    .rows = tensor.dim(rank - 2),
                    .columns = tensor.dim(rank - 1)};
  batch.leading.resize(rank - 2);
  batch.count = Shape(batch.leading).num_elements();
  return batch;
}

inline Result<MatrixBatch> SquareMatrices(const Tensor& tensor, int input = 0) {
  ASSIGN_OR_RETURN(MatrixBatch batch, Matrices(tensor, input));
  if (batch.rows != batch.columns) {
    return InvalidArgument("Input matrix must be square; input ", input, " has shape ",
                           tensor.shape());
  }
  return batch;
}

// Both have the same leading dimensions.
inline Status CheckSameBatch(const MatrixBatch& a, const MatrixBatch& b) {
  if (a.leading == b.leading) return OkStatus();
  return InvalidArgument("All input tensors must have the same ",
                         a.leading.size() == b.leading.size() ? "outer dimensions" : "rank",
                         ", got shapes ", a.tensor->shape(), " and ", b.tensor->shape());
}

inline double Cubed(int64_t n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

// f(i) for every matrix i < count; `flops` are those of one. `failure` is the message of kFailed.
template <class F>
Status ForEachMatrix(Context& ctx, int64_t count, double flops, std::string_view failure,
                     const F& f) {
  using compute::LinalgResult;
  constexpr double kFlopsOfShard = 65536;
  const auto grain =
      flops >= kFlopsOfShard ? int64_t{1} : static_cast<int64_t>(kFlopsOfShard / (flops + 1)) + 1;
  std::atomic<LinalgResult> worst = LinalgResult::kOk;
  RETURN_IF_ERROR(compute::ForBlocks(ctx.work(), count, grain, [&](int64_t begin, int64_t end) {
    const compute::Interruption interruption(ctx.work());
    for (int64_t i = begin; i < end && worst == LinalgResult::kOk; ++i) {
      const LinalgResult result = f(i);
      if (result != LinalgResult::kOk) worst = result;
    }
  }));
  if (worst == LinalgResult::kCancelled) return CancelledStep();
  if (worst == LinalgResult::kNotThere) return compute::NoLinalg();
  if (worst == LinalgResult::kFailed) return InvalidArgument(failure);
  if (worst == LinalgResult::kOutOfMemory) {
    return ResourceExhausted("no memory for the decomposition of a matrix");
  }
  return OkStatus();
}

inline constexpr std::initializer_list<DType> kLinalgTypes = {
    DType::kFloat, DType::kDouble, DType::kComplex64, DType::kComplex128};
inline constexpr std::initializer_list<DType> kRealLinalgTypes = {DType::kFloat, DType::kDouble};

}  // namespace thalweg
