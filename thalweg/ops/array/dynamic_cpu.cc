// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/move/element.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The dimensions of `data` behind those of `indices`; InvalidArgument when the first ones differ.
Result<Dims> RowDims(const Tensor& indices, const Tensor& data, const char* what,
                     std::string_view place = "") {
  const Shape index_shape = indices.shape(), data_shape = data.shape();
  bool agrees = data_shape.rank() >= index_shape.rank();
  for (int d = 0; agrees && d < index_shape.rank(); ++d)
    agrees = index_shape.dim(d) == data_shape.dim(d);
  if (!agrees) {
    if (!place.empty()) {
      return InvalidArgument("data", place, ".shape = ", data_shape, " does not start with ", what,
                             place, ".shape = ", index_shape);
    }
    return InvalidArgument("data.shape must start with ", what,
                           ".shape, got data.shape = ", data_shape, ", ", what,
                           ".shape = ", index_shape);
  }
  Dims dims;
  for (int d = index_shape.rank(); d < data_shape.rank(); ++d) dims.push_back(data_shape.dim(d));
  return dims;
}

// Row `from` of `source` to row `to` of `target`.
Status CopyRow(const Tensor& source, int64_t from, Tensor& target, int64_t to, int64_t row) {
  return compute::WithElement(source.dtype(), [&]<class E>() {
    std::copy_n(static_cast<const E*>(source.raw_data()) + from * row, row,
                static_cast<E*>(target.mutable_raw_data()) + to * row);
    return OkStatus();
  });
}

Status Stitch(Context& ctx) {
  const int n = ctx.num_inputs() / 2;
  if (n == 0) return InvalidArgument("nothing to stitch");
  int64_t size = 0;
  Dims row;
  compute::CancelLooks looks(ctx.work());
  for (int i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const Dims dims,
                     RowDims(ctx.input(i), ctx.input(n + i), "indices", StrCat("[", i, "]")));
    if (i > 0 && !(dims == row)) {
      return InvalidArgument("the rows of value ", i, " have shape ", Shape(dims),
                             ", those of value 0 ", Shape(row));
    }
    row = dims;
    for (int32_t index : ctx.input(i).flat<int32_t>()) {
      RETURN_IF_ERROR(looks.Did());
      if (index < 0)
        return InvalidArgument("indices must not be negative, indices ", i, " hold ", index);
      size = std::max<int64_t>(size, int64_t{index} + 1);
    }
  }
  if (size > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("indices name ", size, " rows, more than a 32-bit number holds");
  }
  Dims dims = row;
  dims.insert(0, size);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(n).dtype(), shape));
  const int64_t row_size = Shape(row).num_elements();
  if (IsPlain(out->dtype()) && out->bytes() > 0)
    std::memset(out->mutable_raw_data(), 0, out->bytes());
  for (int i = 0; i < n; ++i) {
    const auto indices = ctx.input(i).flat<int32_t>();
    for (size_t k = 0; k < indices.size(); ++k) {
      RETURN_IF_ERROR(looks.Did(1 + row_size));
      RETURN_IF_ERROR(
          CopyRow(ctx.input(n + i), static_cast<int64_t>(k), *out, indices[k], row_size));
    }
  }
  return OkStatus();
}

Status Partition(Context& ctx) {
  const int n = ctx.num_outputs();
  const Tensor& data = ctx.input(0);
  ASSIGN_OR_RETURN(const Dims row, RowDims(ctx.input(1), data, "partitions"));
  const auto partitions = ctx.input(1).flat<int32_t>();
  std::vector<int64_t> counts(static_cast<size_t>(n));
  compute::CancelLooks looks(ctx.work());
  for (size_t k = 0; k < partitions.size(); ++k) {
    RETURN_IF_ERROR(looks.Did());
    if (partitions[k] < 0 || partitions[k] >= n) {
      return InvalidArgument("partitions[", k, "] = ", partitions[k], " is not in [0, ", n, ")");
    }
    ++counts[static_cast<size_t>(partitions[k])];
  }
  std::vector<Tensor*> outputs;
  for (int i = 0; i < n; ++i) {
    Dims dims = row;
    dims.insert(0, counts[static_cast<size_t>(i)]);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, data.dtype(), Shape(std::move(dims))));
    outputs.push_back(out);
  }
  const int64_t row_size = Shape(row).num_elements();
  std::vector<int64_t> next(static_cast<size_t>(n));
  for (size_t k = 0; k < partitions.size(); ++k) {
    RETURN_IF_ERROR(looks.Did(1 + row_size));
    const auto to = static_cast<size_t>(partitions[k]);
    RETURN_IF_ERROR(CopyRow(data, static_cast<int64_t>(k), *outputs[to], next[to]++, row_size));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dynamic, cpu) {
  registry.AddFunction<Stitch>("DynamicStitch", kCpu);
  registry.AddFunction<Stitch>("ParallelDynamicStitch", kCpu);
  registry.AddFunction<Partition>("DynamicPartition", kCpu);
}
