// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_builder.h"

#include <algorithm>
#include <unordered_set>

#include "thalweg/base/fingerprint.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/function_body.h"
#include "thalweg/graph/function_definition.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace fd = pb::FunctionDef;

constexpr std::string_view kArg = "_Arg";

// What only a session has: a copy of it would be another one.
bool IsOfASession(const Node& node) {
  if (node.op_name().starts_with("Placeholder") || node.op_name() == kArg ||
      node.control() != Node::Control::kNone) {
    return true;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (node.output_is_ref(i) || node.output_type(i) == DType::kResource) return true;
  }
  return false;
}

Status MoveOutward(const FunctionLibrary& from, FunctionLibrary& to) {
  for (const std::string& name : from.Names()) {
    RETURN_IF_ERROR(to.Add(from.FindOp(name)->def, std::string(from.FindDefinition(name))));
    if (auto sites = from.FindSites(name); sites != nullptr) to.SetSites(name, std::move(sites));
  }
  for (const std::string& name : from.NamesWithGradient()) {
    RETURN_IF_ERROR(to.SetGradient(name, from.FindGradient(name)));
  }
  return OkStatus();
}

std::shared_ptr<const NodeSites> SitesOf(const Graph& body) {
  auto sites = std::make_shared<NodeSites>();
  for (const Node* node : body.Nodes()) {
    if (node->site() != 0) sites->emplace(node->name(), body.Site(node->site()));
  }
  return sites->empty() ? nullptr : sites;
}

}  // namespace

FunctionBuilder::FunctionBuilder(std::shared_ptr<Graph> outside,
                                 std::shared_ptr<FunctionBuilder> enclosing)
    : outside_(std::move(outside)),
      enclosing_(std::move(enclosing)),
      body_(std::make_shared<Graph>(outside_->shared_registry())) {
  body_->versions() = outside_->versions();
  body_->library().SetParent(&outside_->library());
}

Result<Output> FunctionBuilder::AddArg(std::string_view name, DType dtype,
                                       const PartialShape& shape) {
  if (!captures_.empty()) {
    return FailedPrecondition("argument '", name, "' comes after the body has read '",
                              captures_[0].ToString(), "' from outside");
  }
  return AddArgNode(name, dtype, shape, nullptr);
}

Result<Output> FunctionBuilder::AddArgNode(std::string_view name, DType dtype,
                                           const PartialShape& shape, const HandleShape* handle) {
  NodeSpec spec;
  spec.name = ArgumentName(name, "arg_");
  spec.make_unique = true;
  spec.op = kArg;
  spec.attrs = {{"T", dtype}, {"index", static_cast<int64_t>(args_.size())}};
  if (shape.rank() >= 0) spec.attrs.Set("_output_shapes", std::vector<PartialShape>{shape});
  if (handle != nullptr) {
    spec.attrs.Set("_handle_dtypes", std::vector<DType>{handle->dtype});
    spec.attrs.Set("_handle_shapes", std::vector<PartialShape>{handle->shape});
  }
  ASSIGN_OR_RETURN(Node * node, body_->AddNode(std::move(spec)));
  args_.push_back(node);
  return Output{node, 0};
}

Result<Output> FunctionBuilder::Inside(const Output& output) {
  if (output.node == nullptr) return output;
  if (&output.node->graph() == body_.get()) return output;
  Output outside = output;
  if (enclosing_ != nullptr) {
    ASSIGN_OR_RETURN(outside, enclosing_->Inside(output));
  }
  if (&outside.node->graph() != outside_.get()) {
    return InvalidArgument("'", output.ToString(), "' is of a graph that does not hold this ",
                           "function");
  }
  if (outside.index < 0 || outside.index >= outside.node->num_outputs()) {
    return InvalidArgument(outside.node->Label(), " has ", outside.node->num_outputs(),
                           " outputs, there is no output ", outside.index);
  }
  std::vector<std::pair<int, Output>>& known = inside_[outside.node];
  for (const auto& [index, inside] : known) {
    if (index == outside.index) return inside;
  }
  ASSIGN_OR_RETURN(const Output inside,
                   AddArgNode(outside.node->name(), outside.dtype(), outside.shape(),
                              outside.node->output_handle_shape(outside.index)));
  known.emplace_back(outside.index, inside);
  captures_.push_back(outside);
  return inside;
}

