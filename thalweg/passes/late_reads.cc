// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/late_reads.h"

#include <bit>
#include <unordered_map>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

constexpr int kNoVariable = -1;
constexpr int kVariablesAtOnce = 64;  // bits of a mask

bool IsVariable(const Node& node) {
  const std::string_view op = node.op_name();
  return op == "VariableV2" || op == "Variable" || op == "TemporaryVariable";
}

bool PassesReference(const Node& node) { return node.op_name() == "RefIdentity"; }

class LateReader {
 public:
  explicit LateReader(const StepGraph& step)
      : step_(step), late_(static_cast<size_t>(step.graph->num_nodes())) {}

  Result<StepGraph> Run() {
    FindVariables();
    bool found = false;
    for (int first = 0; first < static_cast<int>(chosen_.size()); first += kVariablesAtOnce) {
      found |= FindLateReaders(first);
    }
    if (!found) return step_;
    return Rewrite();
  }

 private:
  struct LateInput {
    int input = 0;
    std::vector<const Node*> behind;  // what an update leads to
  };

  // Which variable a reference leads to, and which outputs share a variable's value.
  void FindVariables() {
    std::vector<bool> is_updated, is_read;
    for (const Node* node : step_.graph->Nodes()) {
      if (IsVariable(*node)) {
        refers_to_[{const_cast<Node*>(node), 0}] = static_cast<int>(variables_.size());
        variables_.push_back(node);
        is_updated.push_back(false);
        is_read.push_back(false);
        continue;
      }
      const bool shares = node->op_name() == "Identity" || node->op_name() == "Switch";
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Output& input = node->input(i);
        if (node->input_is_ref(i)) {
          const int variable = Find(refers_to_, input);
          if (variable == kNoVariable) continue;
          if (node->num_outputs() > 0 && node->output_is_ref(0)) {
            refers_to_[{const_cast<Node*>(node), 0}] = variable;
          }
          if (!PassesReference(*node)) is_updated[static_cast<size_t>(variable)] = true;
        } else if (shares && i == 0) {
          int variable = Find(shared_, input);
          if (node->op_name() == "Identity" && variable == kNoVariable) {
            variable = Find(refers_to_, input);
          }
          if (variable == kNoVariable) continue;
          for (int k = 0; k < node->num_outputs(); ++k) {
            shared_[{const_cast<Node*>(node), k}] = variable;
          }
          is_read[static_cast<size_t>(variable)] = true;
        }
      }
    }
    place_.assign(variables_.size(), kNoVariable);
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (!is_updated[i] || !is_read[i]) continue;
      place_[i] = static_cast<int>(chosen_.size());
      chosen_.push_back(static_cast<int>(i));
    }
  }

  static int Find(const std::unordered_map<Output, int, OutputHash>& map, const Output& output) {
    const auto found = map.find(output);
    return found == map.end() ? kNoVariable : found->second;
  }

  // The bit of a variable among those from number `first` of the chosen ones; 0: none.
  uint64_t BitOf(int variable, int first) const {
    if (variable == kNoVariable) return 0;
    const int place = place_[static_cast<size_t>(variable)] - first;
    return place < 0 || place >= kVariablesAtOnce ? 0 : uint64_t{1} << place;
  }

  // Nodes come after what leads to them, so that one look at each is enough.
  bool FindLateReaders(int first) {
    std::vector<uint64_t> after(late_.size());  // updates that are done when the node is
    bool found = false;
    for (const Node* node : step_.graph->Nodes()) {
      uint64_t updates = 0, before = 0;
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Output& input = node->input(i);
        if (input.node->id() >= node->id()) continue;  // a back edge
        before |= after[static_cast<size_t>(input.node->id())];
        if (node->input_is_ref(i) && !PassesReference(*node)) {
          updates |= BitOf(Find(refers_to_, input), first);
        }
      }
      for (const Node* from : node->control_inputs()) {
        before |= after[static_cast<size_t>(from->id())];
      }
      after[static_cast<size_t>(node->id())] = before | updates;
      if (before != 0 && node->control() == Node::Control::kNone) {
        found |= NoteInputs(*node, first, before, after);
      }
    }
    return found;
  }

  bool NoteInputs(const Node& node, int first, uint64_t before,
                  const std::vector<uint64_t>& after) {
    bool found = false;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      if (node.input_is_ref(i)) continue;
      const uint64_t bit = BitOf(Find(shared_, input), first) & before;
      if (bit == 0 || (after[static_cast<size_t>(input.node->id())] & bit) == bit) continue;
      LateInput late{.input = i, .behind = {}};
      const auto add = [&](const Node* from) {
        if ((after[static_cast<size_t>(from->id())] & bit) != 0) late.behind.push_back(from);
      };
      for (const Output& other : node.inputs()) add(other.node);
      for (const Node* from : node.control_inputs()) add(from);
      late_[static_cast<size_t>(node.id())].push_back(std::move(late));
      found = true;
    }
    return found;
  }

  // A new read of what `old` shares, through the same switches.
  Result<Output> Read(GraphCopier& copier, const Output& old, const LateInput& late) {
    std::vector<Output> switches;
    Output source = old;
    while (source.node->op_name() == "Switch") {
      switches.push_back(source);
      source = source.node->input(0);
    }
    NodeSpec spec;
    spec.name = copier.graph().UniqueName(StrCat(source.node->name(), "/late"));
    spec.op = "Identity";
    spec.device = source.node->device();
    const auto variable = static_cast<size_t>(Find(shared_, source));
    spec.inputs = {copier.Map(Output{const_cast<Node*>(variables_[variable]), 0})};
    spec.control_inputs = {copier.Map(source.node)};
    for (const Node* from : late.behind) spec.control_inputs.push_back(copier.Map(from));
    spec.site = source.node->site();
    ASSIGN_OR_RETURN(Node * made, copier.graph().AddNode(std::move(spec)));
    copier.SetOrigin(*made, step_.Origin(*source.node));
    Output value{made, 0};
    for (auto it = switches.rbegin(); it != switches.rend(); ++it) {
      const Node& old_switch = *it->node;
      NodeSpec branch;
      branch.name = copier.graph().UniqueName(StrCat(old_switch.name(), "/late"));
      branch.op = "Switch";
      branch.device = old_switch.device();
      branch.inputs = {value, copier.Map(old_switch.input(1))};
      branch.site = old_switch.site();
      ASSIGN_OR_RETURN(Node * branched, copier.graph().AddNode(std::move(branch)));
      copier.SetOrigin(*branched, step_.Origin(old_switch));
      value = Output{branched, it->index};
    }
    return value;
  }

  Result<StepGraph> Rewrite() {
    GraphCopier copier(step_);
    for (const Node* node : step_.graph->Nodes()) {
      std::vector<std::pair<Output, Output>> restored;
      for (const LateInput& late : late_[static_cast<size_t>(node->id())]) {
        const Output& old = node->input(late.input);
        const Output former = copier.Map(old);
        ASSIGN_OR_RETURN(const Output fresh, Read(copier, old, late));
        restored.emplace_back(old, former);
        copier.Redirect(old, fresh);
      }
      copier.Copy(*node);
      for (const auto& [old, former] : restored) copier.Redirect(old, former);
    }
    return copier.Finish();
  }

  const StepGraph& step_;
  std::vector<const Node*> variables_;
  std::vector<int> chosen_, place_;  // variables that are updated and read; where each is there
  std::unordered_map<Output, int, OutputHash> refers_to_, shared_;
  std::vector<std::vector<LateInput>> late_;  // by id
};

}  // namespace

Result<StepGraph> LateReads(const StepGraph& step) { return LateReader(step).Run(); }

}  // namespace thalweg
