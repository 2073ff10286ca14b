// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/walk.h"

#include <algorithm>

#include "thalweg/autodiff/loop_gradient.h"
#include "thalweg/autodiff/stack_links.h"
#include "thalweg/autodiff/sum_gradients.h"
#include "thalweg/base/first_error.h"

namespace thalweg {
namespace {

using Control = Node::Control;

bool Carries(const Output& edge) { return edge.node != nullptr && IsDifferentiable(edge.dtype()); }

bool IsLoopMerge(const Node* node) {
  if (node->control() != Control::kMerge) return false;
  return std::any_of(node->inputs().begin(), node->inputs().end(), [](const Output& input) {
    return input.node == nullptr || input.node->control() == Control::kNextIteration;
  });
}

// TensorFlow 1.15 names the gradient of each call after the call, and knows it only in the process
// that made the graph: it is the gradient of the function.
bool IsNameOfCall(const Node& node, const std::string& gradient) {
  return node.op_name().ends_with("PartitionedCall") && gradient.starts_with("PartitionedCall-");
}

bool IsLoopSwitch(const Node& node) {
  return node.control() == Control::kSwitch && node.input(1).node->control() == Control::kLoopCond;
}

}  // namespace

Frame* GradientRun::FrameOf(const Node* node) const {
  Frame* const frame = frames->Of(node);
  if (within == nullptr) return frame;
  WalkPlace at = within->place;
  if (!frames->IsPlaced(node)) return at.gradient;
  for (; at.forward != at.gradient; at = {at.forward->parent, at.gradient->parent}) {
    if (frame == at.forward) return at.gradient;
  }
  return frame;
}

GradientWalk::GradientWalk(GradientRun& run, WalkPlace place, const std::vector<Output>& ys,
                           const std::vector<GradientValue>& grad_ys, const std::vector<Output>& xs,
                           GraphBuilder builder)
    : run_(run),
      place_(place),
      ys_(ys),
      grad_ys_(grad_ys),
      xs_(xs),
      wanted_(xs.begin(), xs.end()),
      builder_(std::move(builder)) {}

Result<std::vector<GradientValue>> GradientWalk::Run() {
  RETURN_IF_ERROR(FindPaths());
  RETURN_IF_ERROR(Seed());
  while (!ready_.empty()) {
    Node* unit = ready_.back();
    ready_.pop_back();
    RETURN_IF_ERROR(Visit(unit));
  }
  std::vector<GradientValue> all;
  for (const Output& x : xs_) {
    const auto it = results_.find(x);
    all.push_back(it == results_.end() ? GradientValue() : it->second);
  }
  return all;
}

// The loop that an Exit leaves stands for the Exit.
Node* GradientWalk::UnitOf(Node* node) const {
  if (const GradientStep* step = run_.StepOf(node); step != nullptr) return step->outputs[0].node;
  const Frame* const loop = run_.frames->LoopOfExit(node);
  return loop == nullptr || loop->condition == nullptr ? node : loop->condition;
}

// As UnitOf; a loop is noted as one.
Node* GradientWalk::Reach(Node* node) {
  Node* const unit = UnitOf(node);
  if (unit != node && run_.StepOf(node) == nullptr) loops_[unit] = run_.frames->LoopOfExit(node);
  return unit;
}

// The inputs that a gradient of this unit could go to: none behind a stop, and none of what an
// iteration starts with: that is for whoever differentiates the loop.
std::vector<Output> GradientWalk::InputsToward(const Node* unit) const {
  std::vector<Output> inputs;
  const auto add = [&](const Node* node) {
    for (const Output& input : run_.InputsOf(node)) {
      if (Carries(input)) inputs.push_back(input);
    }
  };
  if (const GradientStep* step = run_.StepOf(unit); step != nullptr) {
    const auto stops = [&](const Output& output) { return run_.stops.contains(output.node); };
    if (!std::all_of(step->outputs.begin(), step->outputs.end(), stops)) add(unit);
    return inputs;
  }
  if (run_.stops.contains(unit) || IsLoopMerge(unit)) return inputs;
  if (const auto loop = loops_.find(unit); loop != loops_.end()) {
    if (!loop->second->back_prop) return inputs;
    for (const LoopVariable& variable : loop->second->variables) add(variable.enter);
    for (const Node* enter : loop->second->invariants) add(enter);
    return inputs;
  }
  if (unit->control() != Control::kEnter || !EndsAtEnters()) add(unit);
  return inputs;
}

// In the body of a loop whose gradient is another loop, which takes what the Enters get.
bool GradientWalk::EndsAtEnters() const {
  const bool of_step = run_.within != nullptr && run_.within->place.forward == place_.forward;
  return place_.forward != nullptr && place_.forward != place_.gradient && !of_step;
}

bool GradientWalk::DependsOnAnX(Frame* loop) {
  std::unordered_set<const Node*> wanted;
  for (const Output& x : xs_) wanted.insert(UnitOf(x.node));
  std::unordered_set<const Node*> reached = {loop->condition};
  std::vector<const Node*> queue = {loop->condition};
  loops_[loop->condition] = loop;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const Output& input : InputsToward(queue[i])) {
      const Node* const unit = Reach(input.node);
      if (wanted.contains(unit)) return true;
      if (reached.insert(unit).second) queue.push_back(unit);
    }
  }
  return false;
}

