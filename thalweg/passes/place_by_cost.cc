// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/place_by_cost.h"

#include <algorithm>
#include <utility>

#include "thalweg/placement/measured_rates.h"
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
                                            std::vector<Workload::Group> may,
                                            std::vector<int> preferred) {
  RETURN_IF_ERROR(options_.machine.Validate());
  const CostModel costs(options_.machine, options_.measured);
  work_ = WorkloadOf(step, group_of_node, std::move(may), costs);
  RETURN_IF_ERROR(work_.Validate(options_.machine));
  graph_ = step.graph;
  made_of_node_.clear();
  for (const Node* node : step.graph->Nodes()) made_of_node_.emplace(step.Origin(*node), node);
  const Simulator simulator(options_.machine, work_);
  switch (options_.method) {
    case PlacementMethod::kPreferred:
      device_of_group_ = std::move(preferred);
      break;
    case PlacementMethod::kGreedy:
      device_of_group_ = simulator.PlaceGreedily();
      break;
    case PlacementMethod::kSearched:
      device_of_group_ =
          SearchPlacer({.evaluations = options_.evaluations}).Place(simulator).device_of_group;
      break;
  }
  return device_of_group_;
}

Simulation PlaceByCost::Foresee() const {
  return Simulator(options_.machine, work_).Run(device_of_group_);
}

void PlaceByCost::Explain(const Node& node, int group, PlacementExplanation* to) const {
  const Simulator simulator(options_.machine, work_);
  const CostModel costs(options_.machine, options_.measured);
  // What is in the step knows more of its shapes; where rewriting has made something else of it, it
  // is not there.
  const auto made = made_of_node_.find(&node);
  const Node& counted = made == made_of_node_.end() ? node : *made->second;
  to->compared = options_.method == PlacementMethod::kPreferred
                     ? std::string("what the last step would take")
                     : StrCat("where the last step would end soonest, by ",
                              options_.method == PlacementMethod::kSearched ? "a search" : "greed");
  for (int d = 0; d < options_.machine.num_devices(); ++d) {
    PlacementAlternative& other = to->alternatives.emplace_back();
    other.device = options_.machine.device(d).name;
    other.is_possible = work_.groups[group].may[d];
    if (!other.is_possible) continue;
    other.is_chosen = d == device_of_group_[group];
    std::vector<int> device = device_of_group_;
    device[group] = d;
    const PlacementScore score = simulator.Score(device);
    other.step_seconds = score.makespan;
    other.missing_bytes = score.missing_bytes;
    other.node_seconds = costs.Seconds(counted, d);
    other.why = costs.Why(counted, d);
    other.rates = RatesText(options_.machine.device(d));
    if (other.is_chosen) continue;
    other.rates += StrCat("; to the chosen one ",
                          RatesText(options_.machine.link(d, device_of_group_[group])));
  }
}

}  // namespace thalweg
