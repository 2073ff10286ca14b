// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/grouping.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

Result<DatasetPtr> MakeGroupByWindow(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  WindowFunctions functions;
  ASSIGN_OR_RETURN(functions.key, FunctionArgument(ctx, attrs, "key_func", input->spec().types));
  ASSIGN_OR_RETURN(functions.size,
                   FunctionArgument(ctx, attrs, "window_size_func", {DType::kInt64}));
  ASSIGN_OR_RETURN(functions.reduce,
                   FunctionArgument(ctx, attrs, "reduce_func", {DType::kInt64, DType::kVariant}));
  return GroupByWindowDataset(std::move(input), std::move(functions), attrs.spec);
}

Result<DatasetPtr> MakeGroupByReducer(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  const std::vector<DType>& types = input->spec().types;
  ReducerFunctions functions;
  ASSIGN_OR_RETURN(functions.key, FunctionArgument(ctx, attrs, "key_func", types));
  ASSIGN_OR_RETURN(functions.init, FunctionArgument(ctx, attrs, "init_func", {DType::kInt64}));
  const std::vector<DType> state = functions.init->function->result_types();
  std::vector<DType> both = state;
  both.insert(both.end(), types.begin(), types.end());
  ASSIGN_OR_RETURN(functions.reduce, FunctionArgument(ctx, attrs, "reduce_func", std::move(both)));
  ASSIGN_OR_RETURN(functions.finalize, FunctionArgument(ctx, attrs, "finalize_func", state));
  return GroupByReducerDataset(std::move(input), std::move(functions), attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_grouping, cpu) {
  AddDataset<MakeGroupByWindow>(registry, "GroupByWindowDataset");
  AddDataset<MakeGroupByWindow>(registry, "ExperimentalGroupByWindowDataset");
  AddDataset<MakeGroupByReducer>(registry, "GroupByReducerDataset");
  AddDataset<MakeGroupByReducer>(registry, "ExperimentalGroupByReducerDataset");
}