// What a loop takes from a stack counts as a constant: right only if no x is behind it.
Status GradientWalk::CheckStacks(const std::unordered_set<Node*>& reached) {
  if (place_.forward != nullptr || loops_.empty()) return OkStatus();
  for (const StackLink& link : FindStackLinks(*run_.graph, *run_.frames)) {
    if (link.writer->condition == nullptr || link.reader->condition == nullptr ||
        !reached.contains(link.reader->condition) || !DependsOnAnX(link.writer)) {
      continue;
    }
    return Unimplemented(
        "Second-order gradient for while loops not supported: the gradient of the while loop '",
        link.reader->name, "' (its condition is ", link.reader->condition->Label(),
        "): it takes from a stack what the while loop '", link.writer->name,
        "' put there, so it is itself a gradient that TensorFlow made; for second ",
        "derivatives make the first here");
  }
  return OkStatus();
}

// Fills pending_: units that ys depend on and that depend on xs.
Status GradientWalk::FindPaths() {
  std::vector<Node*> upstream;
  std::unordered_set<Node*> reached;
  const auto reach = [&](Node* node) {
    Node* const unit = Reach(node);
    if (reached.insert(unit).second) upstream.push_back(unit);
  };
  for (const Output& y : ys_) reach(y.node);
  for (size_t i = 0; i < upstream.size(); ++i) {
    RETURN_IF_ERROR(run_.Visit(*upstream[i]));
    for (const Output& input : InputsToward(upstream[i])) reach(input.node);
  }
  RETURN_IF_ERROR(CheckStacks(reached));
  std::unordered_map<Node*, std::vector<Node*>> consumers;
  for (Node* unit : upstream) {
    for (const Output& input : InputsToward(unit)) consumers[UnitOf(input.node)].push_back(unit);
  }
  std::vector<Node*> stack;
  for (const Output& x : xs_) {
    Node* const unit = UnitOf(x.node);
    // An x that no y depends on is no part of any path.
    if (reached.contains(unit) && pending_.try_emplace(unit).second) stack.push_back(unit);
  }
  while (!stack.empty()) {
    Node* unit = stack.back();
    stack.pop_back();
    for (Node* consumer : consumers[unit]) {
      if (pending_.try_emplace(consumer).second) stack.push_back(consumer);
    }
  }
  std::vector<Node*> units;
  units.reserve(pending_.size());
  for (const auto& [unit, pending] : pending_) units.push_back(unit);
  for (Node* unit : units) {
    for (const Output& input : InputsToward(unit)) {
      if (const auto it = pending_.find(UnitOf(input.node)); it != pending_.end()) ++it->second;
    }
  }
  return OkStatus();
}

