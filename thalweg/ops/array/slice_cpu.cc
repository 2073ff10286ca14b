// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/shared_rows.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The sizes with -1 filled in, all checked against the input.
Result<Dims> CheckedSizes(const Shape& input, const Dims& begin, const Dims& size) {
  Dims sizes(size);
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t dim = input.dim(i);
    if (dim == 0 && (begin[i] != 0 || (size[i] != 0 && size[i] != -1))) {
      return InvalidArgument("Expected begin[", i, "] == 0 (got ", begin[i], ") and size[", i,
                             "] == 0 (got ", size[i], ") when input.dim_size(", i, ") == 0");
    }
    if (begin[i] < 0 || begin[i] > dim) {
      return InvalidArgument("Expected begin[", i, "] in [0, ", dim, "], but got ", begin[i]);
    }
    if (sizes[i] == -1) sizes[i] = dim - begin[i];
    if (sizes[i] < 0 || sizes[i] > dim - begin[i]) {
      return InvalidArgument("Expected size[", i, "] in [0, ", dim - begin[i], "], but got ",
                             size[i]);
    }
  }
  return sizes;
}

Status Slice(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape input = x.shape();
  const Shape whole{int64_t{input.rank()}};
  if (ctx.input(1).shape() != whole || ctx.input(2).shape() != whole) {
    return InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ",
                           input.rank(), ", but got shapes ", ctx.input(1).shape(), " and ",
                           ctx.input(2).shape(), " instead");
  }
  ASSIGN_OR_RETURN(const Dims begin, IntVector(ctx.input(1), "begin"));
  ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(2), "size"));
  ASSIGN_OR_RETURN(const Dims sizes, CheckedSizes(input, begin, size));
  const Shape shape{Dims(sizes)};
  if (shape == input) {
    ctx.set_output(0, x);
    return OkStatus();
  }
  bool whole_rows = input.rank() > 0;
  for (int i = 1; i < input.rank(); ++i) whole_rows = whole_rows && sizes[i] == input.dim(i);
  if (whole_rows) {
    ASSIGN_OR_RETURN(Tensor shared, ShareRows(x, begin[0], begin[0] + sizes[0], shape));
    if (!shared.empty()) {
      ctx.set_output(0, std::move(shared));
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  if (out->num_elements() == 0) return OkStatus();
  const Dims strides = compute::ContiguousStrides(input.dims());
  int64_t offset = 0;
  for (int i = 0; i < input.rank(); ++i) offset += begin[i] * strides[i];
  return compute::CopyStrided(ctx.work(), x.dtype(), sizes, {x.raw_data(), strides, offset},
                              {out->mutable_raw_data(), compute::ContiguousStrides(sizes)});
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(slice, cpu) { registry.AddFunction<Slice>("Slice", kCpu); }
