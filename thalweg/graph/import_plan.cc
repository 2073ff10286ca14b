// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/import_plan.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <queue>

#include "thalweg/base/str_cat.h"
#include "thalweg/graph/nearest_names.h"

namespace thalweg {
namespace {

constexpr size_t kShownCycle = 10;

bool IsMerge(std::string_view op) { return op == "Merge" || op == "RefMerge"; }
bool IsNextIteration(std::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}

}  // namespace

std::optional<TensorName> ParseTensorName(std::string_view text) {
  TensorName name{text};
  if (text.starts_with('^')) {
    name = {text.substr(1), kControlPort};
  } else if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, name.port);
    if (error != std::errc() || stop != end || name.port < 0) return std::nullopt;
    name.node = text.substr(0, colon);
  }
  if (name.node.empty()) return std::nullopt;
  return name;
}

Status ImportPlan::Make(const Graph& graph) {
  RETURN_IF_ERROR(IndexNames());
  RETURN_IF_ERROR(IndexInputMap(graph));
  RETURN_IF_ERROR(ResolveInputs());
  RETURN_IF_ERROR(CheckInputMap());
  return OrderNodes();
}

int ImportPlan::FindNode(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

int ImportPlan::FindMapped(const TensorName& name, std::string_view text) const {
  if (input_map_.empty()) return -1;
  auto found = input_map_.find(name.port == 0 ? name.node : text);
  return found == input_map_.end() ? -1 : found->second;
}

Status ImportPlan::IndexNames() {
  by_name_.reserve(nodes_.size());
  for (int i = 0; i < num_nodes(); ++i) {
    if (!by_name_.emplace(Name(i), i).second) {
      return InvalidArgument("GraphDef: Duplicate node name in graph: '", Name(i), "'");
    }
  }
  return OkStatus();
}

Status ImportPlan::IndexInputMap(const Graph& graph) {
  for (size_t i = 0; i < options_.input_map.size(); ++i) {
    const auto& [key, output] = options_.input_map[i];
    const std::optional<TensorName> name = ParseTensorName(key);
    if (!name.has_value()) return InvalidArgument("input map: '", key, "' names no tensor");
    if (output.node == nullptr || &output.node->graph() != &graph || output.index < 0 ||
        (name->port != kControlPort && output.index >= output.node->num_outputs())) {
      return InvalidArgument("input map: the value of '", key, "' is no output of this graph");
    }
    // "name:0" is spelled "name".
    const std::string_view spelled = name->port == 0 ? name->node : std::string_view(key);
    if (!input_map_.emplace(spelled, static_cast<int>(i)).second) {
      return InvalidArgument("input map: '", key, "' is there twice");
    }
  }
  return OkStatus();
}

Status ImportPlan::ResolveInput(int node, std::string_view text, Source* source) {
  const std::optional<TensorName> name = ParseTensorName(text);
  if (!name.has_value()) {
    return InvalidArgument("Node '", Name(node), "': '", text,
                           "' is no input: expected \"node\", \"node:output\" or \"^node\"");
  }
  source->port = name->port;
  source->mapped = FindMapped(*name, text);
  if (source->mapped >= 0) return OkStatus();
  source->node = FindNode(name->node);
  if (source->node < 0) {
    NearestNames near(name->node);
    for (const auto& [candidate, index] : by_name_) near.Add(candidate);
    return InvalidArgument("Node '", Name(node), "': Unknown input node '", text, "'",
                           near.ToString());
  }
  source->is_back_edge = name->port >= 0 && IsMerge(Op(node)) && IsNextIteration(Op(source->node));
  return OkStatus();
}

Status ImportPlan::ResolveInputs() {
  first_source_.reserve(nodes_.size() + 1);
  sources_.reserve(2 * nodes_.size());
  for (int i = 0; i < num_nodes(); ++i) {
    first_source_.push_back(sources_.size());
    bool had_control = false;
    for (std::string_view text : nodes_[i]->Repeated<std::string_view>(pb::NodeDef::kInput)) {
      Source& source = sources_.emplace_back();
      RETURN_IF_ERROR(ResolveInput(i, text, &source));
      if (source.port != kControlPort && had_control) {
        return InvalidArgument("Node '", Name(i), "': Control dependencies must come after ",
                               "regular dependencies, '", text, "' comes late");
      }
      had_control = source.port == kControlPort;
    }
  }
  first_source_.push_back(sources_.size());
  return OkStatus();
}

// A key is of no use that no input reads and no node has.
Status ImportPlan::CheckInputMap() const {
  std::vector<bool> is_read(options_.input_map.size());
  for (const Source& source : sources_) {
    if (source.mapped >= 0) is_read[static_cast<size_t>(source.mapped)] = true;
  }
  std::string unknown;
  for (size_t i = 0; i < is_read.size(); ++i) {
    const std::string& key = options_.input_map[i].first;
    const std::optional<TensorName> name = ParseTensorName(key);
    if (is_read[i] || !name.has_value() || FindNode(name->node) >= 0) continue;
    unknown += StrCat(unknown.empty() ? "" : ", ", key);
  }
  if (unknown.empty()) return OkStatus();
  return InvalidArgument("Attempted to map inputs that were not found in graph_def: [", unknown,
                         "]");
}

Status ImportPlan::OrderNodes() {
  const int n = num_nodes();
  std::vector<int> pending(n, 0);
  bool in_order = true;
  for (int i = 0; i < n; ++i) {
    for (const Source& source : Sources(i)) {
      if (source.node < 0 || source.is_back_edge) continue;
      in_order &= source.node < i;
      ++pending[i];
    }
  }
  if (!in_order) return SortNodes(std::move(pending));
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  return OkStatus();
}

// `pending`: sources of each node that are still to come.
Status ImportPlan::SortNodes(std::vector<int> pending) {
  const int n = num_nodes();
  std::vector<int> first_reader(n + 1, 0);
  for (const Source& source : sources_) {
    if (source.node >= 0 && !source.is_back_edge) ++first_reader[source.node + 1];
  }
  for (int i = 0; i < n; ++i) first_reader[i + 1] += first_reader[i];
  std::vector<int> readers(first_reader[n]);
  std::vector<int> next = first_reader;
  for (int i = 0; i < n; ++i) {
    for (const Source& source : Sources(i)) {
      if (source.node >= 0 && !source.is_back_edge) readers[next[source.node]++] = i;
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < n; ++i) {
    if (pending[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order_.push_back(i);
    for (int r = first_reader[i]; r < first_reader[i + 1]; ++r) {
      if (--pending[readers[r]] == 0) ready.push(readers[r]);
    }
  }
  return static_cast<int>(order_.size()) == n ? OkStatus() : CycleError(pending);
}

// Every node with pending > 0 has a source with pending > 0: walking up must end in a cycle.
Status ImportPlan::CycleError(const std::vector<int>& pending) const {
  std::vector<int> path;
  std::vector<int> place(pending.size(), -1);
  int i = static_cast<int>(
      std::find_if(pending.begin(), pending.end(), [](int p) { return p > 0; }) - pending.begin());
  while (place[i] < 0) {
    place[i] = static_cast<int>(path.size());
    path.push_back(i);
    for (const Source& source : Sources(i)) {
      if (source.node >= 0 && !source.is_back_edge && pending[source.node] > 0) {
        i = source.node;
        break;
      }
    }
  }
  path.erase(path.begin(), path.begin() + place[i]);
  std::string text = StrCat("'", Name(path[0]), "'");
  for (size_t shown = 1; shown < path.size(); ++shown) {
    if (shown == kShownCycle) {
      text.append(StrCat(" <- ... (", path.size() - shown, " more)"));
      break;
    }
    text.append(StrCat(" <- '", Name(path[shown]), "'"));
  }
  return InvalidArgument("GraphDef: the nodes ", text, " <- '", Name(path[0]),
                         "' form a cycle; only a NextIteration that feeds a Merge may close one");
}

}  // namespace thalweg
