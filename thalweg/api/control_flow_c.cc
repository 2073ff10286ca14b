// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/graph/control_flow_builder.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

Result<BranchBody> UnwrapBranch(const TwGraph* graph, const TwBranch* given, const char* what) {
  RETURN_IF_ERROR(RequireAll({{what, given}}));
  if (given->body == nullptr || given->body->function == nullptr) {
    return InvalidArgument(what, " is no function's body");
  }
  BranchBody branch{given->body->function.get(), {}};
  if (branch.builder->outside() != graph->graph) {
    return InvalidArgument(what, " is the body of a function of another graph");
  }
  ASSIGN_OR_RETURN(branch.results, UnwrapAll(given->results, given->num_results, "result"));
  return branch;
}

ControlFlowSpec UnwrapSpec(Graph& graph, const TwControlFlowOptions* options, const char* op) {
  const TwControlFlowOptions given = CopyOptions(options, TwControlFlowOptions{});
  ControlFlowSpec spec;
  spec.name = given.name == nullptr ? op : given.name;
  if (given.device != nullptr) spec.device = given.device;
  if (given.site != nullptr) spec.site = graph.InternSite(given.site);
  if (given.parallel_iterations > 0) spec.parallel_iterations = given.parallel_iterations;
  return spec;
}

// Gives the outputs; an error says which node could not be made, and where the program asked for
// it.
Status Give(const Graph& graph, const ControlFlowSpec& spec,
            const Result<std::vector<Output>>& outputs, TwOutput* made) {
  if (outputs.ok()) {
    for (size_t i = 0; i < outputs->size(); ++i) made[i] = Wrap((*outputs)[i]);
    return OkStatus();
  }
  const std::string_view said = outputs.status().message();
  const std::string name = StrCat("'", spec.name, "'"), site(graph.Site(spec.site));
  return {outputs.status().code(),
          StrCat(said.find(name) == said.npos ? StrCat(name, ": ") : "", said,
                 said.find(site) == said.npos ? StrCat(" (created at ", site, ")") : "")};
}

}  // namespace

extern "C" {

TwCode tw_graph_while(TwGraph* graph, const TwOutput* initial, int32_t num_variables,
                      const TwBranch* condition, const TwBranch* body,
                      const TwControlFlowOptions* options, TwOutput* last, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    RETURN_IF_ERROR(CheckArray(last, num_variables, "last value"));
    ASSIGN_OR_RETURN(std::vector<Output> first, UnwrapAll(initial, num_variables, "variable"));
    ASSIGN_OR_RETURN(BranchBody goes_on, UnwrapBranch(graph, condition, "condition"));
    ASSIGN_OR_RETURN(BranchBody step, UnwrapBranch(graph, body, "body"));
    const ControlFlowSpec spec = UnwrapSpec(*graph->graph, options, "while");
    return Give(*graph->graph, spec,
                AddWhile(spec, std::move(first), std::move(goes_on), std::move(step)), last);
  });
}

TwCode tw_graph_branch(TwGraph* graph, TwOutput selector, const TwBranch* branches,
                       int32_t num_branches, const TwControlFlowOptions* options, TwOutput* made,
                       TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    RETURN_IF_ERROR(CheckArray(branches, num_branches, "branch"));
    ASSIGN_OR_RETURN(const Output chooses, UnwrapOutput(selector, "the selector"));
    std::vector<BranchBody> bodies;
    for (int32_t i = 0; i < num_branches; ++i) {
      ASSIGN_OR_RETURN(BranchBody branch, UnwrapBranch(graph, &branches[i], "branch"));
      bodies.push_back(std::move(branch));
    }
    if (num_branches > 0) {
      RETURN_IF_ERROR(CheckArray(made, branches[0].num_results, "result"));
    }
    if (chooses.dtype() == DType::kBool) {
      if (num_branches != 2) {
        return InvalidArgument("a condition chooses between 2 branches, ", num_branches,
                               " are given");
      }
      const ControlFlowSpec spec = UnwrapSpec(*graph->graph, options, "cond");
      return Give(*graph->graph, spec,
                  AddIf(spec, chooses, std::move(bodies[0]), std::move(bodies[1])), made);
    }
    const ControlFlowSpec spec = UnwrapSpec(*graph->graph, options, "case");
    return Give(*graph->graph, spec, AddCase(spec, chooses, std::move(bodies)), made);
  });
}

}  // extern "C"
