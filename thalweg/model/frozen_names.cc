// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/frozen_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/graph/node_maker.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace nd = pb::NodeDef;

using NameSet = std::set<std::string, std::less<>>;

std::string ValidName(std::string_view name) {
  std::string valid(name);
  for (char& c : valid) {
    if (!IsValidNodeName(StrCat("n", std::string_view(&c, 1)))) c = '_';
  }
  if (!IsValidNodeName(valid)) valid = StrCat("n", valid);
  return valid;
}

// `name`, or it with a number where one of the sets has it.
std::string Unused(const std::string& name, const NameSet& taken, const NameSet& also = {}) {
  std::string unused = name;
  for (int i = 1; taken.count(unused) > 0 || also.count(unused) > 0; ++i) {
    unused = StrCat(name, "_", i);
  }
  return unused;
}

class Namer {
 public:
  Namer(const StepGraph& step, Message* graph_def) : graph_def_(*graph_def) {
    for (const Output& fetch : step.fetches) {
      // One of two outputs would read the other.
      if (!fetched_.insert(fetch.node->name()).second) read_.insert(fetch.node->name());
    }
    for (const Message* node : graph_def_.Messages(pb::GraphDef::kNode)) {
      there_.insert(std::string(node->GetString(nd::kName)));
      for (const std::string_view input : node->Repeated<std::string_view>(nd::kInput)) {
        read_.insert(std::string(input.substr(0, input.find(':'))));
      }
    }
  }

  // `there`: its node; null where nothing reads it.
  std::string NameInput(const ModelTensor& input, const Output& there) {
    std::string wanted = Fix(input.name);
    if (there.node == nullptr) {
      made_inputs_.emplace_back(wanted, &input);
    } else {
      renamed_[there.node->name()] = wanted;
    }
    if (!input.default_value.empty()) defaults_[wanted] = &input.default_value;
    return wanted;
  }

  std::string NameOutput(const ModelTensor& output, const Output& there) {
    std::string wanted = Fix(output.name);
    const std::string& node = there.node->name();
    const bool is_there = node == wanted && there.index == 0 && read_.count(node) == 0;
    if (is_there && renamed_.emplace(node, wanted).second) return wanted;
    made_outputs_.emplace_back(wanted, there);
    return wanted;
  }

  Status Apply(std::string* initializer) {
    for (const std::string& name : there_) {
      if (fixed_.count(name) == 0 || renamed_.count(name) > 0) continue;
      renamed_[name] = Unused(name, there_, fixed_);
    }
    for (Message* node : graph_def_.MutableMessages(pb::GraphDef::kNode)) Rename(node);
    *initializer = Renamed(*initializer);
    for (const auto& [name, input] : made_inputs_) AddPlaceholder(name, *input);
    for (const auto& [name, there] : made_outputs_) {
      Message* const made = AddNode(name, "Identity", there.dtype(), "T");
      made->AddString(nd::kInput, Renamed(there.ToString()));
    }
    return AddDefaults();
  }

 private:
  std::string Fix(const std::string& name) {
    return *fixed_.insert(Unused(ValidName(name), fixed_)).first;
  }

  // "name", "name:1" or "^name", as it is called now.
  std::string Renamed(std::string_view edge) const {
    const size_t begin = edge.starts_with('^') ? 1 : 0;
    const size_t end = std::min(edge.find(':'), edge.size());
    const auto found = renamed_.find(edge.substr(begin, end - begin));
    if (found == renamed_.end()) return std::string(edge);
    return StrCat(edge.substr(0, begin), found->second, edge.substr(end));
  }

  void Rename(Message* node) {
    node->SetString(nd::kName, Renamed(node->GetString(nd::kName)));
    std::vector<std::string> inputs;
    for (const std::string_view input : node->Repeated<std::string_view>(nd::kInput)) {
      inputs.push_back(Renamed(input));
    }
    node->Clear(nd::kInput);
    for (const std::string& input : inputs) node->AddString(nd::kInput, input);
    std::vector<std::string> own;
    for (const Message* attr : node->Messages(nd::kAttr)) {
      const std::string_view name = attr->GetString(pb::kMapKey);
      if (name.starts_with('_')) own.emplace_back(name);
    }
    for (const std::string& name : own) node->EraseEntry(nd::kAttr, name);
  }

  Message* AddNode(const std::string& name, std::string_view op, DType dtype,
                   std::string_view attr) {
    Message* const made = graph_def_.Add(pb::GraphDef::kNode);
    made->SetString(nd::kName, name);
    made->SetString(nd::kOp, op);
    made->MapMutable(nd::kAttr, attr)->SetInt(pb::AttrValue::kType, static_cast<int64_t>(dtype));
    return made;
  }

  void AddPlaceholder(const std::string& name, const ModelTensor& input) {
    Message* const made = AddNode(name, "Placeholder", input.dtype, "dtype");
    ShapeToProto(input.shape, made->MapMutable(nd::kAttr, "shape")->Mutable(pb::AttrValue::kShape));
  }

  // A placeholder with a default reads it.
  Status AddDefaults() {
    if (defaults_.empty()) return OkStatus();
    std::vector<std::pair<std::string, const Tensor*>> values;
    for (Message* node : graph_def_.MutableMessages(pb::GraphDef::kNode)) {
      const auto found = defaults_.find(node->GetString(nd::kName));
      if (found == defaults_.end()) continue;
      const std::string name = Unused(StrCat(found->first, "/default"), there_, fixed_);
      node->SetString(nd::kOp, "PlaceholderWithDefault");
      node->AddString(nd::kInput, name);
      values.emplace_back(name, found->second);
    }
    for (const auto& [name, value] : values) {
      Message* const made = AddNode(name, "Const", value->dtype(), "dtype");
      RETURN_IF_ERROR(TensorToProto(
          *value, made->MapMutable(nd::kAttr, "value")->Mutable(pb::AttrValue::kTensor)));
    }
    return OkStatus();
  }

  Message& graph_def_;
  NameSet there_, read_, fetched_, fixed_;
  std::map<std::string, std::string, std::less<>> renamed_;
  std::vector<std::pair<std::string, const ModelTensor*>> made_inputs_;
  std::vector<std::pair<std::string, Output>> made_outputs_;
  std::map<std::string, const Tensor*, std::less<>> defaults_;
};

}  // namespace

Status NameAsSignature(const ModelSignature& signature, const std::vector<int>& feed_of,
                       const StepGraph& step, FrozenGraph* frozen) {
  Namer namer(step, &*frozen->graph_def);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const ModelTensor& input = signature.inputs[i];
    // What has a default in the graph has kept its name.
    Node* const own = step.graph->FindNode(input.output.node->name());
    const Output there =
        feed_of[i] >= 0 ? step.feeds[static_cast<size_t>(feed_of[i])] : Output{own, 0};
    frozen->inputs.push_back(StrCat(namer.NameInput(input, there), ":0"));
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    frozen->outputs.push_back(
        StrCat(namer.NameOutput(signature.outputs[i], step.fetches[i]), ":0"));
  }
  return namer.Apply(&frozen->initializer);
}

}  // namespace thalweg
