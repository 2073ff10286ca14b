// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/gradients.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/autodiff/path_report.h"
#include "thalweg/autodiff/sum_gradients.h"

namespace thalweg {
namespace {

struct OutputHash {
  size_t operator()(const Output& o) const {
    return std::hash<const void*>()(o.node) * 31 + static_cast<size_t>(o.index);
  }
};
using OutputSet = std::unordered_set<Output, OutputHash>;

// The walk over one call's graph: which nodes lie between xs and ys, how many gradients each still
// waits for.
class Differentiator {
 public:
  Differentiator(Graph* graph, const std::vector<Output>& ys, const std::vector<Output>& xs,
                 const GradientOptions& options)
      : graph_(graph),
        ys_(ys),
        xs_(xs),
        options_(options),
        wanted_(xs.begin(), xs.end()),
        builder_(GraphBuilder(graph).WithSite(options.site).Scope(options.scope)) {
    for (const Output& stop : options.stop_gradients) stops_.insert(stop.node);
  }

  Result<std::vector<GradientValue>> Run() {
    RETURN_IF_ERROR(CheckArguments());
    FindPaths();
    RETURN_IF_ERROR(RefuseLoops());
    RETURN_IF_ERROR(Seed());
    while (!ready_.empty()) {
      Node* node = ready_.back();
      ready_.pop_back();
      RETURN_IF_ERROR(Visit(node));
    }
    return Collect();
  }

 private:
  // A node on a path from an x to a y.
  struct OnPath {
    int pending = 0;  // consumers on paths that have not handed their gradient over yet
    std::vector<std::vector<GradientValue>> partials;  // per output
  };

  Status CheckArguments() const {
    if (ys_.empty()) return InvalidArgument("gradients of nothing: no y was given");
    if (!options_.grad_ys.empty() && options_.grad_ys.size() != ys_.size()) {
      return InvalidArgument("expected one incoming gradient for each y: ", ys_.size(), " ys, ",
                             options_.grad_ys.size(), " grad_ys");
    }
    for (const Output& y : ys_) RETURN_IF_ERROR(CheckOutput(y, "y"));
    for (const Output& x : xs_) RETURN_IF_ERROR(CheckOutput(x, "x"));
    for (const Output& grad : options_.grad_ys) {
      if (grad.node != nullptr) RETURN_IF_ERROR(CheckOutput(grad, "incoming gradient"));
    }
    for (size_t i = 0; i < ys_.size(); ++i) {
      if (!IsFloating(ys_[i].dtype()) && !IsComplex(ys_[i].dtype()) &&
          ys_[i].dtype() != DType::kResource) {
        return InvalidArgument("gradients of '", ys_[i], "' are not defined: its type is ",
                               ys_[i].dtype(), ", expected a real or complex type");
      }
      if (!options_.grad_ys.empty() && options_.grad_ys[i].node != nullptr &&
          options_.grad_ys[i].dtype() != ys_[i].dtype()) {
        return InvalidArgument("the incoming gradient of '", ys_[i], "' has type ",
                               options_.grad_ys[i].dtype(), ", expected ", ys_[i].dtype());
      }
    }
    return OkStatus();
  }

  Status CheckOutput(const Output& output, std::string_view what) const {
    if (output.node == nullptr) return InvalidArgument("a ", what, " is an empty output");
    if (&output.node->graph() != graph_) {
      return InvalidArgument("the ", what, " '", output, "' belongs to another graph");
    }
    if (output.index >= 0 && output.index < output.node->num_outputs()) return OkStatus();
    return InvalidArgument("the ", what, " '", output, "' is no output: ", output.node->Label(),
                           " has ", output.node->num_outputs());
  }

  static bool Carries(const Output& edge) {
    return edge.node != nullptr && IsDifferentiable(edge.dtype());
  }

  // The inputs that a gradient of this node could go to: none behind a stop.
  std::vector<Output> InputsToward(const Node* node) const {
    std::vector<Output> inputs;
    if (stops_.contains(node)) return inputs;
    for (const Output& input : node->inputs()) {
      if (Carries(input)) inputs.push_back(input);
    }
    return inputs;
  }

  // Fills on_path_: nodes that ys depend on and that depend on xs, with their pending counts.
  void FindPaths() {
    std::vector<Node*> upstream = Upstream();
    std::unordered_map<Node*, std::vector<Node*>> consumers;
    for (Node* node : upstream) {
      for (const Output& input : InputsToward(node)) consumers[input.node].push_back(node);
    }
    std::vector<Node*> stack;
    for (const Output& x : xs_) {
      if (on_path_.try_emplace(x.node).second) stack.push_back(x.node);
    }
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (Node* consumer : consumers[node]) {
        if (on_path_.try_emplace(consumer).second) stack.push_back(consumer);
      }
    }
    // An x that no y depends on is no part of any path.
    const std::unordered_set<Node*> reached(upstream.begin(), upstream.end());
    std::erase_if(on_path_, [&](const auto& entry) { return !reached.contains(entry.first); });
    for (auto& [node, state] : on_path_) {
      state.partials.resize(static_cast<size_t>(node->num_outputs()));
      for (const Output& input : InputsToward(node)) {
        if (auto it = on_path_.find(input.node); it != on_path_.end()) ++it->second.pending;
      }
    }
  }

