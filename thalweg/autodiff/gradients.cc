// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/gradients.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/autodiff/loop_memory.h"
#include "thalweg/autodiff/loop_writer.h"
#include "thalweg/autodiff/path_report.h"
#include "thalweg/autodiff/walk.h"
#include "thalweg/graph/node_maker.h"

namespace thalweg {
namespace {

Status CheckOutput(const Graph* graph, const Output& output, std::string_view what) {
  if (output.node == nullptr) return InvalidArgument("a ", what, " is an empty output");
  if (&output.node->graph() != graph) {
    return InvalidArgument("the ", what, " '", output, "' belongs to another graph");
  }
  if (output.index >= 0 && output.index < output.node->num_outputs()) return OkStatus();
  return InvalidArgument("the ", what, " '", output, "' is no output: ", output.node->Label(),
                         " has ", output.node->num_outputs());
}

Status CheckY(const Output& y, const Output& grad) {
  const bool is_list = y.dtype() == DType::kVariant && grad.node != nullptr;
  if (!IsFloating(y.dtype()) && !IsComplex(y.dtype()) && y.dtype() != DType::kResource &&
      !is_list) {
    return InvalidArgument("gradients of '", y, "' are not defined: its type is ", y.dtype(),
                           ", expected a real or complex type");
  }
  if (grad.node == nullptr || grad.dtype() == y.dtype()) return OkStatus();
  return InvalidArgument("the incoming gradient of '", y, "' has type ", grad.dtype(),
                         ", expected ", y.dtype());
}

Status CheckArguments(const Graph* graph, const std::vector<Output>& ys,
                      const std::vector<Output>& xs, const std::vector<Output>& grad_ys) {
  if (ys.empty()) return InvalidArgument("gradients of nothing: no y was given");
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return InvalidArgument("expected one incoming gradient for each y: ", ys.size(), " ys, ",
                           grad_ys.size(), " grad_ys");
  }
  for (const Output& y : ys) RETURN_IF_ERROR(CheckOutput(graph, y, "y"));
  for (const Output& x : xs) RETURN_IF_ERROR(CheckOutput(graph, x, "x"));
  for (const Output& grad : grad_ys) {
    if (grad.node != nullptr) RETURN_IF_ERROR(CheckOutput(graph, grad, "incoming gradient"));
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    RETURN_IF_ERROR(CheckY(ys[i], grad_ys.empty() ? Output() : grad_ys[i]));
  }
  return OkStatus();
}

// ys are values of one iteration (or of none), xs of the same or of around the loop.
Result<Frame*> FrameOfAll(const GradientRun& run, const std::vector<Output>& ys,
                          const std::vector<Output>& xs, const Frame* gradient) {
  Frame* const frame = run.FrameOf(ys[0].node);
  for (const Output& y : ys) {
    if (run.FrameOf(y.node) != frame) {
      return InvalidArgument("gradients of values of different loops: '", ys[0], "' and '", y, "'");
    }
  }
  for (const Output& grad : run.options->grad_ys) {
    const Frame* const of = grad.node == nullptr ? nullptr : run.FrameOf(grad.node);
    if (!LoopFrames::Contains(of, frame) && !LoopFrames::Contains(of, gradient)) {
      return InvalidArgument("the incoming gradient '", grad,
                             "' is a value inside the while loop '", of->name, "', '", ys[0],
                             "' is not");
    }
  }
  for (const Output& x : xs) {
    const Frame* const of = run.FrameOf(x.node);
    if (LoopFrames::Contains(of, frame)) continue;
    return InvalidArgument("no gradient of '", ys[0], "' with respect to '", x,
                           "', a value inside ", "the while loop '", of->name,
                           "': it has one in each iteration");
  }
  return frame;
}

// An iteration's value depends on all iterations before, which a gradient within the loop does not
// see: an error when that is a way to an x around the loop.
Status CheckIterations(const GradientRun& run, const Frame* frame, const std::vector<Output>& ys,
                       const std::vector<Output>& xs) {
  std::unordered_set<const Node*> outer_xs;
  for (const Output& x : xs) {
    if (run.FrameOf(x.node) != frame) outer_xs.insert(x.node);
  }
  // First what an iteration reads without its variables, then what these depend on.
  std::vector<const Node*> variables;
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> queue;
  const auto reach = [&](const Node* node) {
    if (reached.insert(node).second) queue.push_back(node);
  };
  const auto reach_inputs = [&](const Node* node) {
    for (const Output& input : node->inputs()) {
      if (input.node != nullptr && IsDifferentiable(input.dtype())) reach(input.node);
    }
  };
  for (const Output& y : ys) reach(y.node);
  for (size_t i = 0; i < queue.size(); ++i) {
    const Frame* const of = run.FrameOf(queue[i]);
    const bool is_variable = queue[i]->control() == Node::Control::kMerge && of != nullptr &&
                             LoopFrames::Contains(of, frame) && run.frames->IsVariable(queue[i]);
    if (is_variable) {
      variables.push_back(queue[i]);
    } else {
      reach_inputs(queue[i]);
    }
  }
  reached.clear();
  queue.clear();
  for (const Node* variable : variables) reach_inputs(variable);
  for (size_t i = 0; i < queue.size(); ++i) {
    if (outer_xs.contains(queue[i])) {
      return Unimplemented(
          "gradient of '", ys[0], "', a value inside the while loop '",
          run.frames->Of(variables[0])->name, "', with respect to '", queue[i]->name(),
          "' outside: the path goes through earlier iterations (", variables[0]->Label(), ")");
    }
    reach_inputs(queue[i]);
  }
  return OkStatus();
}

// Places what the nodes read of the iteration that their loop is made in. Whatever else is not
// placed yet is of the walks around, which place it themselves.
void PlaceSources(const GradientRun& run, int first, const std::vector<Node*>& nodes) {
  std::vector<const Node*> found;
  std::unordered_set<const Node*> seen;
  const auto consider = [&](const Node* source) {
    if (source == nullptr || source->id() >= first || run.frames->IsPlaced(source)) return;
    if (seen.insert(source).second) found.push_back(source);
  };
  const auto consider_sources = [&](const Node* node) {
    for (const Output& input : node->inputs()) consider(input.node);
    for (const Node* before : node->control_inputs()) consider(before);
  };
  for (const Node* node : nodes) consider_sources(node);
  for (size_t i = 0; i < found.size(); ++i) consider_sources(found[i]);
  std::sort(found.begin(), found.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  for (const Node* node : found) run.frames->Place(node, run.FrameOf(node));
}

// Makes what the walk added inside a loop part of its iterations.
Status MoveIntoLoop(GradientRun& run, Frame* frame, int first, const GraphBuilder& b, Node* pivot) {
  LoopWriter writer(run, frame, b);
  LoopFrames& frames = *run.frames;
  const int end = run.graph->num_nodes();
  std::vector<Node*> nodes;
  for (int id = first; id < end; ++id) {
    Node* const node = run.graph->NodeById(id);
    if (node->name().starts_with(run.prefix)) nodes.push_back(node);
  }
  if (run.within != nullptr) PlaceSources(run, first, nodes);
  for (const Node* node : nodes) {
    if (!frames.IsPlaced(node)) frames.Place(node, frame);
  }
  std::erase_if(nodes, [&](const Node* node) { return frames.InputsOf(node) != frame; });
  for (Node* node : nodes) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output input = node->input(i);
      if (input.node == nullptr || frames.Of(input.node) == frame) continue;
      const Output inside = writer.Invariant(input);
      RETURN_IF_ERROR(b.status());
      RETURN_IF_ERROR(NodeMaker::ReplaceInput(node, i, inside));
    }
    if (node->num_inputs() == 0 && node->control_inputs().empty()) {
      NodeMaker::ReplaceControlInputs(node, {pivot});
    }
  }
  return b.status();
}

