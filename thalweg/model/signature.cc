// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/signature.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "thalweg/model/nesting.h"
#include "thalweg/passes/pass.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace ti = pb::TensorInfo;

// What a TensorInfo says, without what only the graph knows.
Status AddTensors(std::string_view name, const Message& info, std::vector<ModelTensor>* to) {
  if (info.Has(ti::kCooSparse)) {
    const Message& parts = info.GetMessage(ti::kCooSparse);
    const auto add = [&](std::string_view part, int field) {
      to->push_back({StrCat(name, "/", part), std::string(parts.GetString(field))});
    };
    add("dense_shape", ti::CooSparse::kDenseShapeTensorName);
    add("indices", ti::CooSparse::kIndicesTensorName);
    add("values", ti::CooSparse::kValuesTensorName);
    return OkStatus();
  }
  if (info.Has(ti::kCompositeTensor)) {
    return Unimplemented("'", name, "' is a composite tensor, which only sparse ones may be here");
  }
  ModelTensor tensor{std::string(name), std::string(info.GetString(ti::kName))};
  if (info.Has(ti::kTensorShape)) {
    ASSIGN_OR_RETURN(tensor.shape, PartialShapeFromProto(info.GetMessage(ti::kTensorShape)));
  }
  to->push_back(std::move(tensor));
  return OkStatus();
}

// Adds the tensors of a map from names to TensorInfo, by name.
Status AddAll(const Message& signature, int field, std::vector<ModelTensor>* to) {
  for (const Message* entry : signature.Messages(field)) {
    RETURN_IF_ERROR(
        AddTensors(entry->GetString(pb::kMapKey), entry->GetMessage(pb::kMapValue), to));
  }
  std::sort(to->begin(), to->end(),
            [](const ModelTensor& a, const ModelTensor& b) { return a.name < b.name; });
  return OkStatus();
}

std::vector<std::string> TensorsOf(const std::vector<ModelTensor>& tensors) {
  std::vector<std::string> names;
  for (const ModelTensor& tensor : tensors) names.push_back(tensor.tensor);
  return names;
}

// The type and shape that the graph knows, joined with what was said.
Status Resolve(const Graph& graph, std::vector<ModelTensor>* tensors) {
  for (ModelTensor& tensor : *tensors) {
    ASSIGN_OR_RETURN(tensor.output, graph.FindOutput(tensor.tensor));
    tensor.dtype = tensor.output.dtype();
    // A shape that contradicts the graph's counts for nothing: the graph is what runs.
    Result<PartialShape> both = tensor.shape.MergeWith(tensor.output.shape());
    tensor.shape = both.ok() ? *both : tensor.output.shape();
    if (tensor.output.node->op_name() == "PlaceholderWithDefault") tensor.is_optional = true;
  }
  return OkStatus();
}

Status AddDefaults(const Message& def, ModelSignature* signature) {
  for (ModelTensor& input : signature->inputs) {
    const Message* const value = def.MapFind(pb::SignatureDef::kDefaults, input.name);
    if (value == nullptr) continue;
    ASSIGN_OR_RETURN(input.default_value, TensorFromProto(*value));
    input.is_optional = true;
  }
  return OkStatus();
}

Result<ModelSignature> ReadSignature(std::string_view name, const Message& def,
                                     const UnknownOperations& unknown, const Graph& graph) {
  ModelSignature signature;
  signature.name = name;
  signature.method = def.GetString(pb::SignatureDef::kMethodName);
  RETURN_IF_ERROR(AddAll(def, pb::SignatureDef::kInputs, &signature.inputs));
  RETURN_IF_ERROR(AddAll(def, pb::SignatureDef::kOutputs, &signature.outputs));
  RETURN_IF_ERROR(AddDefaults(def, &signature));
  const auto needed = unknown.NeededBy(TensorsOf(signature.outputs), TensorsOf(signature.inputs));
  if (!needed.empty()) {
    signature.usable =
        NotFound("it needs operations that this build does not have: ", unknown.Text(needed));
    return signature;
  }
  RETURN_IF_ERROR(Resolve(graph, &signature.inputs));
  RETURN_IF_ERROR(Resolve(graph, &signature.outputs));
  return signature;
}

ModelTensor Named(Node* node, int index) {
  const Output output{node, index};
  std::string name = output.ToString();
  std::string tensor = StrCat(node->name(), ":", index);
  return {std::move(name),
          std::move(tensor),
          output.dtype(),
          output.shape(),
          output,
          Tensor(),
          node->op_name() == "PlaceholderWithDefault"};
}

