// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/control_flow_builder.h"

#include <algorithm>
#include <utility>

#include "thalweg/graph/function.h"
#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/function_definition.h"

namespace thalweg {
namespace {

std::string Described(const Output& output) {
  return StrCat(DTypeName(output.dtype()), " ", output.shape().ToString());
}

// A null or foreign result would be told by Define too, but after the first function is there.
Status BringResultsInside(std::vector<BranchBody*> bodies) {
  for (BranchBody* body : bodies) {
    for (size_t i = 0; i < body->results.size(); ++i) {
      if (body->results[i].node == nullptr) return InvalidArgument("result ", i, " is none");
      Result<Output> inside = body->builder->Inside(body->results[i]);
      if (!inside.ok()) return inside.status().WithContext(StrCat("result ", i));
      body->results[i] = *inside;
    }
  }
  std::vector<FunctionBuilder*> builders;
  for (const BranchBody* body : bodies) builders.push_back(body->builder);
  return FunctionBuilder::UniteCaptures(builders);
}

struct Defined {
  FunctionRef function;
  bool has_effects = false;
};

Result<Defined> Define(const BranchBody& body, std::string_view node, std::string_view role) {
  ASSIGN_OR_RETURN(std::string name,
                   body.builder->Define({.name = StrCat(ArgumentName(node, "f_"), "_", role),
                                         .append_hash = true,
                                         .results = body.results,
                                         .result_names = {}}));
  const OpEntry* entry = body.builder->outside()->library().FindOp(name);
  return Defined{{std::move(name), {}}, entry->def.is_stateful};
}

Result<std::vector<Output>> AddCall(const ControlFlowSpec& spec, Graph& graph, std::string op,
                                    std::vector<Output> inputs, AttrMap attrs, size_t results) {
  ASSIGN_OR_RETURN(Node * node, graph.AddNode({.name = spec.name,
                                               .op = std::move(op),
                                               .inputs = std::move(inputs),
                                               .attrs = std::move(attrs),
                                               .device = spec.device,
                                               .site = spec.site,
                                               .make_unique = true}));
  std::vector<Output> outputs;
  for (size_t i = 0; i < results; ++i) outputs.push_back({node, static_cast<int>(i)});
  return outputs;
}

Status CheckLoop(const std::vector<Output>& initial, const BranchBody& condition,
                 const BranchBody& body) {
  if (condition.results.size() != 1 || condition.results[0].dtype() != DType::kBool) {
    return InvalidArgument("the condition of a loop gives one bool, this one gives ",
                           condition.results.size() == 1 ? Described(condition.results[0])
                                                         : StrCat(condition.results.size()));
  }
  if (body.results.size() != initial.size()) {
    return InvalidArgument("the body of a loop of ", initial.size(), " variables gives ",
                           body.results.size(), " results");
  }
  for (const auto& [role, builder] :
       {std::pair{"condition", condition.builder}, std::pair{"body", body.builder}}) {
    if (builder->num_arguments() != static_cast<int>(initial.size())) {
      return InvalidArgument("the ", role, " of a loop of ", initial.size(), " variables has ",
                             builder->num_arguments(), " arguments");
    }
  }
  for (size_t i = 0; i < initial.size(); ++i) {
    const Output kept = body.builder->argument(static_cast<int>(i));
    const Output& next = body.results[i];
    for (const auto& [when, value] :
         {std::pair{"before the first", initial[i]}, std::pair{"after an", next}}) {
      if (value.dtype() != kept.dtype() || !kept.shape().IsCompatibleWith(value.shape())) {
        return InvalidArgument("loop variable ", i, " is ", Described(kept), " in the body, but ",
                               Described(value), " ", when, " iteration");
      }
    }
    if (CommonShape(kept.shape(), next.shape()) != kept.shape()) {
      return InvalidArgument("loop variable ", i, " is ", Described(kept), " in the body, but ",
                             Described(next), " after an iteration: its argument must have a less ",
                             "definite shape");
    }
  }
  return OkStatus();
}

Status CheckBranches(const std::vector<BranchBody>& branches) {
  const std::vector<Output>& first = branches[0].results;
  for (size_t b = 0; b < branches.size(); ++b) {
    const BranchBody& branch = branches[b];
    if (branch.builder->num_arguments() != 0) {
      return InvalidArgument("branch ", b, " has arguments; a branch reads from outside");
    }
    if (branch.results.size() != first.size()) {
      return InvalidArgument("branch 0 gives ", first.size(), " results, branch ", b, " gives ",
                             branch.results.size());
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (branch.results[i].dtype() != first[i].dtype()) {
        return InvalidArgument("result ", i, " is ", DTypeName(first[i].dtype()),
                               " in branch 0 and ", DTypeName(branch.results[i].dtype()),
                               " in branch ", b);
      }
    }
  }
  return OkStatus();
}

std::vector<DType> TypesOf(const std::vector<Output>& outputs) {
  std::vector<DType> types;
  for (const Output& output : outputs) types.push_back(output.dtype());
  return types;
}

// What all branches agree in.
std::vector<PartialShape> CommonShapes(const std::vector<BranchBody>& branches) {
  std::vector<PartialShape> shapes;
  for (size_t i = 0; i < branches[0].results.size(); ++i) {
    PartialShape common = branches[0].results[i].shape();
    for (const BranchBody& branch : branches) {
      common = CommonShape(common, branch.results[i].shape());
    }
    shapes.push_back(std::move(common));
  }
  return shapes;
}

Result<std::vector<Output>> AddBranches(const ControlFlowSpec& spec, const char* op,
                                        std::vector<std::string> roles, Output selector,
                                        std::vector<BranchBody> branches) {
  if (branches.empty()) return InvalidArgument("there are no branches");
  if (selector.node == nullptr) return InvalidArgument("there is no selector of a branch");
  std::vector<BranchBody*> all;
  for (BranchBody& branch : branches) all.push_back(&branch);
  RETURN_IF_ERROR(BringResultsInside(all));
  RETURN_IF_ERROR(CheckBranches(branches));
  const std::vector<Output> captures = branches[0].builder->captures();
  AttrMap attrs = {{"Tin", TypesOf(captures)},
                   {"Tout", TypesOf(branches[0].results)},
                   {"output_shapes", CommonShapes(branches)}};
  bool has_effects = false;
  std::vector<FunctionRef> functions;
  for (size_t b = 0; b < branches.size(); ++b) {
    ASSIGN_OR_RETURN(Defined defined, Define(branches[b], spec.name, roles[b]));
    has_effects |= defined.has_effects;
    functions.push_back(std::move(defined.function));
  }
  if (std::string_view(op) == "If") {
    attrs.Set("then_branch", functions[0]);
    attrs.Set("else_branch", functions[1]);
  } else {
    attrs.Set("branches", functions);
  }
  std::vector<Output> inputs = {selector};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return AddCall(spec, *branches[0].builder->outside(), StrCat(has_effects ? "" : "Stateless", op),
                 std::move(inputs), std::move(attrs), branches[0].results.size());
}

}  // namespace

Result<std::vector<Output>> AddWhile(const ControlFlowSpec& spec, std::vector<Output> initial,
                                     BranchBody condition, BranchBody body) {
  for (const Output& value : initial) {
    if (value.node == nullptr) return InvalidArgument("a loop variable has no initial value");
  }
  RETURN_IF_ERROR(BringResultsInside({&condition, &body}));
  RETURN_IF_ERROR(CheckLoop(initial, condition, body));
  const size_t variables = initial.size();
  std::vector<PartialShape> shapes;
  for (size_t i = 0; i < variables; ++i) {
    shapes.push_back(body.builder->argument(static_cast<int>(i)).shape());
  }
  for (const Output& capture : body.builder->captures()) {  // each iteration hands them on
    ASSIGN_OR_RETURN(const Output inside, body.builder->Inside(capture));
    body.results.push_back(inside);
    initial.push_back(capture);
    shapes.push_back(capture.shape());
  }
  ASSIGN_OR_RETURN(Defined goes_on, Define(condition, spec.name, "cond"));
  ASSIGN_OR_RETURN(Defined step, Define(body, spec.name, "body"));
  AttrMap attrs = {{"T", TypesOf(initial)},
                   {"cond", goes_on.function},
                   {"body", step.function},
                   {"output_shapes", shapes},
                   {"parallel_iterations", spec.parallel_iterations}};
  const bool has_effects = goes_on.has_effects || step.has_effects;
  return AddCall(spec, *body.builder->outside(), has_effects ? "While" : "StatelessWhile",
                 std::move(initial), std::move(attrs), variables);
}

Result<std::vector<Output>> AddIf(const ControlFlowSpec& spec, Output predicate, BranchBody then,
                                  BranchBody otherwise) {
  return AddBranches(spec, "If", {"true", "false"}, predicate,
                     {std::move(then), std::move(otherwise)});
}

Result<std::vector<Output>> AddCase(const ControlFlowSpec& spec, Output index,
                                    std::vector<BranchBody> branches) {
  std::vector<std::string> roles;
  for (size_t b = 0; b < branches.size(); ++b) roles.push_back(StrCat("branch", b));
  return AddBranches(spec, "Case", std::move(roles), index, std::move(branches));
}

}  // namespace thalweg
