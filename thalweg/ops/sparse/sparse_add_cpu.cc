// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

using compute::ElementOf;
using compute::ValueOf;

// -1, 0, 1 as row i of a comes before, with, or behind row j of b.
int Compare(const int64_t* a, const int64_t* b, int rank) {
  for (int d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// A place of the union: the row in each of both, -1 where it is missing.
struct Pair {
  int64_t a, b;
};

// Both in order, as they should be: their union, in order.
std::vector<Pair> Union(const SparseInput& a, const SparseInput& b) {
  std::vector<Pair> pairs;
  for (int64_t i = 0, j = 0; i < a.count() || j < b.count();) {
    const int order = i == a.count()   ? 1
                      : j == b.count() ? -1
                                       : Compare(a.row(i), b.row(j), a.rank());
    pairs.push_back({order <= 0 ? i++ : -1, order >= 0 ? j++ : -1});
  }
  return pairs;
}

Tensor PlacesOf(const std::vector<Pair>& pairs, const SparseInput& a, const SparseInput& b) {
  std::vector<int64_t> places;
  for (const Pair& pair : pairs) {
    const int64_t* row = pair.a >= 0 ? a.row(pair.a) : b.row(pair.b);
    places.insert(places.end(), row, row + a.rank());
  }
  return IndexMatrix(places, a.rank(), static_cast<int64_t>(pairs.size()));
}

Status CheckSameShape(const SparseInput& a, const SparseInput& b) {
  if (a.shape() == b.shape()) return OkStatus();
  return InvalidArgument("Operands' shapes do not match: got ", a.shape(), " and ", b.shape());
}

template <class T>
double Magnitude(T value) {
  if constexpr (requires { value.imag(); }) {
    return static_cast<double>(std::abs(value));
  } else {
    return std::abs(static_cast<double>(value));
  }
}

// Leaves those of `pairs` that are kept, at its beginning, and writes their sums; says how many.
// The threshold is one of sums: what only one of both has is kept, however small.
template <class T>
size_t AddPairs(const T* a, const T* b, double least, std::vector<Pair>& pairs, T* sums) {
  size_t count = 0;
  for (const Pair pair : pairs) {
    compute::Value<T> sum{};
    if (pair.a >= 0) sum = ValueOf(a[pair.a]);
    if (pair.b >= 0) {
      if constexpr (std::is_integral_v<T>) {
        sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(b[pair.b]));
      } else {
        sum += ValueOf(b[pair.b]);
      }
    }
    if (pair.a >= 0 && pair.b >= 0 && !(Magnitude(sum) >= least)) continue;
    pairs[count] = pair;
    sums[count++] = ElementOf<T>(sum);
  }
  return count;
}

Status SparseAdd(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput a, SparseInput::Checked(ctx, 0, 1, 2));
  ASSIGN_OR_RETURN(const SparseInput b, SparseInput::Checked(ctx, 3, 4, 5));
  RETURN_IF_ERROR(CheckSameShape(a, b));
  const Tensor& threshold = ctx.input(6);
  if (threshold.rank() != 0) {
    return InvalidArgument("The magnitude threshold must be a scalar: got shape ",
                           threshold.shape());
  }
  double least = 0;
  RETURN_IF_ERROR(compute::WithType<RealTypes>(threshold.dtype(), "a threshold", [&]<class T>() {
    least = static_cast<double>(ValueOf(threshold.scalar<T>()));
    return OkStatus();
  }));
  const DType dtype = a.values().dtype();
  std::vector<Pair> pairs = Union(a, b);
  ASSIGN_OR_RETURN(Tensor sums,
                   ctx.AllocateTemporary(dtype, Shape{static_cast<int64_t>(pairs.size())}));
  RETURN_IF_ERROR(compute::WithType<NumberTypes>(dtype, "SparseAdd", [&]<class T>() {
    const size_t kept =
        AddPairs(a.values().data<T>(), b.values().data<T>(), least, pairs, sums.mutable_data<T>());
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(kept), pairs.end());
    return OkStatus();
  }));
  const auto count = static_cast<int64_t>(pairs.size());
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), dtype, Shape{count}));
  RETURN_IF_ERROR(
      compute::CopyElements(ctx.work(), dtype, sums.raw_data(), values.mutable_raw_data(), count));
  SetSparse(ctx, 0, PlacesOf(pairs, a, b), std::move(values), a.shape());
  return OkStatus();
}

