// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/saver_nodes.h"

#include <optional>
#include <unordered_set>

#include "thalweg/tensor/tensor.h"

namespace thalweg {
namespace {

// The element of a vector of strings that is a constant.
std::optional<std::string> TextOf(const Output& texts, int i) {
  if (texts.node == nullptr || texts.node->op_name() != "Const") return std::nullopt;
  const Result<Tensor> value = texts.node->Attr<Tensor>("value");
  if (!value.ok() || value->dtype() != DType::kString || i >= value->num_elements()) {
    return std::nullopt;
  }
  return value->data<std::string>()[i];
}

// The output of a RestoreV2 that an input is, but for what changes its form.
Output RestoredBehind(Output input) {
  constexpr int kMostBetween = 4;
  for (int i = 0; input.node != nullptr && i < kMostBetween; ++i) {
    const std::string& op = input.node->op_name();
    if (op == "RestoreV2") return input;
    if (op != "Identity" && op != "Reshape") break;
    input = input.node->input(0);
  }
  return {};
}

PartialShape ShapeThatIsSet(const Node& setter) {
  if (setter.op_name() == "Assign") {
    const Result<bool> validates = setter.Attr<bool>("validate_shape");
    if (validates.ok() && !*validates) return PartialShape::Unknown();
    return setter.input(0).shape();
  }
  if (setter.op_name() != "AssignVariableOp") return PartialShape::Unknown();
  const Output& handle = setter.input(0);
  const HandleShape* const known = handle.node->output_handle_shape(handle.index);
  return known == nullptr ? PartialShape::Unknown() : known->shape;
}

// A tensor that is reshaped first may have any shape.
bool IsReshaped(const Output& input, const Output& restored) {
  for (Output at = input; !(at == restored); at = at.node->input(0)) {
    if (at.node->op_name() == "Reshape") return true;
  }
  return false;
}

void AddTensorsOf(Node* setter, std::vector<RestoredTensor>* rows) {
  for (const Output& input : setter->inputs()) {
    const Output restored = RestoredBehind(input);
    if (restored.node == nullptr) continue;
    const std::optional<std::string> name = TextOf(restored.node->input(1), restored.index);
    const std::optional<std::string> slice = TextOf(restored.node->input(2), restored.index);
    if (!name || !slice) continue;
    rows->push_back(
        {*name, *slice, restored,
         IsReshaped(input, restored) ? PartialShape::Unknown() : ShapeThatIsSet(*setter), setter});
  }
}

}  // namespace

std::vector<Node*> SaveNodes(Output save_tensor) {
  std::vector<Node*> found, open = {save_tensor.node};
  std::unordered_set<const Node*> seen(open.begin(), open.end());
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    if (node->op_name() == "SaveV2") {
      found.push_back(node);
      continue;
    }
    const auto visit = [&](Node* before) {
      if (before != nullptr && seen.insert(before).second) open.push_back(before);
    };
    for (const Output& input : node->inputs()) visit(input.node);
    for (Node* before : node->control_inputs()) visit(before);
  }
  return found;
}

std::vector<RestoredTensor> RestoredTensors(const Node& restore_op) {
  std::vector<RestoredTensor> rows;
  std::vector<Node*> open = restore_op.control_inputs();
  std::unordered_set<const Node*> seen(open.begin(), open.end());
  for (size_t i = 0; i < open.size(); ++i) {
    Node* const node = open[i];
    if (node->op_name() != "NoOp") {
      AddTensorsOf(node, &rows);
      continue;
    }
    for (Node* before : node->control_inputs()) {
      if (seen.insert(before).second) open.push_back(before);
    }
  }
  return rows;
}

}  // namespace thalweg
