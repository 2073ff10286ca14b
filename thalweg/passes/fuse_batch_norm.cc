// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fuse_batch_norm.h"

#include <algorithm>
#include <unordered_map>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

bool MayFuse(const Node& node) {
  if (node.FindAttr("_class") != nullptr || node.num_outputs() == 0 || node.output_is_ref(0)) {
    return false;
  }
  const DType type = node.output_type(0);
  return type == DType::kFloat || type == DType::kHalf || type == DType::kBfloat16;
}

bool IsTrue(const Node& node, const char* attr) {
  const AttrValue* value = node.FindAttr(attr);
  return value != nullptr && *value == AttrValue(true);
}

bool SameAttr(const Node& a, const Node& b, const char* name) {
  const AttrValue *x = a.FindAttr(name), *y = b.FindAttr(name);
  return x == y || (x != nullptr && y != nullptr && *x == *y);
}

// The normalization is what the others are made part of.
struct Forward {
  const Node* norm = nullptr;
  const Node* add = nullptr;  // may be null
  const Node* relu = nullptr;
  Output side;  // in the old graph
};
struct Backward {
  const Node* relu_grad = nullptr;
  const Node* norm_grad = nullptr;
  const Node* norm = nullptr;  // whose relu it is
};

class BatchNormFuser {
 public:
  explicit BatchNormFuser(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    FindReaders(nodes);
    for (const Node* node : nodes) LookForward(*node);
    if (forward_.empty()) return step_;
    for (const Node* node : nodes) LookBackward(*node);
    for (const Node* node : nodes) {
      if (absorbed_.count(node) != 0) continue;
      const auto forward = forward_.find(node);
      const auto backward = backward_.find(node);
      if (forward != forward_.end()) {
        RETURN_IF_ERROR(Make(forward->second));
      } else if (backward != backward_.end()) {
        RETURN_IF_ERROR(Make(backward->second));
      } else {
        copier_.Copy(*node);
      }
    }
    return copier_.Finish();
  }