Result<Output> FunctionBuilder::CopyInside(const Output& output) {
  if (output.node == nullptr || &output.node->graph() != outside_.get()) {
    return InvalidArgument("'", output.ToString(), "' is not of the graph outside");
  }
  std::vector<const Node*> found = {output.node};
  std::unordered_set<const Node*> needed = {output.node};
  for (size_t next = 0; next < found.size(); ++next) {
    const Node& node = *found[next];
    if (IsOfASession(node)) {
      return FailedPrecondition("'", output.ToString(), "' depends on ", node.Label(),
                                ", which only a session has");
    }
    const auto visit = [&](const Node* before) {
      if (needed.insert(before).second) found.push_back(before);
    };
    for (const Output& input : node.inputs()) visit(input.node);
    for (const Node* before : node.control_inputs()) visit(before);
  }
  for (const Node* node : NodesInOrder(*outside_)) {
    if (!needed.contains(node) || copies_.contains(node)) continue;
    std::vector<Output> inputs;
    for (const Output& input : node->inputs()) {
      inputs.push_back({copies_.at(input.node), input.index});
    }
    std::vector<Node*> before;
    for (const Node* control : node->control_inputs()) before.push_back(copies_.at(control));
    copies_[node] = body_->CopyNode(*node, std::move(inputs), std::move(before));
  }
  return Output{copies_.at(output.node), output.index};
}

Status FunctionBuilder::UniteCaptures(std::span<FunctionBuilder* const> functions) {
  std::vector<Output> all;
  std::unordered_map<const Node*, std::vector<int>> known;
  for (const FunctionBuilder* function : functions) {
    if (function->outside_ != functions[0]->outside_) {
      return InvalidArgument("the functions of one node are not all of one graph");
    }
    for (const Output& capture : function->captures_) {
      std::vector<int>& indices = known[capture.node];
      if (std::find(indices.begin(), indices.end(), capture.index) != indices.end()) continue;
      indices.push_back(capture.index);
      all.push_back(capture);
    }
  }
  for (FunctionBuilder* function : functions) {
    std::vector<Node*> args(function->args_.begin(),
                            function->args_.begin() + function->num_arguments());
    for (const Output& capture : all) {
      ASSIGN_OR_RETURN(const Output inside, function->Inside(capture));
      args.push_back(inside.node);
    }
    function->args_ = std::move(args);
    function->captures_ = all;
  }
  return OkStatus();
}

Result<std::string> FunctionBuilder::Define(const FunctionSpec& spec) {
  FunctionEnds ends{.args = {}, .results = spec.results, .result_names = spec.result_names};
  for (size_t i = 0; i < ends.results.size(); ++i) {
    Result<Output> inside = Inside(ends.results[i]);
    if (!inside.ok()) return inside.status().WithContext(StrCat("result ", i));
    ends.results[i] = *inside;
  }
  for (Node* arg : args_) ends.args.push_back({arg, 0});
  ASSIGN_OR_RETURN(OwnedMessage definition, FunctionDefinition(*body_, spec.name, ends));
  Message* const signature = definition->Mutable(fd::kSignature);
  ASSIGN_OR_RETURN(std::string bytes, Serialize(*definition));
  std::string name = spec.name;
  if (spec.append_hash) {
    name += StrCat("_", Fingerprint64(bytes));
    signature->SetString(pb::OpDef::kName, name);
    ASSIGN_OR_RETURN(bytes, Serialize(*definition));
  }
  ASSIGN_OR_RETURN(OpDef def, OpDefFromProto(*signature));
  RETURN_IF_ERROR(MoveOutward(body_->library(), outside_->library()));
  RETURN_IF_ERROR(outside_->library().Add(std::move(def), std::move(bytes)));
  outside_->library().SetSites(name, SitesOf(*body_));
  return name;
}

}  // namespace thalweg
