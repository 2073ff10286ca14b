// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/place_by_cost.h"

#include <algorithm>
#include <utility>

#include "thalweg/placement/duration_text.h"
#include "thalweg/placement/search_placer.h"

namespace thalweg {
namespace {

using Home = Workload::Home;

double StateBytes(const Node& node) {
  if (node.op_name() == "Variable" || node.op_name() == "VariableV2") {
    return ValueBytes(node.output_type(0), node.output_shape(0));
  }
  const Result<DType> dtype = node.Attr<DType>("dtype");
  const Result<PartialShape> shape = node.Attr<PartialShape>("shape");
  return dtype.ok() && shape.ok() ? ValueBytes(*dtype, *shape) : 0;
}

bool IsVariable(const Node& node) {
  return node.op_name() == "Variable" || node.op_name() == "VariableV2" ||
         node.op_name() == "VarHandleOp";
}

// Fills what a source is, if the node is one; its inputs are there already.
bool MakeSource(const Node& node, bool is_feed, const Workload& work, Workload::Node* made) {
  if (is_feed) {
    made->home = Home::kClient;
    return true;
  }
  if (!node.control_inputs().empty()) return false;
  if (node.op_name() == "Const") {
    made->home = Home::kAll;
    return true;
  }
  if (IsVariable(node)) {
    made->state = StateBytes(node);
    return true;
  }
  if (node.op_name() != "ReadVariableOp" || node.input(0).node->id() >= node.id()) return false;
  const Workload::Node& handle = work.nodes[node.input(0).node->id()];
  return handle.is_source && handle.home == Home::kGroup && handle.group == made->group;
}

void AddReads(const Node& node, Workload::Node* made) {
  const auto is_back = [&](const Node* from) { return from == nullptr || from->id() >= node.id(); };
  for (const Output& input : node.inputs()) {
    if (is_back(input.node)) continue;
    const Workload::Read read{input.node->id(), input.index};
    if (std::ranges::find(made->reads, read) == made->reads.end()) made->reads.push_back(read);
  }
  for (const Node* before : node.control_inputs()) {
    if (!is_back(before)) made->reads.push_back({before->id(), Workload::kOrder});
  }
}

}  // namespace

Workload WorkloadOf(const StepGraph& step, const std::vector<int>& group_of_node,
                    std::vector<Workload::Group> may, const CostModel& costs) {
  Workload work;
  work.groups = std::move(may);
  const std::vector<Node*> nodes = step.graph->Nodes();
  work.nodes.reserve(nodes.size());
  std::vector<bool> is_feed(nodes.size()), is_fetched(nodes.size());
  for (const Output& feed : step.feeds) {
    if (feed.node != nullptr) is_feed[feed.node->id()] = true;
  }
  for (const Output& fetch : step.fetches) is_fetched[fetch.node->id()] = true;
  for (const Node* node : nodes) {
    Workload::Node made{.group = group_of_node[node->id()]};
    for (int i = 0; i < node->num_outputs(); ++i) {
      made.values.push_back(ValueBytes(node->output_type(i), node->output_shape(i)));
    }
    made.is_source = MakeSource(*node, is_feed[node->id()], work, &made);
    made.is_kept = is_fetched[node->id()];
    if (!is_feed[node->id()]) AddReads(*node, &made);
    if (!made.is_source) made.seconds = costs.Seconds(*node);
    work.nodes.push_back(std::move(made));
  }
  return work;
}

Result<std::vector<int>> PlaceByCost::Place(const StepGraph& step,
                                            const std::vector<int>& group_of_node,
                                            std::vector<Workload::Group> may) {
  RETURN_IF_ERROR(options_.machine.Validate());
  const CostModel costs(options_.machine, options_.measured);
  work_ = WorkloadOf(step, group_of_node, std::move(may), costs);
  RETURN_IF_ERROR(work_.Validate(options_.machine));
  const Simulator simulator(options_.machine, work_);
  device_of_group_ =
      options_.method == PlacementMethod::kSearched
          ? SearchPlacer({.evaluations = options_.evaluations}).Place(simulator).device_of_group
          : simulator.PlaceGreedily();
  return device_of_group_;
}

std::string PlaceByCost::Explain(const Node& node, int group) const {
  const Simulator simulator(options_.machine, work_);
  const CostModel costs(options_.machine, options_.measured);
  std::string text = StrCat("  where the last step would end soonest, by ",
                            options_.method == PlacementMethod::kSearched ? "a search" : "greed",
                            ": with it on\n");
  for (int d = 0; d < options_.machine.num_devices(); ++d) {
    const std::string& name = options_.machine.device(d).name;
    if (!work_.groups[group].may[d]) {
      text += StrCat("    ", name, ": not possible\n");
      continue;
    }
    std::vector<int> device = device_of_group_;
    device[group] = d;
    const PlacementScore score = simulator.Score(device);
    text += StrCat("    ", name, d == device_of_group_[group] ? " (chosen)" : "", ": ",
                   DurationText(score.makespan), "; the node itself ", costs.Why(node, d));
    if (score.missing_bytes > 0) text += StrCat("; ", score.missing_bytes, " bytes too many");
    text += "\n";
  }
  return text;
}

}  // namespace thalweg
