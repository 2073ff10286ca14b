// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/prune.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/base/first_error.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

bool IsTap(const Node& node) { return node.op_name() == "_Tap"; }

class Pruner {
 public:
  Pruner(const StepGraph& from) : from_(from), copier_(from) {
    for (const Output& feed : from.feeds) {
      if (feed.node != nullptr) fed_.insert(feed);
    }
  }

  // Lets the taps among the targets stand behind the nodes that they look at.
  Status SetTaps() {
    for (Node* target : from_.targets) {
      if (!IsTap(*target)) continue;
      if (target->control_inputs().empty()) {
        return InvalidArgument(target->Label(), " has no control input: which node is looked at?");
      }
      const Node* const seen = target->control_inputs()[0];
      if (seen->control() != Node::Control::kNone) {
        return InvalidArgument(target->Label(), " looks at ", seen->Label(),
                               ", which hands on what others compute: those can be looked at");
      }
      taps_[seen].push_back(target);
      AddPath(*seen, *target);
    }
    return OkStatus();
  }

  Result<StepGraph> Run() {
    RETURN_IF_ERROR(Collect());
    RETURN_IF_ERROR(Sort());
    RETURN_IF_ERROR(MakeFeeds());
    for (const Node* node : order_) {
      Node* const now = copier_.Copy(*node);
      Status added;
      ForEachTap(*node, [&](const Node* tap) {
        KeepFirstError(copier_.graph().AddControlInput(now, copier_.Map(tap)), &added);
      });
      RETURN_IF_ERROR(added);
    }
    ASSIGN_OR_RETURN(StepGraph step, copier_.Finish());
    for (size_t i = 0; i < step.feeds.size(); ++i) {
      // Its node may be there all the same, for a control edge.
      if (!read_feeds_.contains(from_.feeds[i])) step.feeds[i] = Output();
    }
    return step;
  }

 private:
  bool IsFed(const Output& output) const { return !fed_.empty() && fed_.contains(output); }
  // A control edge from it is met as soon as the step begins.
  bool IsFedPlaceholder(const Node& node) const {
    return IsPlaceholder(node) && IsFed({const_cast<Node*>(&node), 0});
  }

  // The nodes that lead from `seen` to its tap: nodes made after it that come behind it.
  void AddPath(const Node& seen, const Node& tap) {
    std::map<int, const Node*> upstream = {{tap.id(), &tap}};
    for (auto last = upstream.rbegin(); last != upstream.rend(); ++last) {
      ForEachSource(*last->second, [&](const Node* before) {
        if (before->id() > seen.id()) upstream.emplace(before->id(), before);
      });
    }
    for (const auto& [id, node] : upstream) {
      bool leads = false;
      ForEachSource(*node, [&](const Node* before) {
        const auto found = own_.find(before);
        leads |= before == &seen || (found != own_.end() && found->second == &seen);
      });
      if (leads) own_.emplace(node, &seen);
    }
  }
  template <class F>
  static void ForEachSource(const Node& node, const F& f) {
    for (const Output& input : node.inputs()) f(input.node);
    for (const Node* before : node.control_inputs()) f(before);
  }
  // Calls f for each tap of a node that `node` comes behind, once.
  template <class F>
  void ForEachTap(const Node& node, const F& f) const {
    if (taps_.empty() || own_.contains(&node)) return;
    std::set<const Node*> before;
    for (const Output& input : node.inputs()) {
      if (!IsFed(input)) before.insert(input.node);
    }
    before.insert(node.control_inputs().begin(), node.control_inputs().end());
    for (const Node* seen : before) {
      const auto found = taps_.find(seen);
      if (found == taps_.end() || !needed_[seen->id()]) continue;
      for (const Node* tap : found->second) f(tap);
    }
  }

  void Visit(const Node* node) {
    if (needed_[node->id()]) return;
    needed_[node->id()] = true;
    order_.push_back(node);
    const auto found = taps_.find(node);
    if (found == taps_.end()) return;
    for (const Node* tap : found->second) Visit(tap);
  }
  void VisitOutput(const Output& output) {
    if (IsFed(output)) {
      read_feeds_.insert(output);
    } else {
      Visit(output.node);
    }
  }

