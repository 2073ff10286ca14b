// SPDX-License-Identifier: Apache-2.0
// BatchFunction: the calls of several steps make one batch; the step of the one that leads runs the
// function's body, the others wait for their rows.
#include "thalweg/passes/function_expander.h"

namespace thalweg {

namespace {

// "call" of "call/".
std::string_view NameOf(const CallScope& scope) {
  return std::string_view(scope.prefix).substr(0, scope.prefix.size() - 1);
}

Status CheckPolicy(const Node& node) {
  ASSIGN_OR_RETURN(const std::string policy, node.Attr<std::string>("batch_padding_policy"));
  if (policy == "PAD_UP") return OkStatus();
  return Unimplemented("batch_padding_policy ", policy, "; batches are padded up (PAD_UP)");
}

}  // namespace

Result<Node*> FunctionExpander::GatherBatch(const Call& call, const CallScope& scope,
                                            const std::vector<Output>& inputs) {
  const Node& node = call.node;
  ASSIGN_OR_RETURN(std::string name, node.Attr<std::string>("shared_name"));
  ASSIGN_OR_RETURN(const std::string queue, node.Attr<std::string>("batching_queue"));
  if (name.empty()) name = NameOf(scope);
  if (!queue.empty()) name = StrCat(name, "/", queue);
  ASSIGN_OR_RETURN(const auto types, node.Attr<std::vector<DType>>("Tin"));
  ASSIGN_OR_RETURN(const auto allowed, node.Attr<std::vector<int64_t>>("allowed_batch_sizes"));
  ASSIGN_OR_RETURN(const int64_t rows, node.Attr<int64_t>("max_batch_size"));
  ASSIGN_OR_RETURN(const int64_t timeout, node.Attr<int64_t>("batch_timeout_micros"));
  ASSIGN_OR_RETURN(const bool splits, node.Attr<bool>("enable_large_batch_splitting"));
  ASSIGN_OR_RETURN(const std::string container, node.Attr<std::string>("container"));
  AttrMap attrs = {{"Tin", types},
                   {"max_batch_size", rows},
                   {"batch_timeout_micros", timeout},
                   {"allowed_batch_sizes", allowed},
                   {"enable_large_batch_splitting", splits},
                   {"container", container},
                   {"shared_name", name}};
  std::vector<Node*> controls;
  if (scope.before != nullptr) controls.push_back(scope.before);
  return Make(scope, "_GatherBatch", "gather", inputs, std::move(attrs), std::move(controls));
}

Result<Expansion> FunctionExpander::LowerBatch(const Call& call, const CallScope& scope) {
  RETURN_IF_ERROR(CheckPolicy(call.node));
  ASSIGN_OR_RETURN(const FunctionRef function, call.node.Attr<FunctionRef>("f"));
  ASSIGN_OR_RETURN(const auto types, call.node.Attr<std::vector<DType>>("Tin"));
  ASSIGN_OR_RETURN(const auto results, call.node.Attr<std::vector<DType>>("Tout"));
  const auto captured = call.inputs.begin() + static_cast<ptrdiff_t>(types.size());
  ASSIGN_OR_RETURN(Node * gather,
                   GatherBatch(call, scope, std::vector<Output>(call.inputs.begin(), captured)));
  const Output share{gather, static_cast<int>(types.size())};
  const Output leads{gather, share.index + 1};
  const auto split = [&](const Output& value) {
    return Make(scope, "Switch", "sides", {value, leads});
  };
  std::vector<Output> args;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Node * sides, split(i < types.size() ? Output{gather, static_cast<int>(i)}
                                                          : call.inputs[i]));
    args.push_back({sides, 1});
  }
  ASSIGN_OR_RETURN(Node * pivot, split(leads));
  ASSIGN_OR_RETURN(Node * shares, split(share));
  bool effects = false;
  ASSIGN_OR_RETURN(const Expansion batch,
                   TakeBranch(function, args, scope, {pivot, 1}, "batch", &effects));
  std::vector<Output> given = {{shares, 1}};
  given.insert(given.end(), batch.outputs.begin(), batch.outputs.end());
  ASSIGN_OR_RETURN(Node * scatter,
                   Make(scope, "_ScatterBatch", "scatter", std::move(given), {}, {batch.after}));
  ASSIGN_OR_RETURN(Node * await,
                   Make(scope, "_AwaitBatch", "await", {{shares, 0}}, {{"Tout", results}}));
  Expansion made;
  for (int k = 0; k < scatter->num_outputs() && k < await->num_outputs(); ++k) {
    ASSIGN_OR_RETURN(Node * own,
                     Make(scope, "Merge", StrCat("out_", k), {{scatter, k}, {await, k}}));
    made.outputs.push_back({own, 0});
    made.after = own;  // the others' rows are an effect
  }
  return made;
}

}  // namespace thalweg
