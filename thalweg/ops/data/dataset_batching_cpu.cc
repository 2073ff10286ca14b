// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/batching.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Result<DatasetPtr> MakeBatchOf(Context& ctx, const DatasetAttrs& attrs, bool drop_remainder) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t size, IntArgument(ctx, 1, "batch_size"));
  return BatchDataset(std::move(input), size, {.drop_remainder = drop_remainder}, attrs.spec);
}

Result<DatasetPtr> MakeBatch(Context& ctx, const DatasetAttrs& attrs) {
  return MakeBatchOf(ctx, attrs, false);
}

Result<DatasetPtr> MakeBatchV2(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const bool drop, BoolArgument(ctx, 2, "drop_remainder"));
  return MakeBatchOf(ctx, attrs, drop);
}

// Elements are there already: nothing is gained by copying them on several threads.
Result<DatasetPtr> MakeParallelBatch(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const bool drop, BoolArgument(ctx, 3, "drop_remainder"));
  return MakeBatchOf(ctx, attrs, drop);
}

Result<DatasetPtr> MakePaddedOf(Context& ctx, const DatasetAttrs& attrs, bool drop_remainder) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t size, IntArgument(ctx, 1, "batch_size"));
  const size_t n = attrs.spec.types.size();
  std::vector<PartialShape> shapes;
  Element values;
  for (size_t i = 0; i < n; ++i) {
    const Tensor& given = ctx.input(2 + static_cast<int>(i));
    if (given.rank() != 1) return InvalidArgument("All padded shapes must be vectors");
    std::vector<int64_t> dims;
    for (const int64_t dim : given.flat<int64_t>()) dims.push_back(std::max<int64_t>(dim, -1));
    ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
    shapes.push_back(std::move(shape));
  }
  for (size_t i = 0; i < n; ++i) values.push_back(ctx.input(static_cast<int>(2 + n + i)));
  return PaddedBatchDataset(std::move(input), size, {.drop_remainder = drop_remainder},
                            std::move(shapes), std::move(values), attrs.spec);
}

Result<DatasetPtr> MakePadded(Context& ctx, const DatasetAttrs& attrs) {
  return MakePaddedOf(ctx, attrs, false);
}

Result<DatasetPtr> MakePaddedV2(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const bool drop, BoolArgument(ctx, ctx.num_inputs() - 1, "drop_remainder"));
  return MakePaddedOf(ctx, attrs, drop);
}

Result<DatasetPtr> MakeSparseBatch(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t size, IntArgument(ctx, 1, "batch_size"));
  if (ctx.input(2).rank() != 1) return InvalidArgument("row_shape must be a vector");
  std::vector<int64_t> dims;
  for (const int64_t dim : ctx.input(2).flat<int64_t>()) dims.push_back(dim);
  ASSIGN_OR_RETURN(PartialShape row, PartialShape::Make(dims));
  return SparseBatchDataset(std::move(input), size, std::move(row), attrs.spec);
}

Result<DatasetPtr> MakeRebatch(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  const Tensor& given = ctx.input(1);
  if (given.rank() > 1) {
    return InvalidArgument("batch_sizes must be a scalar or a vector, got ", given.shape());
  }
  std::vector<int64_t> sizes;
  for (const int64_t size : given.flat<int64_t>()) sizes.push_back(size);
  ASSIGN_OR_RETURN(const bool drop, BoolArgument(ctx, 2, "drop_remainder"));
  return RebatchDataset(std::move(input), std::move(sizes), {.drop_remainder = drop}, attrs.spec);
}

Result<DatasetPtr> MakeWindow(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t size, IntArgument(ctx, 1, "size"));
  ASSIGN_OR_RETURN(const int64_t shift, IntArgument(ctx, 2, "shift"));
  ASSIGN_OR_RETURN(const int64_t stride, IntArgument(ctx, 3, "stride"));
  ASSIGN_OR_RETURN(const bool drop, BoolArgument(ctx, 4, "drop_remainder"));
  return WindowDataset(std::move(input), size, shift, stride, drop, attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_batching, cpu) {
  AddDataset<MakeBatch>(registry, "BatchDataset");
  AddDataset<MakeBatchV2>(registry, "BatchDatasetV2");
  AddDataset<MakeParallelBatch>(registry, "ParallelBatchDataset");
  AddDataset<MakePadded>(registry, "PaddedBatchDataset");
  AddDataset<MakePaddedV2>(registry, "PaddedBatchDatasetV2");
  AddDataset<MakeSparseBatch>(registry, "DenseToSparseBatchDataset");
  AddDataset<MakeSparseBatch>(registry, "ExperimentalDenseToSparseBatchDataset");
  AddDataset<MakeRebatch>(registry, "RebatchDatasetV2");
  AddDataset<MakeWindow>(registry, "WindowDataset");
}
