// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "thalweg/base/check.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/nearest_names.h"
#include "thalweg/graph/node_maker.h"

namespace thalweg {

Graph::Graph(std::shared_ptr<const OpRegistry> registry)
    : registry_(std::move(registry)), library_(std::make_unique<FunctionLibrary>()) {
  sites_.push_back(std::make_unique<std::string>("unknown"));
}

Graph::~Graph() = default;

Result<Node*> Graph::AddNode(NodeSpec spec) {
  const bool make_unique = spec.make_unique || spec.name.empty();
  NodeMaker maker(*this, std::move(spec));
  ASSIGN_OR_RETURN(std::unique_ptr<Node> node, maker.Make());
  return Insert(std::move(node), make_unique);
}

Result<Node*> Graph::Insert(std::unique_ptr<Node> node, bool make_unique) {
  Node* const added = node.get();
  std::lock_guard<std::mutex> lock(mutex_);
  if (make_unique) {
    added->name_ = FirstFree(added->name_.empty() ? added->op_name() : added->name_);
  } else if (by_name_.contains(added->name_)) {
    return InvalidArgument("Duplicate node name in graph: '", added->name_, "' (",
                           by_name_.find(added->name_)->second->Label(), " is there already)");
  }
  if (nodes_.size() >= static_cast<size_t>(std::numeric_limits<int>::max())) {
    return ResourceExhausted("a graph holds at most ", nodes_.size(), " nodes");
  }
  added->id_ = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(node));
  by_name_.emplace(added->name_, added);
  return added;
}

Node* Graph::CopyNode(const Node& node, std::vector<Output> inputs,
                      std::vector<Node*> control_inputs) {
  CHECK(inputs.size() == node.inputs_.size());
  auto copy = std::make_unique<Node>();
  copy->graph_ = this;
  copy->control_ = node.control_;
  copy->ref_inputs_ = node.ref_inputs_;
  copy->op_ = node.op_;
  copy->name_ = node.name_;
  copy->device_ = node.device_;
  copy->inputs_ = std::move(inputs);
  copy->control_inputs_ = std::move(control_inputs);
  copy->input_types_ = node.input_types_;
  copy->attrs_ = node.attrs_;
  copy->outputs_.resize(node.outputs_.size());
  for (size_t i = 0; i < node.outputs_.size(); ++i) {
    const Node::OutputInfo& from = node.outputs_[i];
    Node::OutputInfo& to = copy->outputs_[i];
    to.dtype = from.dtype;
    to.is_ref = from.is_ref;
    to.shape = from.shape;
    if (from.handle != nullptr) to.handle = std::make_unique<HandleShape>(*from.handle);
  }
  if (node.site_ != 0) copy->site_ = InternSite(node.graph().Site(node.site_));
  Result<Node*> added = Insert(std::move(copy), true);
  CHECK(added.ok());
  return *added;
}

Status Graph::SetBackEdge(Node* merge, int index, Output source) {
  if (merge->control() != Node::Control::kMerge) {
    return InvalidArgument(merge->Label(), " is no Merge: only a Merge has a back edge");
  }
  if (index < 0 || index >= merge->num_inputs()) {
    return InvalidArgument(merge->Label(), " has ", merge->num_inputs(), " inputs, there is no ",
                           index);
  }
  if (source.node == nullptr || &source.node->graph() != this ||
      source.node->control() != Node::Control::kNextIteration) {
    return InvalidArgument(merge->Label(),
                           ": a back edge comes from a NextIteration of this graph,", " not from ",
                           source.node == nullptr ? "none" : source.node->Label());
  }
  if (source.index < 0 || source.index >= source.node->num_outputs()) {
    return InvalidArgument(source.node->Label(), " has no output ", source.index);
  }
  if (source.dtype() != merge->input_type(index)) {
    return InvalidArgument(merge->Label(), ": back edge ", index, " must be ",
                           merge->input_type(index), ", but '", source.ToString(), "' is ",
                           source.dtype());
  }
  if (merge->input_is_ref(index) && !source.node->output_is_ref(source.index)) {
    return InvalidArgument(merge->Label(), ": back edge ", index, " must be a reference, but '",
                           source.ToString(), "' is a plain value");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (merge->inputs_[index].node != nullptr) {
    return FailedPrecondition(merge->Label(), ": input ", index, " is set already, to '",
                              merge->inputs_[index].ToString(), "'");
  }
  merge->inputs_[index] = source;
  return OkStatus();
}

namespace {

// The nodes from `from` to `to` along edges, those of loops apart; empty when none lead there.
std::vector<const Node*> PathBetween(const Node* from, const Node* to) {
  std::unordered_map<const Node*, const Node*> next = {{to, nullptr}};  // towards `to`
  std::vector<const Node*> stack = {to};
  while (!stack.empty() && stack.back() != from) {
    const Node* node = stack.back();
    stack.pop_back();
    const bool is_merge = node->control() == Node::Control::kMerge;
    for (const Output& input : node->inputs()) {
      if (input.node == nullptr ||
          (is_merge && input.node->control() == Node::Control::kNextIteration)) {
        continue;
      }
      if (next.emplace(input.node, node).second) stack.push_back(input.node);
    }
    for (const Node* before : node->control_inputs()) {
      if (next.emplace(before, node).second) stack.push_back(before);
    }
  }
  std::vector<const Node*> path;
  if (stack.empty()) return path;
  for (const Node* node = from; node != nullptr; node = next[node]) path.push_back(node);
  return path;
}

// "Neg 'a' -> Neg 'b' -> Neg 'a'" of a path that an edge from its end to its begin closes; the
// middle of a long one is left out.
std::string CycleText(const std::vector<const Node*>& path) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path.size() > kShown && i == kShown / 2) {
      text += StrCat("... (", path.size() - kShown, " more) -> ");
      i = path.size() - kShown / 2;
    }
    text += StrCat(path[i]->Label(), " -> ");
  }
  return text + path[0]->Label();
}

}  // namespace

