// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/shared_rows.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

// The dimension that is split, counted from the front.
Result<int> SplitDim(int64_t given, int rank) {
  const std::optional<int> axis = AxisFromFront(given, rank);
  if (axis.has_value()) return *axis;
  return InvalidArgument("-input rank(-", rank, ") <= split_dim < input rank (", rank,
                         "), but got ", given);
}

// Output i = the next sizes[i] elements along `axis`.
Status Cut(Context& ctx, const Tensor& value, int axis, const std::vector<int64_t>& sizes) {
  const Shape whole = value.shape();
  int64_t outer = 1;
  int64_t below = 1;
  for (int i = 0; i < axis; ++i) outer *= whole.dim(i);
  for (int i = axis + 1; i < whole.rank(); ++i) below *= whole.dim(i);
  const int64_t row = whole.dim(axis) * below;
  int64_t begin = 0;
  Shape part = whole;
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    if (part.dim(axis) != size) {
      Dims dims = whole.dims();
      dims[axis] = size;
      part = Shape(std::move(dims));
    }
    Tensor shared;
    if (axis == 0) {
      ASSIGN_OR_RETURN(shared, ShareRows(value, begin, begin + size, part));
    }
    if (!shared.empty()) {
      ctx.set_output(i, std::move(shared));
    } else {
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, value.dtype(), part));
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), value.dtype(), Dims{outer, size * below},
                                           {value.raw_data(), {row, 1}, begin * below},
                                           {out->mutable_raw_data(), {size * below, 1}}));
    }
    begin += size;
  }
  return OkStatus();
}

Status Split(Context& ctx) {
  const Tensor& value = ctx.input(1);
  const int64_t parts = ctx.num_outputs();
  ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(0), "split_dim"));
  ASSIGN_OR_RETURN(const int axis, SplitDim(given, value.rank()));
  const int64_t size = value.dim(axis);
  if (parts <= 0 || size % parts != 0) {
    return InvalidArgument("Number of ways to split should evenly divide the split dimension, ",
                           "but got split_dim ", axis, " (size = ", size, ") and num_split ",
                           parts);
  }
  return Cut(ctx, value, axis, std::vector<int64_t>(static_cast<size_t>(parts), size / parts));
}

Status SplitV(Context& ctx) {
  const Tensor& value = ctx.input(0);
  const Tensor& split = ctx.input(1);
  ASSIGN_OR_RETURN(const int64_t given, LegacyIntScalar(ctx.input(2), "split_dim"));
  ASSIGN_OR_RETURN(const int axis, SplitDim(given, value.rank()));
  if (split.rank() != 1 || split.num_elements() != ctx.num_outputs()) {
    return InvalidArgument(
        "size of the split_tensor must be 1-D and have the same elements as "
        "outputs got ",
        split.rank(), " -D and ", split.num_elements(), " elements, for ", ctx.num_outputs(),
        " outputs");
  }
  const int64_t whole = value.dim(axis);
  std::vector<int64_t> sizes;
  int64_t open = -1;
  int64_t sum = 0;
  for (int64_t i = 0; i < split.num_elements(); ++i) {
    const int64_t size = IntAt(split, i);
    if (size == -1 && open < 0) {
      open = i;
      sizes.push_back(0);
      continue;
    }
    if (size < 0 || size > whole - sum) {
      return InvalidArgument("size_splits[", i, "] = ", size, " does not fit: dimension ", axis,
                             " has ", whole, " elements, ", sum, " are taken",
                             size == -1 ? ", and only one size may be -1" : "");
    }
    sum += size;
    sizes.push_back(size);
  }
  if (open >= 0) {
    sizes[static_cast<size_t>(open)] = whole - sum;
  } else if (sum != whole) {
    return InvalidArgument(
        "Determined shape must either match input shape along split_dim exactly if fully "
        "specified, or be less than the size of the input along split_dim if not fully specified.  "
        "Got: ",
        sum, " (dimension ", axis, " has ", whole, ")");
  }
  return Cut(ctx, value, axis, sizes);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(split, cpu) {
  registry.AddFunction<Split>("Split", kCpu);
  registry.AddFunction<SplitV>("SplitV", kCpu);
}