  std::vector<Node*> Upstream() const {
    std::vector<Node*> found;
    std::unordered_set<Node*> seen;
    for (const Output& y : ys_) {
      if (seen.insert(y.node).second) found.push_back(y.node);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      for (const Output& input : InputsToward(found[i])) {
        if (seen.insert(input.node).second) found.push_back(input.node);
      }
    }
    return found;
  }

  Status RefuseLoops() const {
    for (const auto& [node, state] : on_path_) {
      if (node->control() == Node::Control::kNextIteration) {
        return Unimplemented("gradients through while loops are not supported: ", node->Label(),
                             " lies on the path from the ys to the xs (stop there with "
                             "stop_gradients, or unroll the "
                             "loop)");
      }
    }
    return OkStatus();
  }

  Status Seed() {
    for (size_t i = 0; i < ys_.size(); ++i) {
      const auto it = on_path_.find(ys_[i].node);
      if (it == on_path_.end()) continue;
      Output seed = options_.grad_ys.empty() ? Output() : options_.grad_ys[i];
      if (seed.node == nullptr) seed = OnesLike(ys_[i], i);
      it->second.partials[static_cast<size_t>(ys_[i].index)].push_back({seed, {}, {}});
    }
    for (auto& [node, state] : on_path_) {
      if (state.pending == 0) ready_.push_back(node);
    }
    // Highest id first from the back, so that names and node order do not depend on addresses.
    std::sort(ready_.begin(), ready_.end(),
              [](const Node* a, const Node* b) { return a->id() < b->id(); });
    return builder_.status();
  }

  Output OnesLike(const Output& y, size_t i) {
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

  // All gradients of the node's outputs are here: sum them, call its gradient function, hand the
  // results on.
  Status Visit(Node* node) {
    OnPath& state = on_path_.at(node);
    std::vector<GradientValue> output_grads(state.partials.size());
    bool any = false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const auto k = static_cast<size_t>(i);
      output_grads[k] = SumGradients(builder_, {node, i}, std::move(state.partials[k]));
      any |= output_grads[k].present();
      if (wanted_.contains({node, i})) results_[{node, i}] = output_grads[k];
    }
    RETURN_IF_ERROR(builder_.status());
    if (stops_.contains(node)) return OkStatus();
    std::vector<GradientValue> input_grads(static_cast<size_t>(node->num_inputs()));
    if (any && LeadsToAnX(node)) {
      ASSIGN_OR_RETURN(input_grads, Differentiate(*node, std::move(output_grads)));
    }
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output& input = node->input(i);
      if (!Carries(input)) continue;
      const auto it = on_path_.find(input.node);
      if (it == on_path_.end()) continue;
      const GradientValue& grad = input_grads[static_cast<size_t>(i)];
      if (grad.present()) it->second.partials[static_cast<size_t>(input.index)].push_back(grad);
      if (--it->second.pending == 0) ready_.push_back(input.node);
    }
    return OkStatus();
  }

  bool LeadsToAnX(const Node* node) const {
    const std::vector<Output> inputs = InputsToward(node);
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Output& input) { return on_path_.contains(input.node); });
  }

  Result<std::vector<GradientValue>> Differentiate(const Node& node,
                                                   std::vector<GradientValue> output_grads) {
    GraphBuilder b = builder_.Scope(StrCat(node.name(), "_grad"));
    if (options_.colocate) b = b.ColocatedWith(node);
    GradientContext context(node, b, std::move(output_grads));
    Status status;
    if (const AttrValue* named = node.FindAttr("_gradient_op_type"); named != nullptr) {
      ASSIGN_OR_RETURN(const std::string name, named->Get<std::string>());
      const auto it = options_.overrides.find(name);
      if (it == options_.overrides.end()) {
        return NotFound(node.Label(), " asks for the gradient '", name,
                        "', which nobody registered");
      }
      status = it->second(context);
    } else if (node.op().gradient != nullptr) {
      status = node.op().gradient(context);
    } else if (node.op().not_differentiable.empty()) {
      return Unimplemented(
          "no gradient is known for ", node.Label(),
          ", which lies between the ys and the xs (site: ", node.graph().Site(node.site()),
          "); stop there with stop_gradients or register one");
    }
    if (status.ok()) status = b.status();
    if (!status.ok()) return status.WithContext(StrCat("gradient of ", node.Label()));
    return context.input_grads();
  }

  Result<std::vector<GradientValue>> Collect() {
    std::vector<GradientValue> all;
    for (const Output& x : xs_) {
      const auto it = results_.find(x);
      const bool connected = it != results_.end() && it->second.present();
      if (!connected && !options_.allow_unconnected)
        return InvalidArgument(ReportBrokenPath(ys_, x));
      all.push_back(connected ? it->second : GradientValue());
    }
    return all;
  }

  Graph* const graph_;
  const std::vector<Output>& ys_;
  const std::vector<Output>& xs_;
  const GradientOptions& options_;
  std::unordered_set<const Node*> stops_;
  const OutputSet wanted_;
  GraphBuilder builder_;
  std::unordered_map<Node*, OnPath> on_path_;
  std::vector<Node*> ready_;
  std::unordered_map<Output, GradientValue, OutputHash> results_;
};

}  // namespace

bool IsDifferentiable(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kResource ||
         dtype == DType::kVariant;
}

Result<std::vector<GradientValue>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                                const std::vector<Output>& xs,
                                                const GradientOptions& options) {
  return Differentiator(graph, ys, xs, options).Run();
}

}  // namespace thalweg
