// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/counting.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

Result<DatasetPtr> MakeTake(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t count, IntArgument(ctx, 1, "count"));
  return TakeDataset(std::move(input), count);
}

Result<DatasetPtr> MakeSkip(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t count, IntArgument(ctx, 1, "count"));
  return SkipDataset(std::move(input), count);
}

Result<DatasetPtr> MakeRepeat(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t count, IntArgument(ctx, 1, "count"));
  return RepeatDataset(std::move(input), count);
}

Result<DatasetPtr> MakeShard(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t shards, IntArgument(ctx, 1, "num_shards"));
  ASSIGN_OR_RETURN(const int64_t index, IntArgument(ctx, 2, "index"));
  return ShardDataset(std::move(input), shards, index);
}

Result<DatasetPtr> MakeConcatenate(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr first, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(DatasetPtr second, DatasetOf(ctx.input(1)));
  if (first->spec().types != second->spec().types) {
    return InvalidArgument("input dataset and another dataset have different types");
  }
  return ConcatenateDataset(std::move(first), std::move(second), attrs.spec);
}

Result<DatasetPtr> MakeZip(Context& ctx, const DatasetAttrs& attrs) {
  std::vector<DatasetPtr> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(i)));
    inputs.push_back(std::move(input));
  }
  return ZipDataset(std::move(inputs), attrs.spec);
}

Result<DatasetPtr> MakeAssertCardinality(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t cardinality, IntArgument(ctx, 1, "cardinality"));
  return AssertCardinalityDataset(std::move(input), cardinality);
}

Result<DatasetPtr> MakeIgnoreErrors(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  return IgnoreErrorsDataset(std::move(input));
}

Result<DatasetPtr> MakeUnbatch(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  return UnbatchDataset(std::move(input), attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_counting, cpu) {
  AddDataset<MakeTake>(registry, "TakeDataset");
  AddDataset<MakeSkip>(registry, "SkipDataset");
  AddDataset<MakeRepeat>(registry, "RepeatDataset");
  AddDataset<MakeShard>(registry, "ShardDataset");
  AddDataset<MakeConcatenate>(registry, "ConcatenateDataset");
  AddDataset<MakeZip>(registry, "ZipDataset");
  AddDataset<MakeAssertCardinality>(registry, "AssertCardinalityDataset");
  AddDataset<MakeIgnoreErrors>(registry, "IgnoreErrorsDataset");
  AddDataset<MakeIgnoreErrors>(registry, "ExperimentalIgnoreErrorsDataset");
  AddDataset<MakeUnbatch>(registry, "UnbatchDataset");
  AddDataset<MakeUnbatch>(registry, "ExperimentalUnbatchDataset");
}
