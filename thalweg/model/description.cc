// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/description.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "thalweg/graph/function.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/model/shape_json.h"
#include "thalweg/model/weights.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

struct VariableRow {
  std::string name;
  std::string node;
  DType dtype = DType::kInvalid;
  PartialShape shape;
  bool is_used = false;
};

// What the signatures need; all of a graph that has none.
std::unordered_set<const Node*> UsedNodes(const Model& model) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const ModelSignature& signature : model.signatures()) {
    for (const ModelTensor& output : signature.outputs) visit(output.output.node);
  }
  if (model.signatures().empty()) {
    for (const Node* node : model.graph()->Nodes()) visit(node);
  }
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Output& input : node->inputs()) visit(input.node);
    for (const Node* before : node->control_inputs()) visit(before);
  }
  return seen;
}

std::string TextAttr(const Node& node, std::string_view name) {
  Result<std::string> text = node.Attr<std::string>(name);
  return text.ok() ? std::move(*text) : std::string();
}

std::vector<VariableRow> VariablesOf(const Model& model) {
  const std::unordered_set<const Node*> used = UsedNodes(model);
  std::vector<VariableRow> rows;
  for (const Node* node : model.graph()->Nodes()) {
    if (!IsVariable(*node)) continue;
    VariableRow row;
    row.node = node->name();
    row.is_used = used.count(node) > 0;
    row.name = TextAttr(*node, "shared_name");
    if (row.name.empty()) row.name = row.node;
    const Result<DType> dtype = node->Attr<DType>("dtype");
    if (dtype.ok()) row.dtype = *dtype;
    Result<PartialShape> shape = node->Attr<PartialShape>("shape");
    if (shape.ok()) row.shape = std::move(*shape);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const VariableRow& a, const VariableRow& b) { return a.name < b.name; });
  return rows;
}

void AppendTensors(JsonWriter& json, std::string_view key,
                   const std::vector<ModelTensor>& tensors) {
  json.Key(key).BeginList();
  for (const ModelTensor& tensor : tensors) {
    json.BeginObject().Key("name").Text(tensor.name).Key("tensor").Text(tensor.tensor);
    json.Key("dtype").Text(DTypeName(tensor.dtype)).Key("shape");
    AppendShape(json, tensor.shape);
    json.Key("optional").Bool(tensor.is_optional).EndObject();
  }
  json.EndList();
}

void AppendSignatures(JsonWriter& json, const Model& model) {
  json.Key("signatures").BeginList();
  for (const ModelSignature& signature : model.signatures()) {
    json.BeginObject().Key("name").Text(signature.name).Key("method").Text(signature.method);
    AppendTensors(json, "inputs", signature.inputs);
    AppendTensors(json, "outputs", signature.outputs);
    json.Key("unusable").Text(signature.usable.message()).EndObject();
  }
  json.EndList();
}

// The sums are of those that signatures use.
void AppendVariables(JsonWriter& json, const Model& model) {
  uint64_t elements = 0, bytes = 0;
  json.Key("variables").BeginList();
  for (const VariableRow& row : VariablesOf(model)) {
    const int64_t count = row.shape.num_elements();
    const bool is_known = count >= 0 && IsPlain(row.dtype);
    json.BeginObject().Key("name").Text(row.name).Key("node").Text(row.node);
    json.Key("dtype").Text(DTypeName(row.dtype)).Key("shape");
    AppendShape(json, row.shape);
    json.Key("used").Bool(row.is_used).Key("parameters");
    if (is_known) {
      json.Number(count).Key("bytes").Number(count * static_cast<int64_t>(DTypeSize(row.dtype)));
      elements += row.is_used ? static_cast<uint64_t>(count) : 0;
      bytes += row.is_used ? static_cast<uint64_t>(count) * DTypeSize(row.dtype) : 0;
    } else {
      json.Null().Key("bytes").Null();
    }
    json.EndObject();
  }
  json.EndList().Key("parameters").Number(elements).Key("bytes").Number(bytes);
}

// How often each operation stands in the graph and in its functions.
Result<std::map<std::string, uint64_t>> CountOperations(const Graph& graph) {
  std::map<std::string, uint64_t> counts;
  for (const Node* node : graph.Nodes()) ++counts[node->op_name()];
  for (const std::string& name : graph.library().Names()) {
    ASSIGN_OR_RETURN(const OwnedMessage function,
                     ParseMessage(pb::FunctionDef::Descriptor(),
                                  graph.library().FindDefinition(name), {.borrow = true}));
    for (const Message* node : function->Messages(pb::FunctionDef::kNodeDef)) {
      ++counts[std::string(node->GetString(pb::NodeDef::kOp))];
    }
  }
  return counts;
}

Status AppendOperations(JsonWriter& json, const Model& model) {
  const Graph& graph = *model.graph();
  ASSIGN_OR_RETURN(const auto counts, CountOperations(graph));
  std::set<std::string, std::less<>> runnable;
  for (const KernelEntry* entry : model.session()->environment().kernels().Entries()) {
    runnable.insert(entry->op);
  }
  json.Key("operations").BeginList();
  for (const auto& [name, count] : counts) {
    if (graph.library().FindOp(name) != nullptr) continue;  // a call of a function
    json.BeginObject().Key("name").Text(name).Key("count").Number(count);
    json.Key("kernel").Bool(runnable.count(name) > 0).EndObject();
  }
  json.EndList();
  return OkStatus();
}

}  // namespace

Result<std::string> DescribeModel(const Model& model) {
  JsonWriter json;
  json.BeginObject().Key("path").Text(model.path());
  json.Key("kind").Text(ModelKindName(model.kind())).Key("tags").BeginList();
  for (const std::string& tag : model.tags()) json.Text(tag);
  json.EndList();
  AppendSignatures(json, model);
  AppendVariables(json, model);
  json.Key("nodes").Number(model.graph()->num_nodes());
  json.Key("functions").Number(model.graph()->library().Names().size());
  RETURN_IF_ERROR(AppendOperations(json, model));
  json.Key("unknown_operations").Text(model.unknown_operations()).EndObject();
  return json.Take();
}

}  // namespace thalweg
