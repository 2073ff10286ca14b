// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/page_graph.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/page_column.h"
#include "thalweg/trace/page_columns.h"
#include "thalweg/trace/partition_reader.h"

namespace thalweg {
namespace {

struct GraphNode {
  uint32_t device = 0, name = 0;
  const NodeFacts* facts = nullptr;
};

std::vector<GraphNode> NodesOf(const Trace& trace) {
  std::vector<GraphNode> nodes;
  for (const auto& [key, facts] : trace.facts) {
    if (facts.from_label) continue;
    nodes.push_back({static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key), &facts});
  }
  std::sort(nodes.begin(), nodes.end(), [&](const GraphNode& a, const GraphNode& b) {
    const int order = trace.texts[a.name].compare(trace.texts[b.name]);
    return order != 0 ? order < 0 : a.device < b.device;
  });
  return nodes;
}

}  // namespace

void AppendPageGraph(const Trace& trace, std::string* page) {
  const std::vector<GraphNode> nodes = NodesOf(trace);
  if (nodes.empty()) return;
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::map<uint32_t, uint32_t> ops;  // numbers of texts
  std::map<std::array<uint32_t, 3>, uint32_t> senders;
  JsonWriter names, op_names;
  names.BeginList();
  op_names.BeginList();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const auto& [device, name, facts] = nodes[i];
    numbers[Trace::NodeKey(device, name)] = i;
    names.Text(trace.texts[name]);
    if (ops.try_emplace(facts->op, static_cast<uint32_t>(ops.size())).second) {
      op_names.Text(trace.texts[facts->op]);
    }
    if (facts->edge != 0 && SpanKindOf(trace.texts[facts->op]) == SpanKind::kSend) {
      senders[{facts->edge, facts->from, facts->to}] = i;
    }
  }
  names.EndList();
  op_names.EndList();
  JsonWriter graph;
  graph.BeginObject().Key("names").Literal(names.Take()).Key("ops").Literal(op_names.Take());
  AppendPageJson("graph-nodes", graph.EndObject().Take(), page);

  // Of each node: its device, its operation, how many inputs it has; then the inputs of all: twice
  // their node, and one more for those of control.
  PageColumn devices("graph-device", page), op_column("graph-op", page);
  std::string counts_text, inputs_text;
  {
    PageColumn counts("graph-inputs", &counts_text), inputs("graph-input", &inputs_text);
    for (const auto& [device, name, facts] : nodes) {
      devices.Add(device);
      op_column.Add(ops[facts->op]);
      uint64_t count = 0;
      const auto add = [&](uint32_t node, bool is_control) {
        inputs.Add(uint64_t{node} << 1 | (is_control ? 1 : 0));
        ++count;
      };
      const size_t data = facts->inputs.size() - facts->controls;
      for (size_t i = 0; i < facts->inputs.size(); ++i) {
        const auto found = numbers.find(Trace::NodeKey(device, facts->inputs[i]));
        if (found != numbers.end()) add(found->second, i >= data);
      }
      const auto sender = senders.find({facts->edge, facts->from, facts->to});
      const SpanKind kind = SpanKindOf(trace.texts[facts->op]);
      if (kind == SpanKind::kReceive && sender != senders.end()) add(sender->second, false);
      counts.Add(count);
    }
  }
  *page += counts_text + inputs_text;
}

}  // namespace thalweg