Status GradientWalk::Seed() {
  for (size_t i = 0; i < ys_.size(); ++i) {
    if (!IsOnPath(ys_[i])) continue;
    GradientValue seed = grad_ys_.empty() ? GradientValue() : grad_ys_[i];
    if (!seed.present()) seed.values = OnesLike(ys_[i], i);
    partials_[ys_[i]].push_back(seed);
  }
  for (auto& [unit, pending] : pending_) {
    if (pending == 0) ready_.push_back(unit);
  }
  // Highest id first from the back, so that names and node order do not depend on addresses.
  std::sort(ready_.begin(), ready_.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return builder_.status();
}

Output GradientWalk::OnesLike(const Output& y, size_t i) {
  const std::string name = StrCat("grad_ys_", i);
  const Output one = builder_.ScalarConst(y.dtype(), 1.0, StrCat(name, "/one"));
  if (y.shape().IsFullyDefined()) {
    const Dims& dims = y.shape().dims();
    const std::vector<int64_t> sizes(dims.begin(), dims.end());
    return builder_.Op("Fill", {builder_.Const(sizes, StrCat(name, "/shape")), one}, {}, name);
  }
  const Output shape = builder_.Op("Shape", {y}, {}, StrCat(name, "/shape"));
  return builder_.Op("Fill", {shape, one}, {}, name);
}

bool GradientWalk::IsOnPath(const Output& output) const {
  return pending_.contains(UnitOf(output.node));
}

Status GradientWalk::Visit(Node* unit) {
  RETURN_IF_ERROR(run_.Visit(*unit));
  if (const GradientStep* step = run_.StepOf(unit); step != nullptr) {
    RETURN_IF_ERROR(VisitStep(*step));
  } else {
    const auto loop = loops_.find(unit);
    RETURN_IF_ERROR(loop == loops_.end() ? VisitNode(unit) : VisitLoop(loop->second));
  }
  Settle(unit);
  return OkStatus();
}

// The sum of what came in for an output; recorded when it is asked for.
GradientValue GradientWalk::TakeGradient(const Output& output) {
  GradientValue sum;
  if (const auto found = partials_.find(output); found != partials_.end()) {
    sum = SumGradients(builder_, output, std::move(found->second));
    partials_.erase(found);
  }
  if (wanted_.contains(output)) results_[output] = sum;
  return sum;
}

void GradientWalk::HandOver(const Output& input, const GradientValue& gradient) {
  if (gradient.present() && Carries(input) && IsOnPath(input)) partials_[input].push_back(gradient);
}

// Whoever feeds this unit waits for one gradient less.
void GradientWalk::Settle(const Node* unit) {
  for (const Output& input : InputsToward(unit)) {
    Node* const source = UnitOf(input.node);
    const auto it = pending_.find(source);
    if (it != pending_.end() && --it->second == 0) ready_.push_back(source);
  }
}

// All gradients of the node's outputs are here: sum them, call its gradient function, hand the
// results on.
Status GradientWalk::VisitNode(Node* node) {
  std::vector<GradientValue> output_grads(static_cast<size_t>(node->num_outputs()));
  bool any = false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    const auto k = static_cast<size_t>(i);
    output_grads[k] = TakeGradient({node, i});
    any |= output_grads[k].present();
  }
  RETURN_IF_ERROR(builder_.status());
  if (!any || !LeadsToAnX(node)) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<GradientValue> input_grads,
                   Differentiate(*node, std::move(output_grads)));
  for (int i = 0; i < node->num_inputs(); ++i) {
    HandOver(node->input(i), input_grads[static_cast<size_t>(i)]);
  }
  return OkStatus();
}

