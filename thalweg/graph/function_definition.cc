// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_definition.h"

#include <cctype>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/graph/function.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace fd = pb::FunctionDef;
namespace nd = pb::NodeDef;

std::string FirstFree(const std::string& base, std::unordered_set<std::string>& taken) {
  std::string name = base;
  for (int i = 0; !taken.insert(name).second; ++i) name = StrCat(base, "_", i);
  return name;
}

class DefinitionWriter {
 public:
  DefinitionWriter(const Graph& body, const FunctionEnds& ends)
      : body_(body), ends_(ends), definition_(fd::Descriptor()) {}

  Result<OwnedMessage> Write(const std::string& name) {
    RETURN_IF_ERROR(CheckEnds());
    Message* signature = definition_->Mutable(fd::kSignature);
    signature->SetString(pb::OpDef::kName, name);
    for (const Output& arg : ends_.args) {
      const std::string& own = names_[arg.node] =
          FirstFree(ArgumentName(arg.node->name(), "arg_"), arg_names_);
      WriteArg(own, arg.dtype(), signature->Add(pb::OpDef::kInputArg));
    }
    bool is_stateful = false;
    const std::vector<Node*> nodes = body_.Nodes();
    for (const Node* node : nodes) {
      if (!IsArg(*node)) names_[node] = NodeName(*node);
    }
    for (const Node* node : nodes) {
      if (IsArg(*node)) continue;
      RETURN_IF_ERROR(WriteNode(*node, definition_->Add(fd::kNodeDef)));
      is_stateful |= node->op().def.is_stateful;
    }
    RETURN_IF_ERROR(WriteResults(signature));
    if (is_stateful) signature->SetBool(pb::OpDef::kIsStateful, true);
    return std::move(definition_);
  }

 private:
  Status CheckEnds() {
    if (!ends_.result_names.empty() && ends_.result_names.size() != ends_.results.size()) {
      return InvalidArgument("there are ", ends_.results.size(), " results and ",
                             ends_.result_names.size(), " names for them");
    }
    std::unordered_map<std::string_view, size_t> results;  // by name
    for (size_t i = 0; i < ends_.result_names.size(); ++i) {
      const auto [first, is_new] = results.emplace(ends_.result_names[i], i);
      if (is_new) continue;
      return InvalidArgument("results ", first->second, " and ", i, " are both called '",
                             ends_.result_names[i], "'");
    }
    for (size_t i = 0; i < ends_.args.size(); ++i) {
      RETURN_IF_ERROR(CheckEnd(ends_.args[i]).WithContext(StrCat("argument ", i)));
      if (!args_.insert(ends_.args[i].node).second || ends_.args[i].node->num_outputs() != 1) {
        return InvalidArgument("argument ", i, ", '", ends_.args[i].ToString(),
                               "', must be the only output of a node of its own");
      }
    }
    for (size_t i = 0; i < ends_.results.size(); ++i) {
      RETURN_IF_ERROR(CheckEnd(ends_.results[i]).WithContext(StrCat("result ", i)));
    }
    return OkStatus();
  }
  Status CheckEnd(const Output& output) const {
    if (output.node == nullptr) return InvalidArgument("no tensor");
    if (&output.node->graph() != &body_ || output.index < 0 ||
        output.index >= output.node->num_outputs()) {
      return InvalidArgument("'", output.ToString(), "' is no tensor of the body");
    }
    return OkStatus();
  }

  bool IsArg(const Node& node) const { return args_.contains(&node); }
  // Its own, but for one that an argument has.
  std::string NodeName(const Node& node) const {
    return arg_names_.contains(node.name()) ? body_.UniqueName(node.name() + "_node") : node.name();
  }

  static void WriteArg(const std::string& name, DType type, Message* arg) {
    arg->SetString(pb::OpDef::ArgDef::kName, name);
    arg->SetInt(pb::OpDef::ArgDef::kType, static_cast<int64_t>(type));
  }

  // What a body reads an output as: "argument", or "node:output:index".
  Result<std::string> Spelled(const Output& output) const {
    const Node& node = *output.node;
    if (IsArg(node)) return names_.at(&node);
    for (const ArgDef& arg : node.op().def.outputs) {
      ASSIGN_OR_RETURN(const auto range, node.OutputRange(arg.name));
      if (output.index < range.first || output.index >= range.second) continue;
      return StrCat(names_.at(&node), ":", arg.name, ":", output.index - range.first);
    }
    return Internal(node.Label(), " has no output ", output.index);
  }

  Status WriteNode(const Node& node, Message* proto) const {
    RETURN_IF_ERROR(NodeToProto(node, proto));
    proto->SetString(nd::kName, names_.at(&node));
    proto->Clear(nd::kInput);
    for (const Output& input : node.inputs()) {
      ASSIGN_OR_RETURN(const std::string text, Spelled(input));
      proto->AddString(nd::kInput, text);
    }
    for (const Node* before : node.control_inputs()) {
      proto->AddString(nd::kInput, StrCat("^", names_.at(before)));
    }
    return OkStatus();
  }

  Status WriteResults(Message* signature) {
    std::unordered_set<std::string> taken;
    for (size_t i = 0; i < ends_.results.size(); ++i) {
      const Output& result = ends_.results[i];
      const std::string name = ends_.result_names.empty()
                                   ? FirstFree(ArgumentName(result.node->name(), "out_"), taken)
                                   : ends_.result_names[i];
      WriteArg(name, result.dtype(), signature->Add(pb::OpDef::kOutputArg));
      ASSIGN_OR_RETURN(const std::string text, Spelled(result));
      definition_->MutableEntry(fd::kRet, name)->SetString(pb::kMapValue, text);
    }
    return OkStatus();
  }

  const Graph& body_;
  const FunctionEnds& ends_;
  OwnedMessage definition_;
  std::unordered_set<const Node*> args_;
  std::unordered_set<std::string> arg_names_;
  std::unordered_map<const Node*, std::string> names_;  // in the definition
};

}  // namespace

std::string ArgumentName(std::string_view text, std::string_view otherwise) {
  std::string name;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    const bool is_kept = u < 0x80 && std::isalnum(u) != 0;
    name.push_back(is_kept ? static_cast<char>(std::tolower(u)) : '_');
  }
  if (name.empty() || name[0] < 'a' || name[0] > 'z') name.insert(0, otherwise);
  return name;
}

Result<OwnedMessage> FunctionDefinition(const Graph& body, const std::string& name,
                                        const FunctionEnds& ends) {
  Result<OwnedMessage> definition = DefinitionWriter(body, ends).Write(name);
  if (!definition.ok()) return definition.status().WithContext(StrCat("function '", name, "'"));
  return definition;
}

}  // namespace thalweg
