// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/step_compiler.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/graph/graph_text.h"
#include "thalweg/graph/missing_feed.h"
#include "thalweg/passes/expand_functions.h"
#include "thalweg/passes/graph_copier.h"
#include "thalweg/passes/late_reads.h"
#include "thalweg/passes/prune.h"
#include "thalweg/passes/schedule_receives.h"
#include "thalweg/session/client_edge.h"
#include "thalweg/session/function_gradients.h"

namespace thalweg {
namespace {

std::string CreatedAt(const Node& node) {
  return node.site() == 0 ? "" : StrCat(" (created at ", node.graph().Site(node.site()), ")");
}

Status CheckOutput(const Graph& graph, const Output& output, std::string_view what, size_t i) {
  if (output.node == nullptr) return InvalidArgument(what, " ", i, " is no tensor (null)");
  if (&output.node->graph() != &graph) {
    return InvalidArgument(what, " ", i, ": ", output.node->Label(),
                           " is not a node of this session's graph");
  }
  if (output.index < 0 || output.index >= output.node->num_outputs()) {
    return InvalidArgument(what, " ", i, ": ", output.node->Label(), " has ",
                           output.node->num_outputs(), " outputs, there is no ", output.index);
  }
  return OkStatus();
}

// A placeholder that nobody feeds always fails: better before anything has run.
Status CheckPlaceholders(const StepGraph& step) {
  for (const Node* node : step.graph->Nodes()) {
    if (node->num_inputs() > 0 || !IsPlaceholder(*node) || step.IsFeed(*node)) continue;
    return InvalidArgument(MissingFeedText(*node), CreatedAt(*node));
  }
  return OkStatus();
}

// How many nodes of an operation there were, and how many there are.
using OpCounts = std::map<std::string, std::pair<int, int>>;

// The operations whose number rewriting changed, and what nodes were made of.
std::string ChangesText(const OpCounts& counts, const Graph& after) {
  std::string text;
  int same = 0;
  for (const auto& [op, count] : counts) {
    if (count.first == count.second) {
      ++same;
      continue;
    }
    const std::string before = StrCat(count.first), now = StrCat(count.second);
    text += StrCat(std::string(7 - std::min<size_t>(6, before.size()), ' '), before, " -> ",
                   std::string(6 - std::min<size_t>(6, now.size()), ' '), now, "  ", op, "\n");
  }
  text += StrCat("as many as before: ", same, " other operations\n");
  for (const Node* node : after.Nodes()) {
    const AttrValue* from = node->FindAttr("_fused_from");
    const std::string* parts = from == nullptr ? nullptr : from->GetIf<std::string>();
    if (parts != nullptr) text += StrCat("  ", node->Label(), " is made of ", *parts, "\n");
  }
  return text;
}

// Bytes of what the nodes of a step make, as far as shapes say: the sum, not the peak.
std::string MemoryText(const Graph& graph) {
  double constants = 0, values = 0;
  int unknown = 0;
  for (const Node* node : graph.Nodes()) {
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (node->output_is_ref(i)) continue;
      const double elements = static_cast<double>(node->output_shape(i).num_elements());
      const double bytes = elements * static_cast<double>(DTypeStride(node->output_type(i)));
      unknown += elements < 0 ? 1 : 0;
      (node->op_name() == "Const" ? constants : values) += elements < 0 ? 0 : bytes;
    }
  }
  return StrCat("constants: ", constants, " bytes\nvalues of known shape: ", values,
                " bytes\nvalues of unknown shape: ", unknown, "\n");
}

}  // namespace

Status StepPlan::CheckFeeds(std::span<const Tensor> values) const {
  for (size_t i = 0; i < values.size(); ++i) {
    const Output& feed = signature.feeds[i];
    const Tensor& value = values[i];
    if (value.empty() || value.is_reference()) {
      return InvalidArgument("the value fed to '", feed.ToString(), "' is ",
                             value.empty() ? "no tensor (empty)" : "a reference, not a tensor");
    }
    if (value.dtype() != feed.dtype()) {
      return InvalidArgument("Cannot feed value of dtype ", value.dtype(), " to '", feed.ToString(),
                             "': its dtype is ", feed.dtype(), CreatedAt(*feed.node));
    }
    const PartialShape& shape = feed.shape();
    if (shape.known_rank() && !shape.Admits(value.shape())) {
      return InvalidArgument("Cannot feed value of shape ", value.shape(), " to '", feed.ToString(),
                             "': its shape is ", shape, CreatedAt(*feed.node));
    }
  }
  return OkStatus();
}

