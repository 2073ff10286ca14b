// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/check_numerics.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "thalweg/kernel/device_name.h"
#include "thalweg/passes/asked_device.h"
#include "thalweg/passes/graph_copier.h"
#include "thalweg/passes/step_frames.h"

namespace thalweg {
namespace {

bool CanBeInfinite(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

// What a reference, as of a variable of TensorFlow 1's first kind, leads to now.
bool ReadsReference(const Node& node) {
  return node.op_name() == "Identity" && node.input(0).node->output_is_ref(node.input(0).index);
}

// What they give was checked where it was made.
bool IsPlain(const Node& node) {
  constexpr std::array<std::string_view, 7> kOps = {"Identity",        "IdentityN", "StopGradient",
                                                    "PreventGradient", "Reshape",   "Squeeze",
                                                    "ExpandDims"};
  if (node.control() != Node::Control::kNone) return true;
  return !ReadsReference(node) && std::ranges::find(kOps, node.op_name()) != kOps.end();
}

// What they give comes from elsewhere: infinite numbers, as in masks, are the program's own.
bool IsSource(const Node& node) {
  return node.op_name() == "Const" || node.op_name() == "ReadVariableOp" || IsPlaceholder(node) ||
         ReadsReference(node);
}

// Changes variables that resources among its inputs name.
bool ChangesResources(const Node& node) {
  const std::string& op = node.op_name();
  return op.starts_with("ResourceApply") || op.starts_with("ResourceSparseApply") ||
         op.starts_with("ResourceScatter") ||
         (op.starts_with("Assign") && op.ends_with("VariableOp"));
}

class Checks {
 public:
  Checks(const StepGraph& step, const StepFrames& frames)
      : step_(step), frames_(frames), copier_(step), used_(step.graph->num_nodes()) {
    for (const Node* node : step.graph->Nodes()) {
      for (const Output& input : node->inputs()) NoteUse(input);
    }
    for (const Output& fetch : step.fetches) NoteUse(fetch);
  }

  Result<StepGraph> Run() {
    for (const Node* node : step_.graph->Nodes()) {
      Node* const now = copier_.Copy(*node);
      RETURN_IF_ERROR(WaitForChecks(*node, now));
      if (IsPlain(*node)) continue;
      for (int i = 0; i < node->num_outputs(); ++i) RETURN_IF_ERROR(CheckOutput(*node, i));
      RETURN_IF_ERROR(CheckVariables(*node));
    }
    ASSIGN_OR_RETURN(StepGraph checked, copier_.Finish());
    // A feed is the placeholder itself, wherever its readers were sent.
    for (size_t i = 0; i < step_.feeds.size(); ++i) {
      const Output& feed = step_.feeds[i];
      if (feed.node != nullptr) checked.feeds[i] = {copier_.Map(feed.node), feed.index};
    }
    return checked;
  }

 private:
  void NoteUse(const Output& output) {
    if (output.node == nullptr) return;
    std::vector<bool>& outputs = used_[output.node->id()];
    outputs.resize(static_cast<size_t>(output.node->num_outputs()));
    outputs[output.index] = true;
  }
  bool IsUsed(const Node& node, int i) const {
    return !used_[node.id()].empty() && used_[node.id()][i];
  }

  bool AnyIsUsed(const Node& node) const {
    return std::ranges::find(used_[node.id()], true) != used_[node.id()].end();
  }

  // Who runs behind a change of a variable finds it checked.
  Status WaitForChecks(const Node& node, Node* now) {
    const auto wait = [&](const Node* before) -> Status {
      const auto found = of_variables_.find(before);
      if (found == of_variables_.end()) return OkStatus();
      for (Node* check : found->second) {
        RETURN_IF_ERROR(copier_.graph().AddControlInput(now, check));
      }
      return OkStatus();
    };
    if (of_variables_.empty() || node.control() != Node::Control::kNone) return OkStatus();
    for (const Node* before : node.control_inputs()) RETURN_IF_ERROR(wait(before));
    for (const Output& input : node.inputs()) {
      if (input.node->output_is_ref(input.index)) RETURN_IF_ERROR(wait(input.node));
    }
    return OkStatus();
  }

  // One that nobody reads is looked at where the node is run for its own sake.
  Status CheckOutput(const Node& node, int i) {
    if (!CanBeInfinite(node.output_type(i)) || node.output_is_ref(i)) return OkStatus();
    if (!IsUsed(node, i) && AnyIsUsed(node)) return OkStatus();
    NodeSpec spec = SpecFor(node, "_CheckFinite", StrCat("output ", i));
    spec.inputs.push_back({copier_.Map(&node), i});
    ASSIGN_OR_RETURN(Node * check, Make(node, std::move(spec)));
    copier_.Redirect({const_cast<Node*>(&node), i}, {check, 0});
    return OkStatus();
  }

  // All that an update has changed: a variable and what an optimizer keeps beside it.
  Status CheckVariables(const Node& node) {
    const bool changes_resources = ChangesResources(node);
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      const bool is_ref = node.input_is_ref(i) && CanBeInfinite(input.dtype());
      if (!is_ref && !(changes_resources && input.dtype() == DType::kResource)) continue;
      NodeSpec spec = SpecFor(node, is_ref ? "_CheckFinite" : "_CheckFiniteVariable",
                              StrCat("variable '", input.ToString(), "'"));
      spec.inputs.push_back(copier_.Map(input));
      spec.control_inputs = {copier_.Map(&node)};
      ASSIGN_OR_RETURN(Node * check, Make(node, std::move(spec)));
      of_variables_[&node].push_back(check);
    }
    return OkStatus();
  }

  // With the values that the node was given, which its loop has too.
  NodeSpec SpecFor(const Node& node, std::string_view op, std::string what) {
    NodeSpec spec;
    spec.op = op;
    spec.name = StrCat(node.name(), "/check_finite");
    spec.make_unique = true;
    std::vector<std::string> names;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      // What a reference leads to now is perhaps not what the node has read.
      if (input.node->output_is_ref(input.index) || !CanBeInfinite(input.dtype())) continue;
      names.push_back(StrCat("'", input.ToString(), "'"));
      spec.inputs.push_back(copier_.Map(input));
    }
    spec.attrs.Set("input_names", std::move(names));
    spec.attrs.Set("what", std::move(what));
    spec.attrs.Set("only_nan", IsSource(node));
    const int frame = frames_.Of(node);
    if (frame != StepFrames::kRoot) spec.attrs.Set("loop", frames_.frames()[frame].name);
    spec.attrs.Set("_fused_from", node.Label());
    return spec;
  }

