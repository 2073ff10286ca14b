// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/cse.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_map>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

void Mix(size_t& hash, size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u; }

size_t HashText(std::string_view text) { return std::hash<std::string_view>()(text); }

// Equal values hash alike; large tensors are told apart by their first bytes only.
size_t HashAttr(const AttrValue& value) {
  size_t hash = static_cast<size_t>(value.kind());
  if (value.kind() == AttrValue::Kind::kType) {
    Mix(hash, static_cast<size_t>(*value.Get<DType>()));
  } else if (value.kind() == AttrValue::Kind::kTensor) {
    const Tensor tensor = *value.Get<Tensor>();
    Mix(hash, static_cast<size_t>(tensor.dtype()));
    const Shape shape = tensor.shape();
    for (int64_t d : shape.dims()) Mix(hash, static_cast<size_t>(d));
    if (IsPlain(tensor.dtype())) {
      Mix(hash, HashText({static_cast<const char*>(tensor.raw_data()),
                          std::min<size_t>(tensor.bytes(), 256)}));
    }
  } else {
    Mix(hash, HashText(value.ToString()));
  }
  return hash;
}

// What a node computes, with inputs as they are after merging.
struct Expression {
  const Node* node;
  std::vector<Output> inputs;
  std::vector<const Node*> controls;
  size_t hash;

  bool operator==(const Expression& other) const {
    if (hash != other.hash || node->op_name() != other.node->op_name() ||
        node->device() != other.node->device() || inputs != other.inputs ||
        controls != other.controls) {
      return false;
    }
    // Defaults may be spelled out in one node and not in the other.
    for (const AttrDef& def : node->op().def.attrs) {
      const AttrValue* a = node->FindAttr(def.name);
      const AttrValue* b = other.node->FindAttr(def.name);
      if ((a == nullptr) != (b == nullptr) || (a != nullptr && !(*a == *b))) return false;
    }
    const AttrValue* a = node->FindAttr("_class");
    const AttrValue* b = other.node->FindAttr("_class");
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  }
};
struct ExpressionHash {
  size_t operator()(const Expression& e) const { return e.hash; }
};

// A large tensor of one value is made faster than it is copied, and zeros take no memory before
// they are touched: each variable that starts as one keeps its own.
bool IsLargeFill(const Node& node) {
  constexpr int64_t kLarge = int64_t{1} << 20;
  return (node.op_name() == "Fill" || node.op_name() == "ZerosLike") &&
         node.output_shape(0).num_elements() > kLarge;
}

bool MayMerge(const Node& node) {
  if (IsLargeFill(node) || node.op().def.is_stateful || node.control() != Node::Control::kNone ||
      IsPlaceholder(node) || node.num_outputs() == 0) {
    return false;
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    // A plain argument that reads a reference reads at its own time.
    if (node.input_is_ref(i) || node.input(i).node->output_is_ref(node.input(i).index))
      return false;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (node.output_is_ref(i)) return false;
  }
  return true;
}

Expression MakeExpression(const Node& node, const std::vector<Node*>& stands_for) {
  Expression e{&node, {}, {}, HashText(node.op_name())};
  for (const Output& input : node.inputs()) {
    e.inputs.push_back({stands_for[input.node->id()], input.index});
  }
  if (node.op().def.is_commutative) {
    std::sort(e.inputs.begin(), e.inputs.end(), [](const Output& a, const Output& b) {
      return std::make_tuple(a.node->id(), a.index) < std::make_tuple(b.node->id(), b.index);
    });
  }
  for (const Node* before : node.control_inputs()) {
    e.controls.push_back(stands_for[before->id()]);
  }
  std::sort(e.controls.begin(), e.controls.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  e.controls.erase(std::unique(e.controls.begin(), e.controls.end()), e.controls.end());
  for (const Output& input : e.inputs) Mix(e.hash, OutputHash()(input));
  for (const Node* before : e.controls) Mix(e.hash, static_cast<size_t>(before->id()));
  for (const AttrDef& def : node.op().def.attrs) {
    const AttrValue* value = node.FindAttr(def.name);
    if (value != nullptr) Mix(e.hash, HashAttr(*value));
  }
  return e;
}

}  // namespace

Result<StepGraph> MergeCommonSubexpressions(const StepGraph& step) {
  const std::vector<Node*> nodes = step.graph->Nodes();
  std::vector<Node*> stands_for = nodes;  // by id: the first of the equal nodes
  std::unordered_map<Expression, Node*, ExpressionHash> first;
  first.reserve(nodes.size());
  bool merged = false;
  for (Node* node : nodes) {
    RETURN_IF_ERROR(step.Visit(*node));
    if (!MayMerge(*node)) continue;
    Node* const same = first.emplace(MakeExpression(*node, stands_for), node).first->second;
    stands_for[node->id()] = same;
    merged |= same != node;
  }
  if (!merged) return step;
  GraphCopier copier(step);
  for (const Node* node : nodes) {
    const Node* const same = stands_for[node->id()];
    if (same == node) {
      copier.Copy(*node);
    } else {
      copier.Replace(*node, copier.Map(same));
    }
  }
  return copier.Finish();
}

}  // namespace thalweg