Status GradientWalk::VisitLoop(Frame* loop) {
  std::vector<GradientValue> grads(loop->variables.size());
  bool any = false;
  for (Node* exit : loop->exits) {
    const GradientValue grad = TakeGradient({exit, 0});
    const int i = run_.frames->VariableOfExit(exit);
    if (!grad.present() || i < 0) continue;
    any = true;
    GradientValue& sum = grads[static_cast<size_t>(i)];
    sum = sum.present() ? SumGradients(builder_, {exit, 0}, {sum, grad}) : grad;
  }
  RETURN_IF_ERROR(builder_.status());
  if (!any || !LeadsToAnX(loop->condition)) return OkStatus();
  LoopGradient gradient(run_, loop, place_.gradient, builder_);
  ASSIGN_OR_RETURN(const LoopInputGradients inputs,
                   gradient.Add(std::move(grads), [&](const Output& o) { return IsOnPath(o); }));
  for (const auto& [enter, grad] : inputs) HandOver(enter->input(0), grad);
  return OkStatus();
}

Status GradientWalk::VisitStep(const GradientStep& step) {
  std::vector<GradientValue> grads;
  bool any = false;
  for (const Output& output : step.outputs) {
    const GradientValue grad = TakeGradient(output);
    grads.push_back(run_.stops.contains(output.node) ? GradientValue() : grad);
    any |= grads.back().present();
  }
  RETURN_IF_ERROR(builder_.status());
  if (!any || !LeadsToAnX(step.outputs[0].node)) return OkStatus();
  const int first = run_.graph->num_nodes();
  ASSIGN_OR_RETURN(const std::vector<GradientValue> made,
                   step.function(grads, {run_, place_, first}));
  if (made.size() != step.inputs.size()) {
    return InvalidArgument("a gradient function gave ", made.size(), " gradients for ",
                           step.inputs.size(), " inputs");
  }
  run_.frames->PlaceLoops(*run_.graph, first, place_.forward, place_.gradient);
  for (size_t i = 0; i < made.size(); ++i) HandOver(step.inputs[i], made[i]);
  return OkStatus();
}

bool GradientWalk::LeadsToAnX(const Node* unit) const {
  const std::vector<Output> inputs = InputsToward(unit);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Output& input) { return IsOnPath(input); });
}

Result<std::vector<GradientValue>> GradientWalk::Differentiate(
    const Node& node, std::vector<GradientValue> output_grads) {
  // What goes into an iteration is what came out of the one before, or out of the constant.
  if (IsLoopSwitch(node)) return std::vector<GradientValue>{output_grads[1], GradientValue()};
  if (node.control() == Control::kEnter) return std::vector<GradientValue>{output_grads[0]};
  const GradientOptions& options = *run_.options;
  GraphBuilder b = builder_.Scope(StrCat(node.name(), "_grad"));
  if (options.colocate) b = b.ColocatedWith(node);
  GradientContext context(node, b, std::move(output_grads));
  Status status;
  std::string named;
  if (const AttrValue* attr = node.FindAttr("_gradient_op_type"); attr != nullptr) {
    ASSIGN_OR_RETURN(named, attr->Get<std::string>());
  }
  if (const auto it = options.overrides.find(named); it != options.overrides.end()) {
    status = it->second(context);
  } else if (!named.empty() && !IsNameOfCall(node, named)) {
    return NotFound(node.Label(), " asks for the gradient '", named, "', which nobody registered");
  } else if (node.op().gradient != nullptr) {
    status = node.op().gradient(context);
  } else if (node.op().not_differentiable.empty()) {
    return Unimplemented(
        "no gradient is known for ", node.Label(),
        ", which lies between the ys and the xs (site: ", node.graph().Site(node.site()),
        "); stop there with stop_gradients or register one");
  }
  KeepFirstError(b.status(), &status);
  if (!status.ok()) return status.WithContext(StrCat("gradient of ", node.Label()));
  return context.input_grads();
}

}  // namespace thalweg