  Result<Node*> Make(const Node& node, NodeSpec spec) {
    spec.device = ProcessorBeside(node);
    spec.site = copier_.graph().InternSite(node.graph().Site(node.site()));
    ASSIGN_OR_RETURN(Node * check, copier_.graph().AddNode(std::move(spec)));
    copier_.SetOrigin(*check, step_.Origin(node));
    return check;
  }

  // Of the node's task, whose other devices have no such kernels.
  static std::string ProcessorBeside(const Node& node) {
    if (MayBeOnCpu(node)) return node.device();
    Result<DeviceName> asked = DeviceName::Parse(node.device());
    if (!asked.ok()) return node.device();  // which placement says
    asked->type.reset();
    asked->index.reset();
    return asked->ToString();
  }

  const StepGraph& step_;
  const StepFrames& frames_;
  GraphCopier copier_;
  std::vector<std::vector<bool>> used_;                               // outputs, by node's id
  std::unordered_map<const Node*, std::vector<Node*>> of_variables_;  // checks, by who changes them
};

}  // namespace

Result<StepGraph> CheckNumerics(const StepGraph& step) {
  ASSIGN_OR_RETURN(const StepFrames frames, StepFrames::Find(step));
  return Checks(step, frames).Run();
}

}  // namespace thalweg
