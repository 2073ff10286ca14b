// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status Tile(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape input = x.shape();
  if (ctx.input(1).rank() != 1) {
    return InvalidArgument("Expected multiples to be 1-D, but got shape ", ctx.input(1).shape());
  }
  ASSIGN_OR_RETURN(const Dims multiples, IntVector(ctx.input(1), "multiples"));
  if (multiples.size() != input.rank()) {
    return InvalidArgument("Expected multiples argument to be a vector of length ", input.rank(),
                           " but got length ", multiples.size());
  }
  Dims dims(multiples);
  for (int i = 0; i < input.rank(); ++i) {
    if (multiples[i] < 0) {
      return InvalidArgument("Expected multiples[", i, "] >= 0, but got ", multiples[i]);
    }
    if (__builtin_mul_overflow(multiples[i], input.dim(i), &dims[i])) {
      return InvalidArgument("dimension ", i, ": ", input.dim(i), " times ", multiples[i],
                             " does not fit into 64 bits");
    }
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (shape == input) {
    ctx.set_output(0, x);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  if (out->num_elements() == 0) return OkStatus();
  RETURN_IF_ERROR(ClaimCopies(ctx, *out, x, out->num_elements() / x.num_elements()));
  // Each dimension becomes two: the repetition, which does not move in x, and the dimension itself.
  const Dims from = compute::ContiguousStrides(input.dims());
  const Dims to = compute::ContiguousStrides(dims);
  Dims pairs, from_strides, to_strides;
  for (int i = 0; i < input.rank(); ++i) {
    pairs.push_back(multiples[i]);
    from_strides.push_back(0);
    to_strides.push_back(to[i] * input.dim(i));
    pairs.push_back(input.dim(i));
    from_strides.push_back(from[i]);
    to_strides.push_back(to[i]);
  }
  return compute::CopyStrided(ctx.work(), x.dtype(), pairs, {x.raw_data(), from_strides},
                              {out->mutable_raw_data(), to_strides});
}

// The input seen as [multiple, dim, multiple, dim ...], summed over the multiples.
Status TileGrad(Context& ctx) {
  const Tensor& dy = ctx.input(0);
  const Shape outer = dy.shape();
  ASSIGN_OR_RETURN(const Dims multiples, IntVector(ctx.input(1), "multiples"));
  if (multiples.size() != outer.rank()) {
    return InvalidArgument("Expected multiples argument to be a vector of length ", outer.rank(),
                           " but got length ", multiples.size());
  }
  Dims dims, pairs, axes;
  for (int i = 0; i < outer.rank(); ++i) {
    if (multiples[i] < 1 || outer.dim(i) % multiples[i] != 0) {
      return InvalidArgument("dimension ", i, " of size ", outer.dim(i), " is no multiple of ",
                             "multiples[", i, "] = ", multiples[i]);
    }
    dims.push_back(outer.dim(i) / multiples[i]);
    axes.push_back(pairs.size());
    pairs.push_back(multiples[i]);
    pairs.push_back(dims[i]);
  }
  ASSIGN_OR_RETURN(const compute::Reduction reduction, compute::Reduction::Make(pairs, axes));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dy.dtype(), Shape(dims)));
  return compute::Reduce(ctx.work(), compute::ReduceOp::kSum, dy.dtype(), reduction, dy.raw_data(),
                         out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tile, cpu) {
  registry.AddFunction<Tile>("Tile", kCpu);
  ForEachType<NumberTypes>([&]<class T>() {
    registry.AddFunction<TileGrad>("TileGrad", kCpu, {{"T", kDTypeOf<T>}});
  });
}
