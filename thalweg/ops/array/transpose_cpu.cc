// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Result<Dims> CheckedPermutation(const Tensor& perm, int rank) {
  if (perm.rank() != 1) return InvalidArgument("perm must be a vector, not ", perm.shape());
  ASSIGN_OR_RETURN(Dims order, IntVector(perm, "perm"));
  if (order.size() != rank) {
    return InvalidArgument("transpose expects a vector of size ", rank,
                           ". But input(1) is a vector of size ", order.size());
  }
  const Dims given = order;
  bool seen[kMaxRank] = {};
  for (int64_t& dim : std::span(order.data(), static_cast<size_t>(rank))) {
    const std::optional<int> axis = AxisFromFront(dim, rank);
    if (!axis.has_value()) return InvalidArgument(dim, " is out of range [0 .. ", rank, ")");
    seen[*axis] = true;
    dim = *axis;
  }
  for (int d = 0; d < rank; ++d) {
    if (seen[d]) continue;
    std::string all;
    for (const int64_t dim : given) all += StrCat(all.empty() ? "" : ",", dim);
    return InvalidArgument(d, " is missing from {", all, "}.");
  }
  return order;
}

// True when the dimensions that have more than one element stay in order: no element moves.
bool KeepsOrder(const Shape& shape, const Dims& order) {
  int64_t last = -1;
  for (int64_t dim : order) {
    if (shape.dim(static_cast<int>(dim)) == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

Status Transpose(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape input = x.shape();
  ASSIGN_OR_RETURN(const Dims order, CheckedPermutation(ctx.input(1), input.rank()));
  Dims dims(order);
  Dims strides(order);
  const Dims input_strides = compute::ContiguousStrides(input.dims());
  for (int i = 0; i < order.size(); ++i) {
    dims[i] = input.dim(static_cast<int>(order[i]));
    strides[i] = input_strides[static_cast<int>(order[i])];
  }
  const Shape shape{Dims(dims)};
  if (KeepsOrder(input, order)) {
    ASSIGN_OR_RETURN(Tensor same, x.Reshaped(shape));
    ctx.set_output(0, std::move(same));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  return compute::CopyStrided(ctx.work(), x.dtype(), dims, {x.raw_data(), strides},
                              {out->mutable_raw_data(), compute::ContiguousStrides(dims)});
}

template <class T>
Status ConjugateTranspose(Context& ctx) {
  RETURN_IF_ERROR(Transpose(ctx));
  Tensor& out = ctx.output(0);
  if (!out.IsSoleOwner()) {  // the input's own buffer
    ASSIGN_OR_RETURN(out, out.Clone(ctx.allocator()));
  }
  T* values = out.mutable_data<T>();
  return compute::ForBlocks(ctx.work(), out.num_elements(), 32 * 1024,
                            [&](int64_t begin, int64_t end) {
                              for (int64_t i = begin; i < end; ++i)
                                values[i] = std::conj(values[i]);
                            });
}

template <class T>
Status InvertPermutation(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() != 1)
    return InvalidArgument("invert_permutation expects a 1D vector, got ", x.shape());
  const int64_t n = x.num_elements();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  T* inverse = out->mutable_data<T>();
  std::fill_n(inverse, n, T{-1});
  const T* order = x.data<T>();
  for (int64_t i = 0; i < n; ++i) {
    if (order[i] < 0 || order[i] >= n) {
      return InvalidArgument(order[i], " is not between 0 and ", n);
    }
    if (inverse[order[i]] != -1) return InvalidArgument(order[i], " is duplicated in the input.");
    inverse[order[i]] = static_cast<T>(i);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(transpose, cpu) {
  registry.AddFunction<Transpose>("Transpose", kCpu);
  // Where nothing is complex, the conjugate is the same.
  ForEachType<decltype(JoinTypes(
      RealTypes{}, Types<bool, std::string, ResourceHandle, Variant>{}))>([&]<class T>() {
    registry.AddFunction<Transpose>("ConjugateTranspose", kCpu, {{"T", kDTypeOf<T>}});
  });
  for (DType dtype : {DType::kFloat8E5m2, DType::kFloat8E4m3fn}) {
    registry.AddFunction<Transpose>("ConjugateTranspose", kCpu, {{"T", dtype}});
  }
  ForEachType<ComplexTypes>([&]<class T>() {
    registry.AddFunction<ConjugateTranspose<T>>("ConjugateTranspose", kCpu, {{"T", kDTypeOf<T>}});
  });
  registry.AddFunction<InvertPermutation<int32_t>>("InvertPermutation", kCpu,
                                                   {{"T", DType::kInt32}});
  registry.AddFunction<InvertPermutation<int64_t>>("InvertPermutation", kCpu,
                                                   {{"T", DType::kInt64}});
}
