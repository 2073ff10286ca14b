// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/choosing.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

Result<DatasetPtr> MakeUnique(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  return UniqueDataset(std::move(input));
}

Result<DatasetPtr> MakeSampling(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  if (ctx.input(1).rank() != 0) {
    return InvalidArgument("rate must be a scalar, got ", ctx.input(1).shape());
  }
  ASSIGN_OR_RETURN(const int64_t seed, IntArgument(ctx, 2, "seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, IntArgument(ctx, 3, "seed2"));
  return SamplingDataset(std::move(input), ctx.input(1).scalar<float>(), seed, seed2);
}

Result<DatasetPtr> MakeDirectedInterleave(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr selector, DatasetOf(ctx.input(0)));
  std::vector<DatasetPtr> inputs;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(i)));
    inputs.push_back(std::move(input));
  }
  return DirectedInterleaveDataset(std::move(selector), std::move(inputs),
                                   attrs.Flag("stop_on_empty_dataset", false), attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_choosing, cpu) {
  AddDataset<MakeUnique>(registry, "UniqueDataset");
  AddDataset<MakeUnique>(registry, "ExperimentalUniqueDataset");
  AddDataset<MakeSampling>(registry, "SamplingDataset");
  AddDataset<MakeDirectedInterleave>(registry, "DirectedInterleaveDataset");
  AddDataset<MakeDirectedInterleave>(registry, "ExperimentalDirectedInterleaveDataset");
}
