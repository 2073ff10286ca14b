// SPDX-License-Identifier: Apache-2.0
// BatchFunction, and what stands for it in a step (passes/lower_batch.cc): _GatherBatch makes one
// batch of the calls of several steps, of which one leads; the leader's step runs the function and
// gives the results to _ScatterBatch, those of the others wait in _AwaitBatch.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/queue/other_rows.h"

namespace thalweg {
namespace {

Status GatherShape(ShapeContext& c) {
  const int n = c.num_inputs();
  for (int i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const PartialShape task, c.InputWithRankAtLeast(i, 1));
    c.set_output(i, OtherRows(task));
  }
  c.set_output(n, Shape());
  c.set_output(n + 1, Shape());
  return OkStatus();
}

Status ScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, OtherRows(c.input(i + 1)));
  return OkStatus();
}

void DefineBatchOps(OpRegistry& registry) {
  using Kind = AttrValue::Kind;
  OpDef gather;
  gather.name = "_GatherBatch";
  gather.inputs.push_back({.name = "in_tensors", .type_list_attr = "Tin"});
  gather.outputs = {{.name = "batch", .type_list_attr = "Tin"},
                    {.name = "share", .type = DType::kVariant},
                    {.name = "leads", .type = DType::kBool}};
  gather.attrs = {{.name = "Tin", .kind = Kind::kTypeList},
                  {.name = "max_batch_size", .kind = Kind::kInt},
                  {.name = "batch_timeout_micros", .kind = Kind::kInt},
                  {.name = "allowed_batch_sizes", .kind = Kind::kIntList},
                  {.name = "enable_large_batch_splitting", .kind = Kind::kBool},
                  {.name = "container", .kind = Kind::kString},
                  {.name = "shared_name", .kind = Kind::kString}};
  OpDef scatter;
  scatter.name = "_ScatterBatch";
  scatter.inputs = {{.name = "share", .type = DType::kVariant},
                    {.name = "results", .type_list_attr = "Tout"}};
  scatter.outputs.push_back({.name = "own", .type_list_attr = "Tout"});
  scatter.attrs = {{.name = "Tout", .kind = Kind::kTypeList}};
  OpDef await;
  await.name = "_AwaitBatch";
  await.inputs.push_back({.name = "share", .type = DType::kVariant});
  await.outputs.push_back({.name = "own", .type_list_attr = "Tout"});
  await.attrs = {{.name = "Tout", .kind = Kind::kTypeList}};
  for (OpDef* def : {&gather, &scatter, &await}) {
    def->is_stateful = true;
    CHECK(registry.Define(std::move(*def), nullptr, nullptr).ok());
  }
}

constexpr const char* kWhyBatch = "its rows come from other steps";

}  // namespace
}  // namespace thalweg

THALWEG_OP(batch_function) {
  DefineBatchOps(registry);
  registry.Op("BatchFunction")
      .Shape(UnknownShape)
      .NotDifferentiable(kWhyBatch)
      .Doc("Calls the function f once for the rows of concurrent steps; each gets its own back.");
  registry.Op("_GatherBatch")
      .Shape(GatherShape)
      .NotDifferentiable(kWhyBatch)
      .Doc("One batch of the rows of concurrent steps, for the one that leads.");
  registry.Op("_ScatterBatch")
      .Shape(ScatterShape)
      .NotDifferentiable(kWhyBatch)
      .Doc("Gives each step of a batch its rows of the results.");
  registry.Op("_AwaitBatch")
      .Shape(UnknownShape)
      .NotDifferentiable(kWhyBatch)
      .Doc("The rows of the results that another step of the batch computes.");
}