bool Graph::Reaches(const Node* from, const Node* to) const {
  return !PathBetween(from, to).empty();
}

Status Graph::AddControlInput(Node* node, Node* before) {
  if (before == nullptr || &before->graph() != this || &node->graph() != this) {
    return InvalidArgument(node->Label(), ": a control input is a node of the same graph");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const auto& present = node->control_inputs_;
  if (std::find(present.begin(), present.end(), before) != present.end()) return OkStatus();
  // Edges lead from older to newer nodes, back edges and those of this function and of
  // NodeMaker::Rewire apart: a path from `node` to an older `before` must pass a newer source of
  // such an edge.
  const bool is_late = before->id_ >= node->id_;
  if ((is_late || node->id_ <= latest_source_) && Reaches(node, before)) {
    return InvalidArgument(node->Label(), ": an edge from ", before->Label(),
                           " would close a cycle: ", CycleText(PathBetween(node, before)));
  }
  if (is_late) latest_source_ = std::max(latest_source_, before->id_);
  node->control_inputs_.push_back(before);
  return OkStatus();
}

Node* Graph::FindNode(std::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<Output> Graph::FindOutput(std::string_view text) const {
  std::string_view name = text;
  int index = 0;
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size() || index < 0) {
      return InvalidArgument("'", text, "' names no tensor: expected \"node\" or \"node:output\"");
    }
    name = text.substr(0, colon);
  }
  if (name.empty() || name[0] == '^') {
    return InvalidArgument("'", text, "' names no tensor: expected \"node\" or \"node:output\"");
  }
  Node* node = FindNode(name);
  if (node == nullptr) {
    NearestNames near(name);
    for (const Node* candidate : Nodes()) near.Add(candidate->name());
    return InvalidArgument("no node named '", name, "' in the graph", near.ToString());
  }
  if (index >= node->num_outputs()) {
    return InvalidArgument(node->Label(), " has ", node->num_outputs(), " outputs, there is no '",
                           text, "'");
  }
  return Output{node, index};
}

Node* Graph::NodeById(int id) const {
  std::lock_guard lock(mutex_);
  return id >= 0 && id < static_cast<int>(nodes_.size()) ? nodes_[static_cast<size_t>(id)].get()
                                                         : nullptr;
}

int Graph::num_nodes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(nodes_.size());
}

std::vector<Node*> Graph::Nodes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Node*> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& node : nodes_) nodes.push_back(node.get());
  return nodes;
}

bool Graph::IsTaken(std::string_view name) const {
  return by_name_.contains(name) || (!scopes_.empty() && scopes_.contains(std::string(name)));
}

std::string Graph::FirstFree(std::string_view prefix) const {
  std::string name(prefix);
  if (!IsTaken(name)) return name;
  int& suffix = next_suffix_.try_emplace(name, 1).first->second;
  for (;; ++suffix) {
    std::string candidate = StrCat(prefix, "_", suffix);
    if (!IsTaken(candidate)) return candidate;
  }
}

std::string Graph::UniqueName(std::string_view prefix) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return FirstFree(prefix);
}

std::string Graph::UniqueScope(std::string_view prefix) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string name = FirstFree(prefix);
  scopes_.insert(name);
  return name;
}

uint32_t Graph::InternSite(std::string_view text) {
  if (text.empty()) return 0;
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = site_ids_.find(text);
  if (found != site_ids_.end()) return found->second;
  const auto id = static_cast<uint32_t>(sites_.size());
  sites_.push_back(std::make_unique<std::string>(text));
  site_ids_.emplace(*sites_.back(), id);
  return id;
}

const std::string& Graph::Site(uint32_t site) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return *sites_[site < sites_.size() ? site : 0];
}

void Graph::SetAside(int first) {
  std::lock_guard<std::mutex> lock(mutex_);
  set_aside_.resize(nodes_.size());
  std::fill(set_aside_.begin() + std::clamp<ptrdiff_t>(first, 0, std::ssize(set_aside_)),
            set_aside_.end(), true);
}

std::vector<int> Graph::NodesOfProgram(int begin, int end) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> ids;
  for (int id = begin; id < end; ++id) {
    const bool is_aside = id < std::ssize(set_aside_) && set_aside_[static_cast<size_t>(id)];
    if (!is_aside) ids.push_back(id);
  }
  return ids;
}

void Graph::SetWireExtras(const Node& node, std::string bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  wire_extras_[&node] = std::move(bytes);
}

std::string Graph::WireExtras(const Node& node) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = wire_extras_.find(&node);
  return found == wire_extras_.end() ? std::string() : found->second;
}

void Graph::TakeBack(const std::vector<Node*>& added) {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t kept = nodes_.size() - std::min(added.size(), nodes_.size());
  for (size_t i = 0; i < added.size(); ++i) {
    if (kept + i >= nodes_.size() || nodes_[kept + i].get() != added[i]) return;
  }
  for (const Node* node : added) {
    by_name_.erase(node->name_);
    wire_extras_.erase(node);
  }
  nodes_.resize(kept);
}

}  // namespace thalweg