RendezvousKey PartialKey(const Device& client, std::string_view kind, int number) {
  return ClientEdge(client.full_name(), client.incarnation(), kind, number);
}

Status StepCompiler::Check(const Signature& signature) const {
  std::unordered_set<Output, OutputHash> fed;
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    const Output& feed = signature.feeds[i];
    RETURN_IF_ERROR(CheckOutput(graph_, feed, "feed", i));
    if (!fed.insert(feed).second) {
      return InvalidArgument("'", feed.ToString(), "' is fed twice");
    }
  }
  for (size_t i = 0; i < signature.fetches.size(); ++i) {
    RETURN_IF_ERROR(CheckOutput(graph_, signature.fetches[i], "fetch", i));
  }
  for (size_t i = 0; i < signature.targets.size(); ++i) {
    const Node* target = signature.targets[i];
    if (target == nullptr) return InvalidArgument("target ", i, " is no node (null)");
    if (&target->graph() != &graph_) {
      return InvalidArgument("target ", i, ": ", target->Label(),
                             " is not a node of this session's graph");
    }
  }
  return OkStatus();
}

// As TensorFlow writes it: of the graph as it was given, before anything is folded or fused.
Status StepCompiler::LogPlacement(const StepGraph& step) {
  ASSIGN_OR_RETURN(const std::vector<int> device_of, placer_.Place(graph_, step));
  for (const Node* node : step.graph->Nodes()) {
    if (!logged_.insert(node->name()).second) continue;
    options_.placement_log.Info(node->name(), ": (", node->op_name(),
                                "): ", options_.devices[device_of[node->id()]]->full_name());
  }
  return OkStatus();
}

Result<StepGraph> StepCompiler::Rewrite(StepGraph step) {
  WorkBudget& work = *step.work;
  const Graph* const before = step.graph.get();
  RETURN_IF_ERROR(work.Begin("expanding functions"));
  ASSIGN_OR_RETURN(step, ExpandFunctions(step, graph_.library(),
                                         {.gradients = FunctionGradients, .work = &work}));
  RETURN_IF_ERROR(placer_.Check(step));
  if (options_.log_placement) RETURN_IF_ERROR(LogPlacement(step));
  ASSIGN_OR_RETURN(step, LateReads(step));
  const bool cpu_only = std::all_of(options_.devices.begin(), options_.devices.end(),
                                    [](const Device* device) { return device->type() == kCpu; });
  const bool host_addressable =
      std::all_of(options_.devices.begin(), options_.devices.end(),
                  [](const Device* device) { return device->host_addressable(); });
  return RunPasses(std::move(step), options_.passes,
                   {.evaluator = evaluator_,
                    .fold_limit_bytes = options_.fold_limit_bytes,
                    .kernels = *options_.kernels,
                    .cpu_only = cpu_only,
                    .host_addressable = host_addressable,
                    .first_graph = before});
}

Status StepCompiler::Finish(const StepGraph& step, StepPlan* plan) {
  RETURN_IF_ERROR(step.work->Begin("placing nodes"));
  ASSIGN_OR_RETURN(const std::vector<int> device_of, placer_.Place(graph_, step));
  RETURN_IF_ERROR(step.work->Begin("cutting the graph by device"));
  ASSIGN_OR_RETURN(plan->parts,
                   PartitionByDevice(step, device_of, options_.devices, options_.partition));
  if (options_.schedule_receives) {
    RETURN_IF_ERROR(ScheduleReceives(&plan->parts));
  }
  // For functions that its nodes call while the step runs, in whichever task.
  for (StepPartition& part : plan->parts) part.step.graph->library().SetParent(&graph_.library());
  RETURN_IF_ERROR(step.work->Begin("making the program"));
  plan->num_part_fetches = static_cast<int>(step.fetches.size());
  ASSIGN_OR_RETURN(plan->prepared,
                   runner_.Prepare({.parts = plan->parts,
                                    .num_feeds = static_cast<int>(step.feeds.size()),
                                    .num_fetches = plan->num_part_fetches,
                                    .work = step.work}));
  // The budget is the caller's.
  for (StepPartition& part : plan->parts) part.step.work = nullptr;
  return OkStatus();
}

