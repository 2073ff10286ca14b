// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/colocation.h"

#include <algorithm>

namespace thalweg {

std::vector<std::string> ColocationNames(const Node& node) {
  std::vector<std::string> names;
  const AttrValue* value = node.FindAttr("_class");
  if (value == nullptr) return names;
  Result<std::vector<std::string>> list = value->Get<std::vector<std::string>>();
  if (!list.ok()) return names;
  constexpr std::string_view kPrefix = "loc:@";
  for (const std::string& entry : *list) {
    if (entry.starts_with(kPrefix)) names.push_back(entry.substr(kPrefix.size()));
  }
  return names;
}

ColocationGroups::ColocationGroups(const Graph& graph) : nodes_(graph.Nodes()) {
  const int n = num_nodes();
  root_.resize(static_cast<size_t>(n));
  next_.resize(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) root_[i] = next_[i] = i;
  std::unordered_map<std::string, int> by_name;  // of names in loc:@, existing or not
  for (const Node* node : nodes_) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output& input = node->input(i);
      if (input.node == nullptr || input.node->id() >= n) continue;
      const bool back_edge = node->control() == Node::Control::kMerge &&
                             input.node->control() == Node::Control::kNextIteration;
      if (node->input_is_ref(i) || node->input_type(i) == DType::kResource || back_edge) {
        Join(node->id(), input.node->id());
      }
    }
    for (const std::string& name : ColocationNames(*node)) {
      const Node* target = graph.FindNode(name);
      const int id = target != nullptr && target->id() < n ? target->id() : node->id();
      Join(node->id(), by_name.try_emplace(name, id).first->second);
    }
  }
  for (int i = 0; i < n; ++i) root_[i] = Root(i);
}

int ColocationGroups::Root(int id) {
  while (root_[id] != id) id = root_[id] = root_[root_[id]];
  return id;
}

void ColocationGroups::Join(int a, int b) {
  a = Root(a);
  b = Root(b);
  if (a == b) return;
  // Without ranks, but with halved paths: logarithmic at worst.
  root_[std::max(a, b)] = std::min(a, b);
  std::swap(next_[a], next_[b]);
}

std::vector<const Node*> ColocationGroups::Members(int group) const {
  std::vector<const Node*> members;
  int id = group;
  do {
    members.push_back(nodes_[id]);
    id = next_[id];
  } while (id != group);
  std::sort(members.begin(), members.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return members;
}

std::string ColocationGroups::Reason(const Node& node) const {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& input = node.input(i);
    if (input.node == nullptr) continue;
    if (node.input_is_ref(i)) return StrCat("takes the reference of ", input.node->Label());
    if (node.input_type(i) == DType::kResource) {
      return StrCat("takes the handle of ", input.node->Label());
    }
  }
  for (const std::string& name : ColocationNames(node)) {
    return StrCat("asks for the device of '", name, "' (loc:@)");
  }
  return "";
}

}  // namespace thalweg
