// SPDX-License-Identifier: Apache-2.0
// If and Case as Switch and Merge.
#include "thalweg/graph/shape_values.h"
#include "thalweg/passes/function_expander.h"

namespace thalweg {

namespace {

// The branch that a constant condition takes; -1 when it is not known.
int KnownBranch(const Call& call, size_t branches) {
  const Tensor value = ConstantValue(call.inputs[0]);
  if (value.empty() || value.shape().rank() != 0) return -1;
  if (call.node.op_name().ends_with("Case")) {
    const int32_t index = *value.data<int32_t>();
    const auto last = static_cast<int>(branches) - 1;
    return index < 0 || index > last ? last : index;
  }
  if (value.dtype() != DType::kBool) return -1;
  return *value.data<bool>() ? 1 : 0;
}

}  // namespace

Result<Expansion> FunctionExpander::LowerIf(const Call& call, const CallScope& scope) {
  ASSIGN_OR_RETURN(FunctionRef then_branch, call.node.Attr<FunctionRef>("then_branch"));
  ASSIGN_OR_RETURN(FunctionRef else_branch, call.node.Attr<FunctionRef>("else_branch"));
  return LowerBranches(call, scope, {std::move(else_branch), std::move(then_branch)});
}

Result<Expansion> FunctionExpander::LowerCase(const Call& call, const CallScope& scope) {
  ASSIGN_OR_RETURN(const std::vector<FunctionRef> branches,
                   call.node.Attr<std::vector<FunctionRef>>("branches"));
  if (branches.empty()) return InvalidArgument(call.node.Label(), " has no branches");
  return LowerBranches(call, scope, branches);
}

// True where `branch` or, of an If, the one after it is taken.
Result<Output> FunctionExpander::BranchPredicate(const Call& call, const CallScope& scope,
                                                 size_t branch) {
  const Output condition = call.inputs[0];
  if (!call.node.op_name().ends_with("Case")) {
    if (condition.dtype() == DType::kBool &&
        (!condition.shape().known_rank() || condition.shape().rank() == 0)) {
      return condition;
    }
    ASSIGN_OR_RETURN(Node * truth, Make(scope, "ToBool", "cond", {condition}));
    return Output{truth, 0};
  }
  ASSIGN_OR_RETURN(Node * alive, Liveness(condition, scope));
  ASSIGN_OR_RETURN(
      Node * number,
      Make(scope, "Const", "branch", {},
           {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(static_cast<int32_t>(branch))}},
           scope.gate == nullptr ? std::vector<Node*>() : std::vector<Node*>{alive}));
  ASSIGN_OR_RETURN(Node * other, Make(scope, "NotEqual", "other", {condition, {number, 0}}));
  return Output{other, 0};
}

// `pivot` is live where the branch is taken; so are the inputs.
Result<Expansion> FunctionExpander::TakeBranch(const FunctionRef& function,
                                               const std::vector<Output>& inputs,
                                               const CallScope& scope, Output pivot,
                                               std::string_view name, bool* effects) {
  CallScope inner = Inner(scope, function.name, name);
  ASSIGN_OR_RETURN(inner.gate, Make(inner, "Identity", "pivot", {pivot}));
  ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionBody> body, Body(function));
  ASSIGN_OR_RETURN(Expansion made, Inline(*body, inputs, inner));
  *effects |= made.after != nullptr;
  if (made.after == nullptr) {
    made.after = inner.gate;
  } else {
    ASSIGN_OR_RETURN(made.after,
                     Make(inner, "Identity", "done", {{inner.gate, 0}}, {}, {made.after}));
  }
  return made;
}

// Branch 0 is taken where its predicate is false, of the rest branch 1 and so on.
Result<Expansion> FunctionExpander::LowerBranches(const Call& call, const CallScope& scope,
                                                  const std::vector<FunctionRef>& branches) {
  std::vector<Output> inputs(call.inputs.begin() + 1, call.inputs.end());
  const int known = branches.size() == 1 ? 0 : KnownBranch(call, branches.size());
  if (known >= 0) {
    const FunctionRef& taken = branches[static_cast<size_t>(known)];
    ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionBody> body, Body(taken));
    return Inline(*body, inputs, Inner(scope, taken.name, ""));
  }
  const bool is_case = call.node.op_name().ends_with("Case");
  std::vector<Expansion> made;
  Output pivot;
  bool effects = false;
  for (size_t i = 0; i < branches.size(); ++i) {
    const std::string name = is_case ? StrCat("branch_", i) : i == 0 ? "else" : "then";
    std::vector<Output> own = inputs;
    Output own_pivot = pivot;
    if (i + 1 < branches.size()) {
      ASSIGN_OR_RETURN(const Output predicate, BranchPredicate(call, scope, i));
      ASSIGN_OR_RETURN(Node * sides, Make(scope, "Switch", "sides",
                                          {pivot.node == nullptr ? predicate : pivot, predicate}));
      own_pivot = {sides, 0};
      pivot = {sides, 1};
      for (size_t k = 0; k < inputs.size(); ++k) {
        ASSIGN_OR_RETURN(Node * parts,
                         Make(scope, "Switch", StrCat("in_", k), {inputs[k], predicate}));
        own[k] = {parts, 0};
        inputs[k] = {parts, 1};
      }
    }
    ASSIGN_OR_RETURN(Expansion branch,
                     TakeBranch(branches[i], own, scope, own_pivot, name, &effects));
    made.push_back(std::move(branch));
  }
  return MergeBranches(call, scope, made, effects);
}

Result<Expansion> FunctionExpander::MergeBranches(const Call& call, const CallScope& scope,
                                                  const std::vector<Expansion>& branches,
                                                  bool effects) {
  Expansion merged;
  const auto count = static_cast<size_t>(call.node.num_outputs());
  for (const Expansion& branch : branches) {
    if (branch.outputs.size() != count) {
      return InvalidArgument(call.node.Label(), " has ", count, " outputs, a branch returns ",
                             branch.outputs.size(), " values");
    }
  }
  for (size_t k = 0; k < count; ++k) {
    std::vector<Output> values;
    for (const Expansion& branch : branches) values.push_back(branch.outputs[k]);
    ASSIGN_OR_RETURN(Node * merge, Make(scope, "Merge", StrCat("out_", k), std::move(values)));
    merged.outputs.push_back({merge, 0});
  }
  if (!effects) return merged;
  std::vector<Output> ends;
  for (const Expansion& branch : branches) ends.push_back({branch.after, 0});
  ASSIGN_OR_RETURN(merged.after, Make(scope, "Merge", "done", std::move(ends)));
  return merged;
}

}  // namespace thalweg