  Status Collect() {
    needed_.resize(static_cast<size_t>(from_.graph->num_nodes()));
    for (const Output& fetch : from_.fetches) VisitOutput(fetch);
    for (const Node* target : from_.targets) {
      if (!IsFedPlaceholder(*target) && (taps_.empty() || !IsTap(*target))) Visit(target);
    }
    for (size_t next = 0; next < order_.size(); ++next) {
      const Node* node = order_[next];
      RETURN_IF_ERROR(from_.Visit(*node));
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Output& input = node->input(i);
        if (input.node == nullptr) {
          return InvalidArgument(node->Label(), ": input ", i,
                                 " is open: the loop's NextIteration was never connected");
        }
        if (IsFed(input) && node->input_is_ref(i)) {
          return InvalidArgument("'", input.ToString(), "' cannot be fed: ", node->Label(),
                                 " needs the variable that input ", i, " refers to, not a value");
        }
        VisitOutput(input);
      }
      for (const Node* before : node->control_inputs()) {
        if (!IsFedPlaceholder(*before)) Visit(before);
      }
    }
    return OkStatus();
  }

  // Calls f for each needed node that must come before `node`.
  template <class F>
  void ForEachBefore(const Node& node, const F& f) const {
    const bool merge = node.control() == Node::Control::kMerge;
    for (const Output& input : node.inputs()) {
      const bool back_edge = merge && input.node->control() == Node::Control::kNextIteration;
      if (!back_edge && !IsFed(input)) f(input.node);
    }
    for (const Node* before : node.control_inputs()) {
      if (!IsFedPlaceholder(*before)) f(before);
    }
    ForEachTap(node, f);
  }

  // Order of creation where that is topological, else the nearest to it.
  Status Sort() {
    std::sort(order_.begin(), order_.end(),
              [](const Node* a, const Node* b) { return a->id() < b->id(); });
    bool sorted = true;
    for (const Node* node : order_) {
      ForEachBefore(*node, [&](const Node* before) { sorted &= before->id() < node->id(); });
    }
    if (sorted) return OkStatus();

    std::vector<int> pending(needed_.size());
    std::vector<std::vector<const Node*>> readers(needed_.size());
    for (const Node* node : order_) {
      ForEachBefore(*node, [&](const Node* before) {
        ++pending[node->id()];
        readers[before->id()].push_back(node);
      });
    }
    const auto later = [](const Node* a, const Node* b) { return a->id() > b->id(); };
    std::priority_queue<const Node*, std::vector<const Node*>, decltype(later)> ready(later);
    for (const Node* node : order_) {
      if (pending[node->id()] == 0) ready.push(node);
    }
    std::vector<const Node*> order;
    order.reserve(order_.size());
    while (!ready.empty()) {
      const Node* node = ready.top();
      ready.pop();
      order.push_back(node);
      for (const Node* reader : readers[node->id()]) {
        if (--pending[reader->id()] == 0) ready.push(reader);
      }
    }
    if (order.size() < order_.size()) return CycleError(pending);
    order_ = std::move(order);
    return OkStatus();
  }

  Status CycleError(const std::vector<int>& pending) const {
    // Going back from a node that never became ready, along nodes that never did, ends in a cycle.
    const Node* node = nullptr;
    for (const Node* candidate : order_) {
      if (pending[candidate->id()] > 0) node = candidate;
    }
    std::vector<const Node*> path;
    std::unordered_set<const Node*> seen;
    while (seen.insert(node).second) {
      path.push_back(node);
      const Node* next = nullptr;
      ForEachBefore(*node, [&](const Node* before) {
        if (pending[before->id()] > 0) next = before;
      });
      node = next;
    }
    std::string text = node->Label();
    const auto begin = std::find(path.begin(), path.end(), node);
    for (auto it = begin + 1; it < path.end() && it < begin + 8; ++it) {
      text = StrCat((*it)->Label(), " -> ", text);
    }
    return InvalidArgument("the graph has a cycle without a NextIteration: ", node->Label(), " -> ",
                           text);
  }

  Status MakeFeeds() {
    for (const Output& feed : from_.feeds) {
      if (feed.node == nullptr || !read_feeds_.contains(feed)) continue;
      const Node* const origin = from_.origins.empty() ? feed.node : from_.Origin(*feed.node);
      Node* made;
      if (IsPlaceholder(*feed.node) && feed.node->num_inputs() == 0) {
        made = copier_.graph().CopyNode(*feed.node, {}, {});
      } else {
        NodeSpec spec;
        spec.name = copier_.graph().UniqueName(StrCat(feed.node->name(), "/feed_", feed.index));
        spec.op = "Placeholder";
        spec.attrs = {{"dtype", feed.dtype()}, {"shape", feed.shape()}};
        spec.device = feed.node->device();
        ASSIGN_OR_RETURN(made, copier_.graph().AddNode(std::move(spec)));
      }
      copier_.Redirect(feed, {made, 0});  // not Replace: control edges from it vanish
      copier_.SetOrigin(*made, origin);
    }
    return OkStatus();
  }

  const StepGraph& from_;
  GraphCopier copier_;
  std::unordered_set<Output, OutputHash> fed_;
  std::unordered_set<Output, OutputHash> read_feeds_;
  std::unordered_map<const Node*, std::vector<const Node*>> taps_;  // by the node that they look at
  // Nodes that lead to a tap, and the node that it looks at.
  std::unordered_map<const Node*, const Node*> own_;
  std::vector<bool> needed_;
  std::vector<const Node*> order_;
};

}  // namespace

Result<StepGraph> Prune(const StepGraph& step) { return Pruner(step).Run(); }

Result<StepGraph> Prune(const Graph& graph, const PruneRequest& request) {
  StepGraph whole;
  // Borrowed for the time of the call.
  whole.graph = std::shared_ptr<Graph>(std::shared_ptr<void>(), const_cast<Graph*>(&graph));
  whole.feeds = request.feeds;
  whole.fetches = request.fetches;
  whole.targets = request.targets;
  whole.work = request.work;
  Pruner pruner(whole);
  RETURN_IF_ERROR(pruner.SetTaps());
  return pruner.Run();
}

}  // namespace thalweg