// For each row of `indices` the row of `sums` with the same place, -1 where there is none; both are
// in order.
std::vector<int64_t> PlacesIn(const Tensor& indices, const Tensor& sums) {
  const int rank = static_cast<int>(indices.dim(1));
  std::vector<int64_t> rows;
  int64_t next = 0;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const int64_t* row = indices.data<int64_t>() + i * rank;
    const auto sum = [&] { return sums.data<int64_t>() + next * rank; };
    while (next < sums.dim(0) && Compare(sum(), row, rank) < 0) ++next;
    rows.push_back(next < sums.dim(0) && Compare(sum(), row, rank) == 0 ? next : -1);
  }
  return rows;
}

Status SparseAddGrad(Context& ctx) {
  const Tensor &grad = ctx.input(0), &sums = ctx.input(3);
  if (sums.rank() != 2 || grad.rank() != 1 || grad.dim(0) != sums.dim(0)) {
    return InvalidArgument("the gradient must be a vector of as many as sum_indices, got ",
                           grad.shape(), " and ", sums.shape());
  }
  for (int i = 0; i < 2; ++i) {
    const Tensor& indices = ctx.input(1 + i);
    if (indices.rank() != 2 || indices.dim(1) != sums.dim(1)) {
      return InvalidArgument("indices must be matrices of as many columns, got ", indices.shape(),
                             " and ", sums.shape());
    }
    ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, grad, PlacesIn(indices, sums)));
    ctx.set_output(i, std::move(values));
  }
  return OkStatus();
}

// The indices may be int32 too.
Status DenseAdd(Context& ctx) {
  const Tensor& dense = ctx.input(3);
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(2), "a_shape"));
  if (!(shape == dense.shape())) {
    return InvalidArgument("Dimensions of a and b do not match: ", shape, " and ", dense.shape());
  }
  const Tensor &indices = ctx.input(0), &values = ctx.input(1);
  if (indices.rank() != 2 || indices.dim(1) != shape.rank() || values.rank() != 1 ||
      values.dim(0) != indices.dim(0)) {
    return InvalidArgument("a_indices must be a matrix of ", shape.rank(),
                           " columns and a_values as long, got ", indices.shape(), " and ",
                           values.shape());
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    int64_t flat = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t at = IntAt(indices, i * shape.rank() + d);
      if (at < 0 || at >= shape.dim(d)) {
        return InvalidArgument("Sparse tensor has index out of bounds: ", at, " in dimension ", d,
                               " of ", shape);
      }
      flat = flat * shape.dim(d) + at;
    }
    places.push_back(flat);
  }
  ASSIGN_OR_RETURN(Tensor sum, dense.Clone(ctx.allocator()));
  RETURN_IF_ERROR(compute::CombineRows(ctx.work(), sum.dtype(), compute::Combine::kAdd,
                                       {.count = indices.dim(0)}, places.data(), values.raw_data(),
                                       sum.mutable_raw_data()));
  ctx.set_output(0, std::move(sum));
  return OkStatus();
}

// What is missing is zero.
Status ExtremeOf(Context& ctx, bool larger) {
  ASSIGN_OR_RETURN(const SparseInput a, SparseInput::Ranked(ctx, 0, 1, 2));
  ASSIGN_OR_RETURN(const SparseInput b, SparseInput::Ranked(ctx, 3, 4, 5));
  RETURN_IF_ERROR(CheckSameShape(a, b));
  const std::vector<Pair> pairs = Union(a, b);
  ctx.set_output(0, PlacesOf(pairs, a, b));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(1, a.values().dtype(),
                                                    Shape{static_cast<int64_t>(pairs.size())}));
  return compute::WithType<RealTypes>(a.values().dtype(), "an extreme", [&]<class T>() {
    T* to = out->mutable_data<T>();
    for (const Pair& pair : pairs) {
      const T x = pair.a >= 0 ? a.values().data<T>()[pair.a] : T(0);
      const T y = pair.b >= 0 ? b.values().data<T>()[pair.b] : T(0);
      *to++ = (larger ? ValueOf(x) < ValueOf(y) : ValueOf(y) < ValueOf(x)) ? y : x;
    }
    return OkStatus();
  });
}

template <bool kLarger>
Status Extreme(Context& ctx) {
  return ExtremeOf(ctx, kLarger);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_add, cpu) {
  registry.AddFunction<SparseAdd>("SparseAdd", kCpu);
  registry.AddFunction<SparseAddGrad>("SparseAddGrad", kCpu);
  registry.AddFunction<DenseAdd>("SparseTensorDenseAdd", kCpu);
  registry.AddFunction<Extreme<true>>("SparseSparseMaximum", kCpu);
  registry.AddFunction<Extreme<false>>("SparseSparseMinimum", kCpu);
}
