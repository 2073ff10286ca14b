// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The dimensions, whose product must fit into the type of the indices.
template <class T>
Result<Dims> CheckedDims(const Tensor& tensor) {
  if (tensor.rank() != 1) {
    return InvalidArgument("The dims can only be 1-D, got ", tensor.shape());
  }
  ASSIGN_OR_RETURN(Dims dims, IntVector(tensor, "dims"));
  T product = 1;
  for (int i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      return InvalidArgument("Input dims cannot be negative. Got dim = ", dims[i], " at index ", i);
    }
    if (dims[i] == 0) {
      return InvalidArgument(
          "Input dims cannot contain a dim of zero, but dims contains zero at index ", i);
    }
    if (__builtin_mul_overflow(product, dims[i], &product)) {
      return InvalidArgument("Input dims product is causing integer overflow: ", Shape(dims));
    }
  }
  return dims;
}

template <class T>
Status UnravelIndex(Context& ctx) {
  const Tensor& indices = ctx.input(0);
  if (indices.rank() > 1) {
    return InvalidArgument("The indices can only be scalar or vector, got ", indices.shape());
  }
  const int64_t n = indices.num_elements();
  if (n == 0) return InvalidArgument("received empty tensor indices: ", indices.shape());
  ASSIGN_OR_RETURN(const Dims dims, CheckedDims<T>(ctx.input(1)));
  int64_t limit = 1;
  for (int64_t size : dims) limit *= size;
  Dims shape{dims.size()};
  if (indices.rank() == 1) shape.push_back(n);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, indices.dtype(), Shape(shape)));
  T* const to = out->mutable_data<T>();
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 0; i < n; ++i) {
    RETURN_IF_ERROR(looks.Did(dims.size() + 1));
    int64_t rest = indices.data<T>()[i];
    if (rest < 0 || rest >= limit) {
      return InvalidArgument("index is out of bound as with dims: ", rest, " is not in [0, ", limit,
                             ")");
    }
    for (int d = dims.size() - 1; d >= 0; --d) {
      to[d * n + i] = static_cast<T>(rest % dims[d]);
      rest /= dims[d];
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(unravel_index, cpu) {
  registry.AddFunction<UnravelIndex<int32_t>>("UnravelIndex", kCpu, {{"Tidx", DType::kInt32}});
  registry.AddFunction<UnravelIndex<int64_t>>("UnravelIndex", kCpu, {{"Tidx", DType::kInt64}});
}