 private:
  // By id: the only reader of a node's first output, when nobody else looks at that output.
  void FindReaders(const std::vector<Node*>& nodes) {
    readers_.resize(nodes.size());
    std::vector<int> uses(nodes.size());
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) {
        if (input.node == nullptr || input.index != 0) continue;
        ++uses[input.node->id()];
        readers_[input.node->id()] = node;
      }
      for (const Node* before : node->control_inputs()) uses[before->id()] += 2;
    }
    for (const Output& fetch : step_.fetches) uses[fetch.node->id()] += fetch.index == 0 ? 2 : 0;
    for (const Node* target : step_.targets) uses[target->id()] += 2;
    for (size_t id = 0; id < nodes.size(); ++id) {
      if (uses[id] != 1) readers_[id] = nullptr;
    }
  }

  // The only reader of `node`, when it may become part of it.
  const Node* Next(const Node& node) const {
    const Node* next = readers_[node.id()];
    const bool may = next != nullptr && MayFuse(*next) && next->device() == node.device() &&
                     next->control_inputs().empty();
    return may ? next : nullptr;
  }

  void LookForward(const Node& node) {
    if (node.op_name() != "FusedBatchNormV3" || !MayFuse(node)) return;
    const PartialShape& x = node.input(0).shape();
    if (!x.known_rank() || x.rank() != 4) return;
    Forward found{.norm = &node};
    const Node* next = Next(node);
    if (next != nullptr && (next->op_name() == "Add" || next->op_name() == "AddV2")) {
      found.add = next;
      found.side = next->input(next->input(0).node == &node ? 1 : 0);
      // It must be there when the normalization runs.
      const bool fits = found.side.node != nullptr && found.side.node->id() < node.id() &&
                        x.IsFullyDefined() && found.side.shape().IsFullyDefined() &&
                        found.side.shape() == x && !next->input_is_ref(0) && !next->input_is_ref(1);
      next = fits ? Next(*next) : nullptr;
    }
    if (next == nullptr || next->op_name() != "Relu") return;
    found.relu = next;
    absorbed_[next] = &node;
    if (found.add != nullptr) absorbed_[found.add] = &node;
    forward_[&node] = found;
  }

  void LookBackward(const Node& node) {
    if (node.op_name() != "FusedBatchNormGradV3" || !MayFuse(node)) return;
    if (node.output_type(0) != DType::kFloat) return;  // nor has the schema bfloat16
    const Node* relu_grad = node.input(0).node;
    if (relu_grad == nullptr || relu_grad->op_name() != "ReluGrad" || !MayFuse(*relu_grad) ||
        Next(*relu_grad) != &node || !relu_grad->control_inputs().empty()) {
      return;
    }
    const Node* relu = relu_grad->input(1).node;
    const auto of = absorbed_.find(relu);
    if (of == absorbed_.end() || relu->op_name() != "Relu") return;
    const Node& norm = *of->second;
    const auto from_norm = [&](int input, int output) {
      return node.input(input) == Output{const_cast<Node*>(&norm), output};
    };
    const bool same = forward_.at(&norm).add == nullptr && IsTrue(norm, "is_training") &&
                      node.input(1) == norm.input(0) && node.input(2) == norm.input(1) &&
                      from_norm(3, 3) && from_norm(4, 4) && from_norm(5, 5) &&
                      SameAttr(node, norm, "is_training") && SameAttr(node, norm, "epsilon") &&
                      SameAttr(node, norm, "data_format");
    if (!same) return;
    absorbed_[relu_grad] = &node;
    backward_[&node] = {relu_grad, &node, &norm};
  }

  // A node for `first` with the attributes that both have, all that the parts wait for.
  NodeSpec SpecOf(const Node& first, std::string op, std::string from, int64_t side_inputs) const {
    NodeSpec spec;
    spec.op = std::move(op);
    spec.device = first.device();
    for (const Node* before : first.control_inputs()) {
      Node* const now = copier_.Map(before);
      if (now != nullptr) spec.control_inputs.push_back(now);
    }
    for (const char* name : {"epsilon", "data_format", "is_training"}) {
      const AttrValue* value = first.FindAttr(name);
      if (value != nullptr) spec.attrs.Set(name, *value);
    }
    spec.attrs.Set("T", first.output_type(0));
    spec.attrs.Set("U", DType::kFloat);
    spec.attrs.Set("num_side_inputs", side_inputs);
    spec.attrs.Set("activation_mode", std::string("Relu"));
    spec.attrs.Set("_fused_from", std::move(from));
    return spec;
  }

  Result<Node*> Add(const Node& old, NodeSpec spec) {
    spec.site = copier_.graph().InternSite(old.graph().Site(old.site()));
    return copier_.graph().AddNode(std::move(spec));
  }

  Status Make(const Forward& f) {
    const std::string parts =
        StrCat(f.norm->Label(), f.add == nullptr ? "" : StrCat(", ", f.add->Label()), ", ",
               f.relu->Label());
    NodeSpec spec = SpecOf(*f.norm, "_FusedBatchNormEx", parts, f.add == nullptr ? 0 : 1);
    spec.name = f.relu->name();
    for (const Output& input : f.norm->inputs()) spec.inputs.push_back(copier_.Map(input));
    if (f.add != nullptr) spec.inputs.push_back(copier_.Map(f.side));
    const AttrValue* average = f.norm->FindAttr("exponential_avg_factor");
    if (average != nullptr) spec.attrs.Set("exponential_avg_factor", *average);
    ASSIGN_OR_RETURN(Node * made, Add(*f.norm, std::move(spec)));
    copier_.Replace(*f.norm, made);
    copier_.Replace(*f.relu, made);
    copier_.SetOrigin(*made, step_.Origin(*f.relu));
    return OkStatus();
  }

  Status Make(const Backward& b) {
    NodeSpec spec = SpecOf(*b.norm_grad, "_FusedBatchNormGradEx",
                           StrCat(b.relu_grad->Label(), ", ", b.norm_grad->Label()), 0);
    spec.name = b.norm_grad->name();
    spec.inputs = {copier_.Map(b.relu_grad->input(0))};
    for (int i = 1; i < 6; ++i) spec.inputs.push_back(copier_.Map(b.norm_grad->input(i)));
    spec.inputs.push_back(copier_.Map(b.norm->input(2)));
    spec.inputs.push_back(copier_.Map(b.relu_grad->input(1)));
    ASSIGN_OR_RETURN(Node * made, Add(*b.norm_grad, std::move(spec)));
    copier_.Replace(*b.norm_grad, made);
    copier_.SetOrigin(*made, step_.Origin(*b.norm_grad));
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::vector<const Node*> readers_;
  std::unordered_map<const Node*, Forward> forward_;       // by the normalization
  std::unordered_map<const Node*, Backward> backward_;     // by its gradient
  std::unordered_map<const Node*, const Node*> absorbed_;  // what becomes part of which
};

}  // namespace

Result<StepGraph> FuseBatchNorms(const StepGraph& step) { return BatchNormFuser(step).Run(); }

}  // namespace thalweg
