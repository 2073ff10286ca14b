// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fold_constants.h"

#include <algorithm>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

// A node with more costs less in a step than a constant for each.
constexpr int kMostOutputs = 1000;

class Folder {
 public:
  Folder(const StepGraph& step, Evaluator& evaluator, int64_t limit)
      : step_(step), evaluator_(evaluator), limit_(limit), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    values_.resize(nodes.size());
    same_.resize(nodes.size());
    needed_.resize(nodes.size());
    guarded_.resize(nodes.size());
    impure_.resize(nodes.size());
    for (const Node* node : nodes) {
      for (const Node* before : node->control_inputs()) needed_[before->id()] = true;
    }
    for (const Output& fetch : step_.fetches) needed_[fetch.node->id()] = true;
    for (const Node* target : step_.targets) needed_[target->id()] = true;
    for (const Node* node : nodes) {
      RETURN_IF_ERROR(step_.Visit(*node));
      Look(*node);
      // An evaluation may have been ended.
      if (evaluated_ && step_.work != nullptr) RETURN_IF_ERROR(step_.work->Look());
      evaluated_ = false;
    }
    if (!folded_) return step_;
    for (const Node* node : nodes) {
      if (IsKnown(*node)) continue;  // made when somebody reads it
      if (same_[node->id()]) {
        copier_.Redirect({const_cast<Node*>(node), 0}, copier_.Map(node->input(0)));
        continue;
      }
      for (const Output& input : node->inputs()) RETURN_IF_ERROR(MakeConstant(input));
      copier_.Copy(*node);
    }
    for (const Output& fetch : step_.fetches) RETURN_IF_ERROR(MakeConstant(fetch));
    for (const Node* target : step_.targets) {
      if (IsKnown(*target)) RETURN_IF_ERROR(MakeConstant({const_cast<Node*>(target), 0}));
    }
    return copier_.Finish();
  }

 private:
  bool IsKnown(const Node& node) const { return !values_[node.id()].empty(); }

  // Fills what is known of a node from what is known of its inputs.
  void Look(const Node& node) {
    const int id = node.id();
    guarded_[id] = node.control() != Node::Control::kNone || node.op_name() == "_Recv";
    const bool keeps_value = node.op_name() == "VariableV2" || node.op_name() == "Variable" ||
                             node.op_name() == "VarHandleOp" || node.op_name() == "ReadVariableOp";
    impure_[id] = node.op().def.is_stateful && !keeps_value;
    const auto inherit = [&](const Node* before) {
      // Back edges lead to a Merge, which is guarded itself.
      guarded_[id] = guarded_[id] || guarded_[before->id()];
      impure_[id] = impure_[id] || impure_[before->id()];
    };
    for (const Output& input : node.inputs()) inherit(input.node);
    for (const Node* before : node.control_inputs()) inherit(before);
    if (node.op_name() == "Const" && node.control_inputs().empty()) {
      Result<Tensor> value = node.Attr<Tensor>("value");
      if (value.ok()) values_[id] = {*std::move(value)};
      return;
    }
    if (!MayFold(node)) return;
    same_[id] = GivesItsInput(node);
    if (same_[id] || FoldShape(node)) {
      folded_ = true;
      return;
    }
    if (IsTooLarge(node)) return;
    std::vector<Tensor> inputs;
    for (const Output& input : node.inputs()) {
      if (!IsKnown(*input.node)) return;
      inputs.push_back(values_[input.node->id()][input.index]);
    }
    evaluated_ = true;
    Result<std::vector<Tensor>> outputs = evaluator_.Evaluate(node, inputs, step_.work);
    if (!outputs.ok()) return;
    for (const Tensor& output : *outputs) {
      if (output.empty() || static_cast<int64_t>(output.bytes()) > limit_) return;
    }
    values_[id] = *std::move(outputs);
    folded_ = true;
  }

  bool MayFold(const Node& node) const {
    if (node.op().def.is_stateful || node.control() != Node::Control::kNone ||
        node.num_inputs() == 0 || node.num_outputs() == 0 || node.num_outputs() > kMostOutputs ||
        !node.control_inputs().empty() || guarded_[node.id()] || IsPlaceholder(node)) {
      return false;
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.input_is_ref(i)) return false;
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      const DType dtype = node.output_type(i);
      if (node.output_is_ref(i) || dtype == DType::kResource || dtype == DType::kVariant) {
        return false;
      }
    }
    return true;
  }

  // As far as its shapes say.
  bool IsTooLarge(const Node& node) const {
    for (int i = 0; i < node.num_outputs(); ++i) {
      const int64_t elements = node.output_shape(i).num_elements();
      const auto bytes = static_cast<int64_t>(DTypeStride(node.output_type(i)));
      if (elements > 0 && elements > limit_ / bytes) return true;
    }
    return false;
  }

  // A reduction over no axes, a Reshape to the shape that its input has: gradients of operations
  // that might have broadcast, but did not, are full of them.
  bool GivesItsInput(const Node& node) const {
    if (node.num_inputs() != 2 || needed_[node.id()] || IsKnown(*node.input(0).node)) return false;
    const std::string& op = node.op_name();
    const int with = node.input(1).node->id();
    if (op == "Reshape") {
      const PartialShape& shape = node.output_shape(0);
      return !impure_[with] && shape.IsFullyDefined() && shape == node.input(0).shape();
    }
    const bool reduces = op == "Sum" || op == "Mean" || op == "Prod" || op == "Max" ||
                         op == "Min" || op == "All" || op == "Any";
    return reduces && !values_[with].empty() &&
           values_[with][node.input(1).index].num_elements() == 0;
  }

  // The shape of a value that need not be computed.
  bool FoldShape(const Node& node) {
    const std::string& op = node.op_name();
    if ((op != "Shape" && op != "Size" && op != "Rank") || impure_[node.id()]) return false;
    const PartialShape& shape = node.input(0).shape();
    if (!shape.known_rank() || (op != "Rank" && !shape.IsFullyDefined())) return false;
    std::vector<int64_t> values;
    if (op == "Shape") {
      values.assign(shape.dims().begin(), shape.dims().end());
    } else {
      values.push_back(op == "Size" ? shape.num_elements() : shape.rank());
    }
    const Shape result = op == "Shape" ? Shape{static_cast<int64_t>(values.size())} : Shape();
    if (node.output_type(0) == DType::kInt64) {
      values_[node.id()] = {Tensor::Of<int64_t>(values, result)};
    } else {
      std::vector<int32_t> narrow(values.begin(), values.end());
      if (!std::equal(values.begin(), values.end(), narrow.begin())) return false;
      values_[node.id()] = {Tensor::Of<int32_t>(narrow, result)};
    }
    return true;
  }

  // Makes the constant for an output whose value is known, once.
  Status MakeConstant(const Output& output) {
    const Node& node = *output.node;
    if (!IsKnown(node) || copier_.Map(output).node != nullptr) return OkStatus();
    if (node.op_name() == "Const") {
      copier_.Copy(node);
      return OkStatus();
    }
    const Tensor& value = values_[node.id()][output.index];
    NodeSpec spec;
    spec.name =
        node.num_outputs() == 1 ? node.name() : StrCat(node.name(), "/output_", output.index);
    spec.name = copier_.graph().UniqueName(spec.name);
    spec.op = "Const";
    spec.attrs = {{"dtype", value.dtype()}, {"value", value}};
    ASSIGN_OR_RETURN(Node * made, copier_.Make(node, std::move(spec)));
    copier_.Redirect(output, {made, 0});
    return OkStatus();
  }

  const StepGraph& step_;
  Evaluator& evaluator_;
  const int64_t limit_;
  GraphCopier copier_;
  bool folded_ = false;
  bool evaluated_ = false;
  std::vector<std::vector<Tensor>> values_;  // by id; empty where unknown
  std::vector<bool> same_;                   // its output is its first input
  std::vector<bool> needed_;                 // by a fetch, a target or a control edge
  std::vector<bool> guarded_;                // may be dead, or runs in a loop
  std::vector<bool> impure_;                 // running it is seen by others
};

}  // namespace

Result<StepGraph> FoldConstants(const StepGraph& step, Evaluator& evaluator, int64_t limit_bytes) {
  return Folder(step, evaluator, limit_bytes).Run();
}

}  // namespace thalweg
