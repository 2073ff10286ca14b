// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/call_counts.h"

#include <algorithm>

#include "thalweg/graph/function_calls.h"

namespace thalweg {
namespace {

// A sum of many such sums still fits.
constexpr int64_t kMany = int64_t{1} << 40;

bool TakesOneOf(const Node& node) {
  return node.op_name().ends_with("If") || node.op_name().ends_with("Case");
}

}  // namespace

Status CallCounts::Add(const Node& node) {
  ASSIGN_OR_RETURN(const Size size, OfNode(node));
  nodes_ += size.nodes;
  if (size.depth > kMaxCallDepth) {
    return ResourceExhausted("the functions of ", node.Label(), " call each other more than ",
                             kMaxCallDepth, " deep");
  }
  if (nodes_ > options_.max_nodes) {
    return ResourceExhausted("the functions that are called expand to more than ",
                             options_.max_nodes, " nodes");
  }
  return OkStatus();
}

Result<CallCounts::Size> CallCounts::OfNode(const Node& node) {
  if (!expander_.IsCall(node)) return Size{.nodes = 1};
  std::vector<FunctionRef> functions = FunctionsOf(library_, node);
  const bool by_name = library_.FindOp(node.op_name()) == &node.op();
  if (node.op_name() == "SymbolicGradient" && functions.size() == 1) {
    // Without a gradient of its own at least what the function itself is.
    const std::string_view custom = library_.FindGradient(functions[0].name);
    if (!custom.empty()) functions[0].name = custom;
  }
  Size size;
  const bool one_of = !by_name && TakesOneOf(node);
  for (size_t i = 0; i < functions.size(); ++i) {
    // The body of a loop, or a branch, may never run.
    const bool is_certain = by_name || node.op_name().ends_with("PartitionedCall");
    ASSIGN_OR_RETURN(const Size part, OfFunction(functions[i], is_certain));
    if (one_of) {
      size.nodes = i == 0 ? part.nodes : std::min(size.nodes, part.nodes);
      size.depth = i == 0 ? part.depth : std::min(size.depth, part.depth);
    } else {
      size.nodes += part.nodes;
      size.depth = std::max(size.depth, part.depth);
    }
  }
  return size;
}

// "f -> g -> f" of a function that is open and calls itself whatever the values are.
Status CallCounts::CheckEnd(const std::string& name) const {
  size_t begin = open_.size();
  for (size_t i = 0; i < open_.size(); ++i) {
    if (!open_[i].is_certain) return OkStatus();
    if (open_[i].name == name) begin = std::min(begin, i);
  }
  std::string cycle;
  for (size_t i = begin; i < open_.size(); ++i) cycle += StrCat(open_[i].name, " -> ");
  return InvalidArgument("function '", name, "' calls itself without end: ", cycle, name);
}

Result<CallCounts::Size> CallCounts::OfFunction(const FunctionRef& function, bool is_certain) {
  if (open_.size() > kMaxCallDepth) return Size();
  const Result<std::shared_ptr<const FunctionBody>> body =
      InstantiateFunction(library_, registry_, function);
  // Whoever expands the call says what is wrong with it.
  if (!body.ok()) return Size();
  const auto [found, is_new] = known_.try_emplace(body->get());
  if (!is_new) {
    if (found->second.is_open && is_certain) RETURN_IF_ERROR(CheckEnd(function.name));
    return found->second;
  }
  found->second.is_open = true;
  // What a Switch in the body leads to may never run either.
  open_.push_back({function.name, is_certain && !(*body)->has_switches});
  Size size;
  for (const Node* node : (*body)->order) {
    if (options_.work != nullptr) RETURN_IF_ERROR(options_.work->Visit());
    ASSIGN_OR_RETURN(const Size part, OfNode(*node));
    size.nodes = std::min(size.nodes + part.nodes, kMany);
    size.depth = std::max(size.depth, part.depth);
  }
  open_.pop_back();
  ++size.depth;
  return known_[body->get()] = size;
}

}  // namespace thalweg