// ys are values of one loop, what the walk adds belongs to the loop of its gradient, `place` says:
// values of the one are remembered for the other, and so on for the loops around them.
Result<std::vector<GradientValue>> WalkAcross(GradientRun& run, const WalkPlace& place,
                                              const std::vector<Output>& ys,
                                              const std::vector<GradientValue>& grad_ys,
                                              const std::vector<Output>& xs, GraphBuilder b) {
  const int first = run.graph->num_nodes();
  GradientWalk walk(run, place, ys, grad_ys, xs, b);
  ASSIGN_OR_RETURN(std::vector<GradientValue> gradients, walk.Run());
  std::vector<Output*> results;
  for (GradientValue& gradient : gradients) {
    if (!gradient.present()) continue;
    gradient = {Densify(b, gradient), {}, {}};
    results.push_back(&gradient.values);
  }
  RETURN_IF_ERROR(b.status());
  Frame* forward = place.forward;
  Frame* back = place.gradient;
  for (; forward != back; forward = forward->parent, back = back->parent) {
    if (forward == nullptr || back == nullptr || back->variables.empty()) {
      return Unimplemented("the gradient of '", ys[0], "' in another loop, which is not the one ",
                           "of the gradient of its own");
    }
    LoopMemory memory(run, forward, b.Scope("forward"));
    LoopWriter writer(run, back, b);
    Node* const sides =
        writer.OpNode("Switch", {{back->variables[0].merge, 0}, {back->condition, 0}});
    RETURN_IF_ERROR(b.status());
    writer.SetPivot(writer.OpNode("Identity", {{sides, 1}}));
    RETURN_IF_ERROR(memory.MoveInto(writer, first, run.graph->num_nodes(), results));
    results.clear();
  }
  return gradients;
}

