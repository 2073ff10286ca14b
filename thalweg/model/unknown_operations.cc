// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/unknown_operations.h"

#include <utility>

#include "thalweg/graph/nearest_names.h"

namespace thalweg {
namespace {

// "name" of "name", "name:1", "^name".
std::string_view NodeOf(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  return input.substr(0, input.find(':'));
}

std::span<const std::string_view> InputsOf(const Message& node) {
  return node.Repeated<std::string_view>(pb::NodeDef::kInput);
}

std::string_view NameOfFunction(const Message& function) {
  return function.GetMessage(pb::FunctionDef::kSignature).GetString(pb::OpDef::kName);
}

}  // namespace

UnknownOperations::UnknownOperations(const Message& graph_def, const OpRegistry& registry)
    : graph_def_(graph_def), registry_(registry) {
  const auto functions =
      graph_def.GetMessage(pb::GraphDef::kLibrary).Messages(pb::FunctionDefLibrary::kFunction);
  for (const Message* function : functions) functions_[NameOfFunction(*function)] = function;
  FindInFunctions();
  for (const Message* node : graph_def.Messages(pb::GraphDef::kNode)) {
    const std::string_view name = node->GetString(pb::NodeDef::kName);
    nodes_[name] = node;
    Names found = OfNode(*node);
    for (const std::string_view called : FunctionsOf(*node)) {
      const auto in = in_function_.find(called);
      if (in != in_function_.end()) found.insert(in->second.begin(), in->second.end());
    }
    all_.insert(found.begin(), found.end());
    if (!found.empty()) in_node_[name] = std::move(found);
  }
  if (!all_.empty()) FindDropped();
}

UnknownOperations::Names UnknownOperations::OfNode(const Message& node) const {
  const std::string_view op = node.GetString(pb::NodeDef::kOp);
  if (functions_.count(op) > 0 || registry_.Find(op).ok()) return {};
  return {std::string(op)};
}

std::vector<std::string_view> UnknownOperations::FunctionsOf(const Message& node) const {
  std::vector<std::string_view> called;
  const std::string_view op = node.GetString(pb::NodeDef::kOp);
  if (functions_.count(op) > 0) called.push_back(op);
  const auto add = [&](const Message& function) {
    called.push_back(function.GetString(pb::NameAttrList::kName));
  };
  for (const Message* entry : node.Messages(pb::NodeDef::kAttr)) {
    const Message& value = entry->GetMessage(pb::kMapValue);
    if (value.Has(pb::AttrValue::kFunc)) add(value.GetMessage(pb::AttrValue::kFunc));
    if (!value.Has(pb::AttrValue::kList)) continue;
    for (const Message* function :
         value.GetMessage(pb::AttrValue::kList).Messages(pb::AttrValue::ListValue::kFunc)) {
      add(*function);
    }
  }
  return called;
}

// Functions call each other: what one has spreads to its callers until nothing changes.
void UnknownOperations::FindInFunctions() {
  std::unordered_map<std::string_view, std::vector<std::string_view>> callers;
  std::vector<std::string_view> changed;
  for (const auto& [name, function] : functions_) {
    Names found;
    for (const Message* node : function->Messages(pb::FunctionDef::kNodeDef)) {
      found.merge(OfNode(*node));
      for (const std::string_view called : FunctionsOf(*node)) callers[called].push_back(name);
    }
    if (found.empty()) continue;
    in_function_[name] = std::move(found);
    changed.push_back(name);
  }
  while (!changed.empty()) {
    const std::string_view name = changed.back();
    changed.pop_back();
    const Names spread = in_function_[name];
    for (const std::string_view caller : callers[name]) {
      Names& there = in_function_[caller];
      const size_t before = there.size();
      there.insert(spread.begin(), spread.end());
      if (there.size() != before) changed.push_back(caller);
    }
  }
}

void UnknownOperations::FindDropped() {
  std::unordered_map<std::string_view, std::vector<std::string_view>> readers;
  for (const Message* node : graph_def_.Messages(pb::GraphDef::kNode)) {
    for (const std::string_view input : InputsOf(*node)) {
      readers[NodeOf(input)].push_back(node->GetString(pb::NodeDef::kName));
    }
  }
  std::vector<std::string_view> open;
  for (const auto& [name, names] : in_node_) open.push_back(name);
  dropped_.insert(open.begin(), open.end());
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    for (const std::string_view reader : readers[name]) {
      if (dropped_.insert(reader).second) open.push_back(reader);
    }
  }
  for (const std::string_view name : dropped_) {
    for (const std::string_view input : InputsOf(*nodes_.at(name))) {
      read_by_dropped_.insert(NodeOf(input));
    }
  }
}

UnknownOperations::Names UnknownOperations::NeededBy(const std::vector<std::string>& outputs,
                                                     const std::vector<std::string>& fed) const {
  Names needed;
  if (empty()) return needed;
  Nodes seen;
  for (const std::string& tensor : fed) seen.insert(NodeOf(tensor));
  std::vector<std::string_view> open(outputs.begin(), outputs.end());
  while (!open.empty()) {
    const auto at = nodes_.find(NodeOf(open.back()));
    open.pop_back();
    if (at == nodes_.end() || !seen.insert(at->first).second) continue;
    const auto found = in_node_.find(at->first);
    if (found != in_node_.end()) needed.insert(found->second.begin(), found->second.end());
    const auto inputs = InputsOf(*at->second);
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return needed;
}

std::string UnknownOperations::Text(const Names& names) const {
  std::string text;
  for (const std::string& name : names) {
    NearestNames near(name);
    for (const std::string_view known : registry_.Names()) near.Add(known);
    text += StrCat(text.empty() ? "'" : ", '", name, "'");
    if (const std::string nearest = near.Listed(); !nearest.empty()) {
      text += StrCat(" (nearest: ", nearest, ")");
    }
  }
  return text;
}

OwnedMessage UnknownOperations::WithoutThem() const {
  OwnedMessage rest(pb::GraphDef::Descriptor());
  if (graph_def_.Has(pb::GraphDef::kVersions)) {
    rest->Mutable(pb::GraphDef::kVersions)
        ->CopyFrom(graph_def_.GetMessage(pb::GraphDef::kVersions));
  }
  rest->SetInt(pb::GraphDef::kVersion, graph_def_.GetInt(pb::GraphDef::kVersion));
  for (const Message* node : graph_def_.Messages(pb::GraphDef::kNode)) {
    if (!IsDropped(node->GetString(pb::NodeDef::kName))) {
      rest->Add(pb::GraphDef::kNode)->CopyFrom(*node);
    }
  }
  const Message& library = graph_def_.GetMessage(pb::GraphDef::kLibrary);
  Message* const kept = rest->Mutable(pb::GraphDef::kLibrary);
  for (const Message* function : library.Messages(pb::FunctionDefLibrary::kFunction)) {
    if (in_function_.count(NameOfFunction(*function)) == 0) {
      kept->Add(pb::FunctionDefLibrary::kFunction)->CopyFrom(*function);
    }
  }
  for (const Message* gradient : library.Messages(pb::FunctionDefLibrary::kGradient)) {
    const std::string_view of = gradient->GetString(pb::GradientDef::kFunctionName);
    const std::string_view by = gradient->GetString(pb::GradientDef::kGradientFunc);
    if (in_function_.count(of) == 0 && in_function_.count(by) == 0) {
      kept->Add(pb::FunctionDefLibrary::kGradient)->CopyFrom(*gradient);
    }
  }
  return rest;
}

}  // namespace thalweg
