// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fold_variables.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

using Control = Node::Control;

// What passes on the variable that it gets: its outputs are values, as its inputs are.
bool PassesOn(std::string_view op) {
  constexpr auto kOps = std::to_array<std::string_view>(
      {"Enter", "Exit", "Identity", "IdentityN", "Merge", "NextIteration", "PreventGradient",
       "StopGradient", "Switch", "_SwitchN"});
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

// Stateful only for what it stands beside: the constant has no order.
bool IsVariableOrRead(std::string_view op) {
  constexpr auto kOps = std::to_array<std::string_view>(
      {"IsVariableInitialized", "ReadVariableOp", "ResourceGather", "ResourceGatherNd",
       "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2"});
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

class VariableFolder {
 public:
  VariableFolder(const StepGraph& step, const VariableValues& values)
      : step_(step), values_(values), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    noticed_.resize(nodes.size());
    in_flow_.resize(nodes.size());
    orders_.resize(nodes.size());
    for (const Node* node : nodes) Look(*node);
    for (const Node* node : nodes) RETURN_IF_ERROR(Place(*node));
    return copier_.Finish();
  }

 private:
  // An output that carried a variable, and the type of the value that it carries now.
  struct Carried {
    DType dtype = DType::kInvalid;
    const Node* variable = nullptr;
  };

  void Look(const Node& node) {
    const auto id = static_cast<size_t>(node.id());
    noticed_[id] = node.op().def.is_stateful && !IsVariableOrRead(node.op_name());
    in_flow_[id] = node.control() != Control::kNone || node.op_name() == "_SwitchN";
    const auto inherit = [&](const Node* before) {
      const auto from = static_cast<size_t>(before->id());
      if (from >= id) return;  // a back edge leads to a Merge
      noticed_[id] = noticed_[id] || noticed_[from];
      in_flow_[id] = in_flow_[id] || in_flow_[from];
    };
    for (const Output& input : node.inputs()) inherit(input.node);
    for (const Node* before : node.control_inputs()) {
      inherit(before);
      orders_[static_cast<size_t>(before->id())] = true;
    }
  }

  // Whether it makes no difference if a node waits for this one.
  bool IsQuiet(const Node& node) const {
    const auto id = static_cast<size_t>(node.id());
    return !noticed_[id] && !in_flow_[id];
  }

  std::vector<Node*> Controls(const Node& node) const {
    std::vector<Node*> controls;
    for (const Node* before : node.control_inputs()) {
      Node* const now = IsQuiet(*before) ? nullptr : copier_.Map(before);
      if (now != nullptr && std::find(controls.begin(), controls.end(), now) == controls.end()) {
        controls.push_back(now);
      }
    }
    return controls;
  }

  const Carried* CarriedBy(const Output& source) const {
    const auto found = carried_.find(source);
    return found == carried_.end() ? nullptr : &found->second;
  }

  Status Place(const Node& node) {
    RETURN_IF_ERROR(step_.Visit(node));
    if (const auto value = values_.find(node.name()); value != values_.end()) {
      return PlaceValue(node, value->second);
    }
    const Carried* carried = nullptr;
    for (int i = 0; i < node.num_inputs() && carried == nullptr; ++i) {
      const bool is_handle = node.input_type(i) == DType::kResource || node.input_is_ref(i);
      if (is_handle) carried = CarriedBy(node.input(i));
    }
    if (carried != nullptr) return PlaceReader(node, *carried);
    if (IsNeedless(node)) {
      copier_.Redirect({const_cast<Node*>(&node), 0}, copier_.Map(node.input(0)));
      return OkStatus();
    }
    return Add(node, {.name = node.name(), .op = node.op_name(), .attrs = node.attrs()}).status();
  }

  // An Identity that only gives a value another name.
  bool IsNeedless(const Node& node) const {
    if (node.op_name() != "Identity" || orders_[static_cast<size_t>(node.id())]) return false;
    const bool is_target =
        std::find(step_.targets.begin(), step_.targets.end(), &node) != step_.targets.end();
    const Output source = copier_.Map(node.input(0));
    return !is_target && Controls(node).empty() && source.node != nullptr &&
           !source.node->output_is_ref(source.index);
  }

  Status PlaceValue(const Node& node, const Tensor& value) {
    NodeSpec spec{
        .name = node.name(), .op = "Const", .attrs = {{"dtype", value.dtype()}, {"value", value}}};
    ASSIGN_OR_RETURN(Node * made, Make(node, std::move(spec)));
    carried_[{const_cast<Node*>(&node), 0}] = {value.dtype(), &node};
    copier_.Replace(node, made);
    return OkStatus();
  }

  // What does with a value what `node` does with a variable.
  Status PlaceReader(const Node& node, const Carried& carried) {
    std::string_view op = node.op_name();
    if (op.starts_with("Ref")) op.remove_prefix(3);
    if (PassesOn(op)) return PlacePassing(node, op, carried);
    NodeSpec spec{.name = node.name(), .attrs = node.attrs()};
    if (op == "ReadVariableOp") {
      const Output source = copier_.Map(node.input(0));
      if (source.node->op_name() == "Const" && Controls(node).empty()) {
        copier_.Redirect({const_cast<Node*>(&node), 0}, source);
        return OkStatus();
      }
      spec.op = "Identity";
      spec.attrs = {{"T", carried.dtype}};
      return Add(node, std::move(spec)).status();
    }
    if (op == "VariableShape") {
      spec.op = "Shape";
      spec.attrs = {{"T", carried.dtype}, {"out_type", node.output_type(0)}};
      return Add(node, std::move(spec)).status();
    }
    if (op == "ResourceGather") return PlaceGather(node, carried);
    if (op == "ResourceGatherNd") {
      spec.op = "GatherNd";
      spec.attrs = {{"Tparams", carried.dtype}, {"Tindices", node.input_type(1)}};
      return Add(node, std::move(spec)).status();
    }
    if (op == "IsVariableInitialized" || op == "VarIsInitializedOp") return PlaceTrue(node);
    if (op == "DisableCopyOnRead") return OkStatus();
    return FailedPrecondition(node.Label(), " does more with the variable '",
                              carried.variable->name(), "' than read it");
  }

  Status PlacePassing(const Node& node, std::string_view op, const Carried& carried) {
    NodeSpec spec{.name = node.name(), .op = std::string(op), .attrs = node.attrs()};
    if (op == "IdentityN") {
      std::vector<DType> types;
      for (int i = 0; i < node.num_inputs(); ++i) {
        const Carried* const one = CarriedBy(node.input(i));
        types.push_back(one == nullptr ? node.input_type(i) : one->dtype);
        if (one != nullptr) carried_[{const_cast<Node*>(&node), i}] = *one;
      }
      spec.attrs.Set("T", std::move(types));
    } else {
      spec.attrs.Set("T", carried.dtype);
      const int count = op == "Merge" ? 1 : node.num_outputs();
      for (int i = 0; i < count; ++i) carried_[{const_cast<Node*>(&node), i}] = carried;
    }
    return Add(node, std::move(spec)).status();
  }

  Status PlaceGather(const Node& node, const Carried& carried) {
    ASSIGN_OR_RETURN(const int64_t batch_dims, node.Attr<int64_t>("batch_dims"));
    const Output params = copier_.Map(node.input(0));
    // In the frame of the values: what has no input is in none.
    std::vector<Node*> beside;
    if (in_flow_[static_cast<size_t>(node.id())]) beside.push_back(params.node);
    ASSIGN_OR_RETURN(
        Node * axis,
        Make(node, {.name = StrCat(node.name(), "/axis"),
                    .op = "Const",
                    .control_inputs = std::move(beside),
                    .attrs = {{"dtype", DType::kInt32},
                              {"value", Tensor::Scalar(static_cast<int32_t>(batch_dims))}}}));
    ASSIGN_OR_RETURN(Node * made,
                     Make(node, {.name = node.name(),
                                 .op = "GatherV2",
                                 .inputs = {params, copier_.Map(node.input(1)), {axis, 0}},
                                 .control_inputs = Controls(node),
                                 .attrs = {{"Tparams", carried.dtype},
                                           {"Tindices", node.input_type(1)},
                                           {"Taxis", DType::kInt32},
                                           {"batch_dims", batch_dims}}}));
    copier_.Replace(node, made);
    return OkStatus();
  }

  Status PlaceTrue(const Node& node) {
    std::vector<Node*> beside = Controls(node);
    if (in_flow_[static_cast<size_t>(node.id())]) {
      beside.push_back(copier_.Map(node.input(0)).node);
    }
    ASSIGN_OR_RETURN(
        Node * made,
        Make(node, {.name = node.name(),
                    .op = "Const",
                    .control_inputs = std::move(beside),
                    .attrs = {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}}}));
    copier_.Replace(node, made);
    return OkStatus();
  }

  // With the inputs and the control inputs of `node`, where they have gone.
  Result<Node*> Add(const Node& node, NodeSpec spec) {
    std::vector<int> open;
    for (int i = 0; i < node.num_inputs(); ++i) {
      spec.inputs.push_back(copier_.Map(node.input(i)));
      if (spec.inputs.back().node == nullptr) open.push_back(i);
    }
    spec.control_inputs = Controls(node);
    const bool is_same = spec.op == node.op_name() && AreSame(node, spec.inputs);
    Node* made = nullptr;
    if (is_same) {
      // Nothing that its shapes follow from has changed.
      made = copier_.graph().CopyNode(node, std::move(spec.inputs), std::move(spec.control_inputs));
      copier_.SetOrigin(*made, step_.Origin(node));
    } else {
      ASSIGN_OR_RETURN(made, Make(node, std::move(spec)));
    }
    copier_.Replace(node, made);
    for (const int i : open) copier_.LeaveOpen(made, i, node.input(i));
    return made;
  }

  // Whether the inputs have the types that they had, references to variables included.
  static bool AreSame(const Node& node, const std::vector<Output>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int at = static_cast<int>(i);
      if (inputs[i].node == nullptr) {
        // A loop's variable that came in as a value stays one.
        if (node.input_type(at) == DType::kResource || node.input_is_ref(at)) return false;
        continue;
      }
      if (inputs[i].dtype() != node.input_type(at)) return false;
    }
    return true;
  }

  Result<Node*> Make(const Node& node, NodeSpec spec) {
    spec.make_unique = true;
    return copier_.Make(node, std::move(spec));
  }

  const StepGraph& step_;
  const VariableValues& values_;
  GraphCopier copier_;
  std::unordered_map<Output, Carried, OutputHash> carried_;
  std::vector<bool> noticed_;  // by id: it, or what it needs, does what others see
  std::vector<bool> in_flow_;  // by id: may be dead, or runs in a loop
  std::vector<bool> orders_;   // by id: somebody waits for it
};

}  // namespace

Result<StepGraph> FoldVariables(const StepGraph& step, const VariableValues& values) {
  return VariableFolder(step, values).Run();
}

}  // namespace thalweg