Result<std::shared_ptr<StepPlan>> StepCompiler::Compile(const Signature& signature,
                                                        WorkBudget& work) {
  RETURN_IF_ERROR(work.Begin("finding what the step needs"));
  RETURN_IF_ERROR(Check(signature));
  auto plan = std::make_shared<StepPlan>();
  plan->signature = signature;
  // Each fetched edge once; a fed edge is answered by its feed.
  PruneRequest request{
      .feeds = signature.feeds, .fetches = {}, .targets = signature.targets, .work = &work};
  std::unordered_map<Output, int, OutputHash> from;
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    from[signature.feeds[i]] = -1 - static_cast<int>(i);
  }
  const size_t num_fetches = signature.fetches.size();
  from.reserve(signature.feeds.size() + num_fetches);
  request.fetches.reserve(num_fetches);
  plan->fetch_from.reserve(num_fetches);
  plan->fetches_in_order = true;
  for (const Output& fetch : signature.fetches) {
    const auto [found, added] = from.try_emplace(fetch, static_cast<int>(request.fetches.size()));
    if (added) request.fetches.push_back(fetch);
    plan->fetches_in_order &= found->second == static_cast<int>(plan->fetch_from.size());
    plan->fetch_from.push_back(found->second);
  }
  ASSIGN_OR_RETURN(StepGraph step, Prune(graph_, request));
  RETURN_IF_ERROR(CheckPlaceholders(step));
  ASSIGN_OR_RETURN(step, Rewrite(std::move(step)));
  RETURN_IF_ERROR(Finish(step, plan.get()));
  return plan;
}

Result<std::string> StepCompiler::Describe(const Signature& signature, WorkBudget& work) {
  RETURN_IF_ERROR(work.Begin("finding what the step needs"));
  RETURN_IF_ERROR(Check(signature));
  PruneRequest request{
      .feeds = signature.feeds, .fetches = {}, .targets = signature.targets, .work = &work};
  for (const Output& fetch : signature.fetches) {
    const auto has = [&](const std::vector<Output>& outputs) {
      return std::find(outputs.begin(), outputs.end(), fetch) != outputs.end();
    };
    if (!has(request.fetches) && !has(request.feeds)) request.fetches.push_back(fetch);
  }
  ASSIGN_OR_RETURN(StepGraph step, Prune(graph_, request));
  RETURN_IF_ERROR(CheckPlaceholders(step));
  std::string text = StrCat("== Before rewriting: ", step.graph->num_nodes(), " nodes ==\n",
                            GraphText(*step.graph));
  OpCounts counts;
  for (const Node* node : step.graph->Nodes()) ++counts[node->op_name()].first;
  ASSIGN_OR_RETURN(step, Rewrite(std::move(step)));
  for (const Node* node : step.graph->Nodes()) ++counts[node->op_name()].second;
  text += StrCat("\n== What rewriting changed ==\n", ChangesText(counts, *step.graph));
  text += StrCat("\n== After rewriting: ", step.graph->num_nodes(), " nodes ==\n",
                 GraphText(*step.graph), "\n== Memory ==\n", MemoryText(*step.graph));
  StepPlan plan;
  RETURN_IF_ERROR(Finish(step, &plan));
  if (options_.schedule_receives) {
    text += "\n== Receives that wait ==\n";
    for (const StepPartition& part : plan.parts) text += WaitingReceivesText(part.step);
  }
  return StrCat(text, "\n== Program ==\n", plan.prepared->Describe());
}

