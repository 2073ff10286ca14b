// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/check_numerics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "thalweg/kernel/device_name.h"
#include "thalweg/passes/asked_device.h"
#include "thalweg/passes/graph_copier.h"
#include "thalweg/passes/step_frames.h"

namespace thalweg {
namespace {

bool CanBeInfinite(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

// What they give was checked where it was made, or is the program's own.
bool IsPlain(const Node& node) {
  constexpr std::array<std::string_view, 8> kOps = {"Const",        "Identity",        "IdentityN",
                                                    "StopGradient", "PreventGradient", "Reshape",
                                                    "Squeeze",      "ExpandDims"};
  if (node.control() != Node::Control::kNone) return true;
  const bool reads_variable = node.num_inputs() > 0 && node.input(0).node != nullptr &&
                              node.input(0).node->output_is_ref(node.input(0).index);
  return !reads_variable && std::ranges::find(kOps, node.op_name()) != kOps.end();
}

// Changes the variable that its input 0 names.
bool ChangesVariable(const Node& node) {
  const std::string& op = node.op_name();
  return node.num_inputs() > 1 && node.input(0).dtype() == DType::kResource &&
         (op.starts_with("ResourceApply") || op.starts_with("ResourceSparseApply") ||
          op.starts_with("ResourceScatter") ||
          (op.starts_with("Assign") && op.ends_with("VariableOp")));
}

bool IsReferenceVariable(const Node& node) {
  return node.num_inputs() == 0 && node.num_outputs() == 1 && node.output_is_ref(0);
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
      copier_.Copy(*node);
      if (IsPlain(*node)) continue;
      for (int i = 0; i < node->num_outputs(); ++i) RETURN_IF_ERROR(CheckOutput(*node, i));
      if (ChangesVariable(*node)) RETURN_IF_ERROR(CheckVariable(*node));
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

  // Of a variable's reference, the node that changes it is asked; who reads it has it as a source.
  Status CheckOutput(const Node& node, int i) {
    const bool is_ref = node.output_is_ref(i);
    if (!CanBeInfinite(node.output_type(i)) || (is_ref && IsReferenceVariable(node)))
      return OkStatus();
    if (!is_ref && !IsUsed(node, i)) return OkStatus();
    NodeSpec spec = SpecFor(node, "_CheckFinite");
    spec.inputs.push_back({copier_.Map(&node), i});
    spec.attrs.Set("index", int64_t{i});
    ASSIGN_OR_RETURN(Node * check, Make(node, std::move(spec)));
    if (!is_ref) copier_.Redirect({const_cast<Node*>(&node), i}, {check, 0});
    return OkStatus();
  }

  Status CheckVariable(const Node& node) {
    NodeSpec spec = SpecFor(node, "_CheckFiniteVariable");
    spec.inputs.push_back(copier_.Map(node.input(0)));
    spec.control_inputs = {copier_.Map(&node)};
    return Make(node, std::move(spec)).status();
  }

  // With the values that the node was given, which its loop has too.
  NodeSpec SpecFor(const Node& node, std::string_view op) {
    NodeSpec spec;
    spec.op = op;
    spec.name = StrCat(node.name(), "/check_finite");
    spec.make_unique = true;
    std::vector<std::string> names;
    std::vector<int64_t> sources;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      if (node.input_is_ref(i) || !CanBeInfinite(input.dtype())) continue;
      if (IsReferenceVariable(*input.node)) sources.push_back(static_cast<int64_t>(names.size()));
      names.push_back(StrCat("'", input.ToString(), "'"));
      spec.inputs.push_back(copier_.Map(input));
    }
    spec.attrs.Set("input_names", std::move(names));
    spec.attrs.Set("sources", std::move(sources));
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
  std::vector<std::vector<bool>> used_;  // outputs, by node's id
};

}  // namespace

Result<StepGraph> CheckNumerics(const StepGraph& step) {
  ASSIGN_OR_RETURN(const StepFrames frames, StepFrames::Find(step));
  return Checks(step, frames).Run();
}

}  // namespace thalweg
