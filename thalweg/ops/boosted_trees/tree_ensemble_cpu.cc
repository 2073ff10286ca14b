// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/boosted_trees/tree_inputs.h"
#include "thalweg/resources/tree_ensemble.h"

namespace thalweg {
namespace {

// Replaces the ensemble by what inputs 1 and 2 say: stamp and message.
Status FillEnsemble(Context& ctx, TreeEnsembleResource& trees) {
  ASSIGN_OR_RETURN(const int64_t stamp, ScalarInput<int64_t>(ctx, 1, "stamp_token"));
  if (ctx.input(2).num_elements() != 1) {
    return InvalidArgument("tree_ensemble_serialized must be a scalar, got shape ",
                           ctx.input(2).shape());
  }
  HeapCharge parsing;
  ASSIGN_OR_RETURN(TreeEnsemble ensemble,
                   ParseTreeEnsemble(ctx.allocator(), parsing, *ctx.input(2).data<std::string>()));
  const size_t bytes = parsing.bytes();
  parsing.Clear();
  return trees.Change([&](TreeEnsembleResource::State& state) -> Status {
    RETURN_IF_ERROR(state.charge.Set(ctx.allocator(), bytes));
    state.ensemble = std::move(ensemble);
    state.stamp = stamp;
    return OkStatus();
  });
}

Status CreateEnsemble(Context& ctx) {
  auto trees =
      RefPtr<TreeEnsembleResource>::Adopt(std::make_unique<TreeEnsembleResource>().release());
  RETURN_IF_ERROR(FillEnsemble(ctx, *trees));
  return KeepResource(ctx, std::move(trees));
}

Status DeserializeEnsemble(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees, ctx.Resource<TreeEnsembleResource>(0));
  return FillEnsemble(ctx, *trees);
}

Status SerializeEnsemble(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees, ctx.Resource<TreeEnsembleResource>(0));
  return trees->Read([&](const TreeEnsembleResource::State& state) -> Status {
    // The message is smaller than what the ensemble holds, and is put together from its parts.
    HeapCharge charge;
    RETURN_IF_ERROR(charge.Set(ctx.allocator(), 2 * state.charge.bytes()));
    ctx.set_output(0, Tensor::Scalar(state.stamp));
    ctx.set_output(1, Tensor::Scalar(SerializeTreeEnsemble(state.ensemble)));
    return OkStatus();
  });
}

Status EnsembleStates(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees, ctx.Resource<TreeEnsembleResource>(0));
  return trees->Read([&](const TreeEnsembleResource::State& state) -> Status {
    const TreeEnsemble& e = state.ensemble;
    const auto finalized = std::count_if(e.metadata.begin(), e.metadata.end(),
                                         [](const TreeMetadata& m) { return m.is_finalized; });
    ctx.set_output(0, Tensor::Scalar(state.stamp));
    ctx.set_output(1, Tensor::Scalar(int32_t{e.num_trees()}));
    ctx.set_output(2, Tensor::Scalar(static_cast<int32_t>(finalized)));
    ctx.set_output(3, Tensor::Scalar(static_cast<int32_t>(e.layers_attempted)));
    // Of an ensemble that has not grown, the root.
    const int32_t end = std::max(e.last_layer_end, 1);
    const std::vector<int32_t> range = {e.last_layer_start, end};
    ctx.set_output(4, Tensor::Of<int32_t>(range, Shape{2}));
    return OkStatus();
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tree_ensemble, cpu) {
  registry.Add<NamedHandleCpu<TreeEnsembleResource>>("BoostedTreesEnsembleResourceHandleOp", kCpu)
      .Cost(KernelCost::kCheap);
  registry.AddFunction<CreateEnsemble>("BoostedTreesCreateEnsemble", kCpu);
  registry.AddFunction<DeserializeEnsemble>("BoostedTreesDeserializeEnsemble", kCpu);
  registry.AddFunction<SerializeEnsemble>("BoostedTreesSerializeEnsemble", kCpu);
  registry.AddFunction<EnsembleStates>("BoostedTreesGetEnsembleStates", kCpu);
  registry.AddFunction<IsResourceThere<TreeEnsembleResource>>("IsBoostedTreesEnsembleInitialized",
                                                              kCpu);
}