// The names of files, which savers ask for: no inputs of what a model computes.
std::unordered_set<const Node*> PlaceholdersOfSavers(const std::vector<Node*>& nodes) {
  std::unordered_set<const Node*> seen, found;
  std::vector<const Node*> open;
  for (const Node* node : nodes) {
    const std::string& op = node->op_name();
    if (op == "RestoreV2" || op == "SaveV2" || op == "Restore" || op == "Save") {
      open.push_back(node->input(0).node);
    }
  }
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (IsPlaceholder(*node)) found.insert(node);
    for (const Output& input : node->inputs()) open.push_back(input.node);
  }
  return found;
}

using Readers = std::vector<std::vector<const Node*>>;  // by id

std::unordered_set<const Node*> ComputedFrom(std::vector<const Node*> open,
                                             const Readers& readers) {
  std::unordered_set<const Node*> computed(open.begin(), open.end());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Node* reader : readers[static_cast<size_t>(node->id())]) {
      if (computed.insert(reader).second) open.push_back(reader);
    }
  }
  return computed;
}

// What a graph does that says nothing of itself: all placeholders in, and out what depends on one
// of them (on anything, where there is none), is read by nobody and is there in every step.
ModelSignature SignatureOfGraph(const UnknownOperations& unknown, const Graph& graph) {
  ModelSignature signature;
  signature.name = kDefaultSignature;
  const std::vector<Node*> nodes = graph.Nodes();
  const std::unordered_set<const Node*> of_saver = PlaceholdersOfSavers(nodes);
  std::vector<const Node*> placeholders;
  Readers readers(nodes.size());
  for (Node* node : nodes) {
    if (IsPlaceholder(*node) && of_saver.count(node) == 0) {
      signature.inputs.push_back(Named(node, 0));
      placeholders.push_back(node);
    }
    for (const Output& input : node->inputs()) {
      if (input.node != nullptr) readers[static_cast<size_t>(input.node->id())].push_back(node);
    }
  }
  const bool needs_input = !placeholders.empty();
  const auto computed = ComputedFrom(std::move(placeholders), readers);
  const auto saved = ComputedFrom({of_saver.begin(), of_saver.end()}, readers);
  const std::vector<int> nesting = NestingOf(graph);
  for (Node* node : nodes) {
    if (nesting[static_cast<size_t>(node->id())] > 0) continue;
    const bool is_last = readers[static_cast<size_t>(node->id())].empty() &&
                         !unknown.IsReadByDropped(node->name()) && !IsPlaceholder(*node);
    if (!is_last || saved.count(node) > 0 || (needs_input && computed.count(node) == 0)) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (!node->output_is_ref(i)) signature.outputs.push_back(Named(node, i));
    }
  }
  const auto by_name = [](const ModelTensor& a, const ModelTensor& b) { return a.name < b.name; };
  std::sort(signature.inputs.begin(), signature.inputs.end(), by_name);
  std::sort(signature.outputs.begin(), signature.outputs.end(), by_name);
  return signature;
}

}  // namespace

std::string ModelTensor::ToString() const {
  std::string text = StrCat("'", name, "' ", dtype);
  if (shape.known_rank()) text += StrCat(" ", shape);
  return text;
}

Result<Output> FindTensor(const Graph& graph, const std::vector<ModelTensor>& tensors,
                          const std::string& name) {
  for (const ModelTensor& tensor : tensors) {
    if (tensor.name == name && tensor.output.node != nullptr) return tensor.output;
  }
  return graph.FindOutput(name);
}

Result<std::vector<ModelSignature>> ReadSignatures(const ModelFiles& files,
                                                   const UnknownOperations& unknown,
                                                   const Graph& graph) {
  std::vector<ModelSignature> all;
  if (files.meta_graph != nullptr) {
    for (const Message* entry : files.meta_graph->Messages(pb::MetaGraphDef::kSignatureDef)) {
      const std::string_view name = entry->GetString(pb::kMapKey);
      if (name == kInitSignature) continue;
      Result<ModelSignature> read =
          ReadSignature(name, entry->GetMessage(pb::kMapValue), unknown, graph);
      if (read.ok()) {
        all.push_back(std::move(*read));
      } else {
        all.push_back({std::string(name), "", {}, {}, std::move(read).status()});
      }
    }
  }
  if (all.empty() && files.kind != ModelKind::kSavedModel) {
    all.push_back(SignatureOfGraph(unknown, graph));
    if (all[0].outputs.empty()) all.clear();
  }
  return all;
}

}  // namespace thalweg