Result<StepGraph> StepCompiler::ExpandCall(const RuntimeCall& call, WorkBudget& work) {
  RETURN_IF_ERROR(work.Begin("finding the function that is called"));
  StepGraph step;
  step.work = &work;
  step.graph = std::make_shared<Graph>(graph_.shared_registry());
  step.graph->versions() = graph_.versions();
  step.graph->library().SetParent(&graph_.library());
  for (size_t i = 0; i < call.args.size(); ++i) {
    ASSIGN_OR_RETURN(Node * arg, step.graph->AddNode({.name = StrCat("arg_", i),
                                                      .op = "Placeholder",
                                                      .attrs = {{"dtype", call.args[i]}}}));
    step.feeds.push_back({arg, 0});
  }
  ASSIGN_OR_RETURN(
      Node * node,
      step.graph->AddNode(
          {.name = "call", .op = call.call.name, .inputs = step.feeds, .attrs = call.call.attrs}));
  for (int i = 0; i < node->num_outputs(); ++i) step.fetches.push_back({node, i});
  step.targets.push_back(node);
  step.origins.resize(static_cast<size_t>(step.graph->num_nodes()));
  ASSIGN_OR_RETURN(step, Rewrite(std::move(step)));
  step.work = nullptr;
  return step;
}

Result<std::shared_ptr<StepPlan>> StepCompiler::CompilePartial(const Signature& signature,
                                                               WorkBudget& work) {
  RETURN_IF_ERROR(work.Begin("finding what the step needs"));
  RETURN_IF_ERROR(Check(signature));
  auto plan = std::make_shared<StepPlan>();
  plan->signature = signature;
  ASSIGN_OR_RETURN(StepGraph step, Prune(graph_, {.feeds = signature.feeds,
                                                  .fetches = signature.fetches,
                                                  .targets = signature.targets,
                                                  .work = &work}));
  RETURN_IF_ERROR(CheckPlaceholders(step));
  ASSIGN_OR_RETURN(step, Rewrite(std::move(step)));

  // A feed becomes a Recv from the client, a fetch a Send to it.
  const Device& client = *options_.devices.front();
  const auto attrs = [&](const RendezvousKey& key) {
    return AttrMap{{"tensor_name", key.edge},
                   {"send_device", key.source},
                   {"send_device_incarnation", static_cast<int64_t>(key.incarnation)},
                   {"recv_device", key.destination},
                   {"client_terminated", true}};
  };
  GraphCopier copier(step);
  std::unordered_map<const Node*, int> feed_of;
  for (size_t i = 0; i < step.feeds.size(); ++i) {
    if (step.feeds[i].node != nullptr) feed_of[step.feeds[i].node] = static_cast<int>(i);
  }
  for (const Node* node : step.graph->Nodes()) {
    const auto feed = feed_of.find(node);
    if (feed == feed_of.end()) {
      copier.Copy(*node);
      continue;
    }
    NodeSpec recv;
    recv.name = copier.graph().UniqueName(StrCat(node->name(), "/feed"));
    recv.op = "_Recv";
    recv.attrs = attrs(PartialKey(client, "feed", feed->second));
    recv.attrs.Set("tensor_type", node->output_type(0));
    recv.device = client.full_name();
    ASSIGN_OR_RETURN(Node * made, copier.graph().AddNode(std::move(recv)));
    copier.Replace(*node, made);
    copier.SetOrigin(*made, nullptr);
  }
  ASSIGN_OR_RETURN(StepGraph copied, copier.Finish());
  copied.feeds.clear();
  for (size_t i = 0; i < copied.fetches.size(); ++i) {
    NodeSpec send;
    send.name = copied.graph->UniqueName(StrCat(copied.fetches[i].node->name(), "/fetch"));
    send.op = "_Send";
    send.inputs = {copied.fetches[i]};
    send.attrs = attrs(PartialKey(client, "fetch", static_cast<int>(i)));
    send.device = client.full_name();
    ASSIGN_OR_RETURN(Node * made, copied.graph->AddNode(std::move(send)));
    copied.targets.push_back(made);
  }
  copied.fetches.clear();
  copied.origins.resize(static_cast<size_t>(copied.graph->num_nodes()));
  RETURN_IF_ERROR(Finish(copied, plan.get()));
  return plan;
}

}  // namespace thalweg
