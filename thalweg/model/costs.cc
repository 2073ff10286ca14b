// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/costs.h"

#include <optional>
#include <utility>
#include <vector>

#include "thalweg/graph/op_costs.h"
#include "thalweg/model/shape_json.h"
#include "thalweg/model/signature_step.h"
#include "thalweg/model/weights.h"
#include "thalweg/passes/step_frames.h"

namespace thalweg {
namespace {

struct CostRow {
  uint64_t count = 0;
  double flops = 0;
  double bytes = 0;
  uint64_t unknown = 0;  // nodes whose operations are not counted
};

struct Costs {
  std::map<std::string, CostRow> rows;
  CostRow all;
  double loop_flops = 0;
  double constant_bytes = 0;
};

Result<Costs> CountCosts(const StepGraph& step) {
  ASSIGN_OR_RETURN(const StepFrames frames, StepFrames::Find(step));
  Costs costs;
  for (const Node* node : step.graph->Nodes()) {
    const NodeCost cost = CostOf(*node);
    if (node->op_name() == "Const") costs.constant_bytes += cost.bytes.value_or(0);
    CostRow& row = costs.rows[node->op_name()];
    for (CostRow* one : {&row, &costs.all}) {
      ++one->count;
      one->flops += cost.flops.value_or(0);
      one->bytes += cost.bytes.value_or(0);
      one->unknown += cost.flops.has_value() ? 0 : 1;
    }
    if (frames.Of(*node) != StepFrames::kRoot) costs.loop_flops += cost.flops.value_or(0);
  }
  return costs;
}

// The bytes of the variables that the step reads; a graph may claim more than an int64 counts.
double ParameterBytes(const StepGraph& step) {
  double bytes = 0;
  for (const Node* node : step.graph->Nodes()) {
    if (!IsVariable(*node)) continue;
    const Result<PartialShape> shape = node->Attr<PartialShape>("shape");
    const Result<DType> dtype = node->Attr<DType>("dtype");
    if (!shape.ok() || !dtype.ok() || !shape->IsFullyDefined()) continue;
    bytes += static_cast<double>(shape->num_elements()) * static_cast<double>(DTypeStride(*dtype));
  }
  return bytes;
}

// The peak of the session's plan, which knows what is freed when; none where a shape is unknown.
Result<std::optional<StepMemory>> PlannedPeak(const Model& model, const ModelSignature& signature,
                                              const InputShapes& shapes) {
  Signature request;
  std::vector<Tensor> feeds;
  for (const ModelTensor& input : signature.inputs) {
    const PartialShape& shape = shapes.at(input.name);
    if (!shape.IsFullyDefined()) return std::optional<StepMemory>();
    // Only its shape is looked at.
    ASSIGN_OR_RETURN(Tensor feed, Tensor::AllocateHost(input.dtype, shape.ToShape()));
    request.feeds.push_back(input.output);
    feeds.push_back(std::move(feed));
  }
  for (const ModelTensor& output : signature.outputs) request.fetches.push_back(output.output);
  ASSIGN_OR_RETURN(StepMemory memory, model.session()->PlanMemory(request, feeds));
  return std::optional<StepMemory>(std::move(memory));
}

void AppendCostRow(JsonWriter& json, const CostRow& row) {
  json.Key("count").Number(row.count).Key("flops").Number(row.flops);
  json.Key("bytes").Number(row.bytes).Key("not_counted").Number(row.unknown);
}

Result<std::string> DescribeOrFail(const Model& model, size_t place, const CostOptions& options) {
  const ModelSignature& signature = model.signatures()[place];
  RETURN_IF_ERROR(signature.usable);
  ASSIGN_OR_RETURN(const InputShapes shapes, ShapesOfInputs(signature, options));
  WorkBudget work;
  ASSIGN_OR_RETURN(const SignatureStep part, StepOfSignature(model, place, work, shapes));
  ASSIGN_OR_RETURN(const Costs costs, CountCosts(part.step));
  ASSIGN_OR_RETURN(const std::optional<StepMemory> memory, PlannedPeak(model, signature, shapes));
  JsonWriter json;
  json.BeginObject().Key("signature").Text(signature.name).Key("inputs").BeginObject();
  for (const auto& [name, shape] : shapes) {
    json.Key(name);
    AppendShape(json, shape);
  }
  json.EndObject().Key("operations").BeginList();
  for (const auto& [op, row] : costs.rows) {
    json.BeginObject().Key("name").Text(op).Key("known").Bool(HasCost(op));
    AppendCostRow(json, row);
    json.EndObject();
  }
  json.EndList();
  AppendCostRow(json, costs.all);
  json.Key("loop_flops").Number(costs.loop_flops);
  json.Key("parameter_bytes").Number(ParameterBytes(part.step));
  json.Key("constant_bytes").Number(costs.constant_bytes);
  json.Key("peak_bytes");
  if (memory.has_value()) {
    json.Number(memory->peak_bytes).Key("peak_node").Text(memory->peak_node);
    json.Key("unknown_values").Number(memory->unknown_values);
  } else {
    json.Null();
  }
  json.EndObject();
  return json.Take();
}

}  // namespace

Result<InputShapes> ShapesOfInputs(const ModelSignature& signature, const CostOptions& options) {
  InputShapes shapes;
  for (const ModelTensor& input : signature.inputs) {
    PartialShape shape = input.shape;
    const auto given = options.shapes.find(input.name);
    if (given != options.shapes.end()) {
      Result<PartialShape> both = shape.MergeWith(given->second);
      if (!both.ok()) {
        return InvalidArgument("input ", input, " cannot have the shape ", given->second);
      }
      shape = *std::move(both);
    }
    if (shape.known_rank() && shape.rank() > 0 && shape.dim(0) < 0) {
      shape.set_dim(0, options.batch);
    }
    shapes[input.name] = std::move(shape);
  }
  for (const auto& [name, shape] : options.shapes) {
    if (shapes.count(name) == 0) return InvalidArgument("it has no input '", name, "'");
  }
  return shapes;
}

Result<std::string> DescribeCosts(const Model& model, size_t signature,
                                  const CostOptions& options) {
  Result<std::string> json = DescribeOrFail(model, signature, options);
  if (json.ok()) return json;
  return std::move(json).status().WithContext(
      StrCat(model.path(), ": signature '", model.signatures()[signature].name, "'"));
}

}  // namespace thalweg