// All gradients of one call meet in the same gradient arrays, wherever in its loops they are made.
void NameGradientArrays(const GradientRun& run, int first) {
  const std::string source = run.prefix.substr(0, run.prefix.size() - 1);
  const int end = run.graph->num_nodes();
  for (int id = first; id < end; ++id) {
    Node* const node = run.graph->NodeById(id);
    if (node->op_name().starts_with("TensorArrayGrad") && node->name().starts_with(run.prefix)) {
      NodeMaker::ReplaceAttr(node, "source", source);
    }
  }
}

Status AddStep(const GradientStep& step, GradientRun* run) {
  if (step.outputs.empty()) return InvalidArgument("a step of gradients has no outputs");
  for (const Output& o : step.inputs) {
    RETURN_IF_ERROR(CheckOutput(run->graph, o, "input of a step"));
  }
  for (const Output& o : step.outputs) {
    RETURN_IF_ERROR(CheckOutput(run->graph, o, "output of a step"));
    if (run->steps.emplace(o.node, &step).first->second == &step) continue;
    return InvalidArgument("two steps of gradients end at '", o, "'");
  }
  const Output& end = step.outputs[0];
  for (const std::vector<Output>& ends : {step.inputs, step.outputs}) {
    for (const Output& o : ends) {
      if (run->FrameOf(o.node) == run->FrameOf(end.node)) continue;
      return InvalidArgument("a step of gradients belongs to one loop, but '", o,
                             "' is not in that of '", end, "'");
    }
  }
  return OkStatus();
}

bool IsInALoop(const GradientPlace* within) {
  return within != nullptr && within->place.gradient != nullptr;
}

// The loops are those of the run around it, whose own the graph does not show yet.
Status Join(const GradientPlace& within, GradientRun* run) {
  if (within.run.graph != run->graph) {
    return InvalidArgument("a gradient function asks for gradients in another graph");
  }
  run->within = &within;
  run->frames = within.run.frames;
  run->frames->PlaceLoops(*run->graph, within.first, within.place.forward, within.place.gradient);
  run->frames->FindLoops(*run->graph);
  return OkStatus();
}

}  // namespace

bool IsDifferentiable(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kResource ||
         dtype == DType::kVariant;
}

Result<std::vector<GradientValue>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                                const std::vector<Output>& xs,
                                                const GradientOptions& options) {
  RETURN_IF_ERROR(CheckArguments(graph, ys, xs, options.grad_ys));
  std::optional<LoopFrames> own;
  const GraphBuilder b = GraphBuilder(graph).WithSite(options.site).Scope(options.scope);
  GradientRun run{.graph = graph, .options = &options, .prefix = b.prefix()};
  if (IsInALoop(options.within)) {
    RETURN_IF_ERROR(Join(*options.within, &run));
  } else {
    run.frames = &own.emplace(*graph);
  }
  Frame* const other = options.at == nullptr ? nullptr : run.frames->Of(options.at);
  ASSIGN_OR_RETURN(Frame* const frame, FrameOfAll(run, ys, xs, other));
  if (frame != nullptr) RETURN_IF_ERROR(CheckIterations(run, frame, ys, xs));
  for (const Output& stop : options.stop_gradients) run.stops.insert(stop.node);
  for (const GradientStep& step : options.steps) RETURN_IF_ERROR(AddStep(step, &run));
  std::vector<GradientValue> seeds;
  for (const Output& grad : options.grad_ys) seeds.push_back({grad, {}, {}});
  const int first = graph->num_nodes();
  std::vector<GradientValue> gradients;
  if (options.at != nullptr && other != frame) {
    ASSIGN_OR_RETURN(gradients, WalkAcross(run, {frame, other}, ys, seeds, xs, b));
  } else if (run.within != nullptr && frame == run.within->place.gradient) {
    // Whoever called the function makes what is added part of the iterations.
    GradientWalk walk(run, run.within->place, ys, seeds, xs, b);
    ASSIGN_OR_RETURN(gradients, walk.Run());
  } else {
    GradientWalk walk(run, {frame, frame}, ys, seeds, xs, b);
    ASSIGN_OR_RETURN(gradients, walk.Run());
    if (frame != nullptr) RETURN_IF_ERROR(MoveIntoLoop(run, frame, first, b, ys[0].node));
  }
  NameGradientArrays(run, first);
  for (size_t i = 0; i < xs.size() && !options.allow_unconnected; ++i) {
    if (!gradients[i].present()) return InvalidArgument(ReportBrokenPath(ys, xs[i]));
  }
  return gradients;
}

}  // namespace thalweg
