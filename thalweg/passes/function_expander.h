// SPDX-License-Identifier: Apache-2.0
// FunctionExpander: adds the nodes that stand for calls to one graph. Private to this room:
// function_expander.cc (calls), lower_conditional.cc, lower_loop.cc, lower_map.cc,
// lower_batch.cc, lower_gradient.cc, late_gradients.cc.
//
// What a node waits for: `gate` is a node that lives exactly where the call does; it holds what has
// no inputs in its branch or iteration. `before` holds stateful nodes until the call's control
// inputs are done.
// Ownership: graph, library and options outlive it; nodes belong to the graph, and so does what
// LateGradient and ForwardCall point at.
// Threads: one at a time.
// Errors: InvalidArgument for recursion and bodies that do not fit, NotFound for unknown functions,
// ResourceExhausted for too many nodes; each names the call.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/graph/function_body.h"
#include "thalweg/passes/control_context.h"
#include "thalweg/passes/expand_functions.h"

namespace thalweg {

// Calls inside each other.
inline constexpr int kMaxCallDepth = 512;

// The functions that a call's attributes name, such as the branches of a Case; of a node whose
// operation is a function, that one.
std::vector<FunctionRef> FunctionsOf(const FunctionLibrary& library, const Node& node);

// Where a call's nodes go.
struct CallScope {
  const CallScope* outer = nullptr;
  std::string_view function;  // empty for the step itself
  std::string_view call;      // that this is the scope of; empty for that of a function
  int depth = 0;
  std::string prefix;  // "call/"
  std::string device;
  uint32_t site = 0;
  Node* gate = nullptr;
  Node* before = nullptr;
};

// What stands for a call whose gradient is asked for too.
struct ForwardCall {
  std::vector<Output> inputs;
  std::vector<Output> xs;  // copies of the inputs that only the call reads
  std::vector<Output> ys;
  int64_t done = 0;          // when it was expanded, of the events of an expander
  bool is_gradient = false;  // itself
  bool custom = false;       // a function in it has a gradient of its own
};

// By id, of the calls in a graph whose gradients are in it.
using ForwardCalls = std::unordered_map<int, std::shared_ptr<ForwardCall>>;

// A SymbolicGradient that is made of what its call became, once all is there.
struct LateGradient {
  Node* node;
  std::shared_ptr<const ForwardCall> of;
  std::shared_ptr<ForwardCall> own;  // of itself; null where its gradient is not asked for
  int64_t left = 0;                  // when
};

// A call whose inputs are in the new graph already.
struct Call {
  const Node& node;
  std::vector<Output> inputs = {};
  std::vector<Node*> controls = {};
  bool may_be_dead = false;                         // where the scope that it is in is not
  bool in_loop = false;                             // of the function that it is in
  std::shared_ptr<const ForwardCall> of = nullptr;  // a gradient's call
  std::shared_ptr<ForwardCall> own = nullptr;       // where its gradient is asked for
};

// What stands for a call.
struct Expansion {
  std::vector<Output> outputs;
  Node* after = nullptr;  // runs after the call's effects; null where it has none
  Node* entry = nullptr;  // runs when the call may begin; null for at once
};

class FunctionExpander {
 public:
  FunctionExpander(Graph& to, const FunctionLibrary& library, const ExpandOptions& options)
      : to_(to), library_(library), options_(options), begin_(to.num_nodes()) {}

  bool IsCall(const Node& node) const;
  Result<Expansion> Expand(const Call& call, const CallScope& outer);
  // `carries[i]`: argument i is dead where the call is. Empty: all do.
  Result<Expansion> Inline(const FunctionBody& body, const std::vector<Output>& args,
                           const CallScope& scope, const std::vector<bool>& carries = {});
  // A node that lives where `output` does: itself, or an Identity of one side of a Switch.
  Result<Node*> Liveness(const Output& output, const CallScope& scope);
  // Leaves calls to functions that have a gradient of their own.
  void KeepCustomGradients() { keep_custom_gradients_ = true; }
  // Which of the nodes are calls whose gradients are among them too. None with KeepCustomGradients.
  ForwardCalls FindForwardCalls(const std::vector<const Node*>& nodes, const Graph& graph);
  // Enters into a call of `node` what FindForwardCalls has found.
  static void Connect(const ForwardCalls& forwards, Call* call);
  // SymbolicGradients that Expand left in the graph.
  const std::vector<LateGradient>& late() const { return late_; }

 private:
  // What became of a body's nodes.
  struct Copies {
    std::vector<Node*> nodes;                 // by id; of a call, what comes after it
    std::vector<std::vector<Output>> values;  // by id; of arguments and calls
    std::vector<bool> blind;                  // by id; arguments that live everywhere
    bool may_be_dead = false;                 // the body has Switches of its own
    ControlContexts contexts;                 // of the body
    ForwardCalls forwards;
    // Null for what is not there yet: a loop's back edge.
    Output Value(const Output& of) const {
      const std::vector<Output>& own = values[of.node->id()];
      if (!own.empty()) return own[static_cast<size_t>(of.index)];
      return {nodes[of.node->id()], nodes[of.node->id()] == nullptr ? 0 : of.index};
    }
  };

  Result<std::shared_ptr<const FunctionBody>> Body(const FunctionRef& function) const {
    return InstantiateFunction(library_, to_.shared_registry(), function);
  }
  Result<CallScope> Enter(const Call& call, const CallScope& outer);
  Status HoldBack(const Call& call, const CallScope& scope, Expansion* made);
  Status CheckDepth(const CallScope& scope) const;
  // Whether the call stands in the body of a function that it calls.
  bool IsRecursive(const Node& node, const CallScope& scope) const;
  Result<Expansion> LeaveCall(const Call& call, const CallScope& scope);
  Result<Expansion> Dispatch(const Call& call, const CallScope& scope);

  // The node to wait for before what follows `before` in the body; null for none.
  Result<Node*> ControlOf(const Node& before, const CallScope& scope, Copies& copies);
  Status Sources(const Node& node, const CallScope& scope, Copies& copies,
                 std::vector<Output>* inputs, std::vector<Node*>* controls);
  Status InlineNode(const Node& node, const CallScope& scope, Copies& copies);
  Status InlineCall(const Node& node, const CallScope& scope, Copies& copies);
  Result<Node*> Place(const Node& node, std::vector<Output> inputs, std::vector<Node*> controls,
                      const CallScope& scope);
  // Where `told` asks for it: attributes that say where a node of a body stands.
  void TellPlace(const std::string& name, const CallScope& scope, AttrMap* attrs) const;
  AttrMap RenamedAttrs(const Node& node, const CallScope& scope) const;
  Status CloseLoops(const FunctionBody& body, const Copies& copies);
  Result<Node*> After(const FunctionBody& body, const CallScope& scope, Copies& copies);

  // lower_conditional.cc
  Result<Expansion> LowerBranches(const Call& call, const CallScope& scope,
                                  const std::vector<FunctionRef>& branches);
  Result<Expansion> LowerIf(const Call& call, const CallScope& scope);
  Result<Expansion> LowerCase(const Call& call, const CallScope& scope);
  Result<Output> BranchPredicate(const Call& call, const CallScope& scope, size_t branch);
  Result<Expansion> TakeBranch(const FunctionRef& function, const std::vector<Output>& inputs,
                               const CallScope& scope, Output pivot, std::string_view name,
                               bool* effects);
  Result<Expansion> MergeBranches(const Call& call, const CallScope& scope,
                                  const std::vector<Expansion>& branches, bool effects);

  // lower_loop.cc
  struct Loop;
  Result<Expansion> LowerWhile(const Call& call, const CallScope& scope);
  Result<Expansion> LowerFor(const Call& call, const CallScope& scope);
  Result<Output> CountRounds(const std::vector<Output>& bounds, const CallScope& scope);
  Result<Expansion> BuildLoop(Loop& loop, const CallScope& scope);
  Status EnterLoop(Loop& loop, const CallScope& scope);
  Status LoopCondition(Loop& loop, const CallScope& scope);
  Status LoopBody(Loop& loop, const CallScope& scope);
  std::vector<PartialShape> StableShapes(const Loop& loop) const;

  // lower_map.cc
  struct Map;
  Result<Output> Constant(const CallScope& scope, const Tensor& value);
  Result<Expansion> LowerMap(const Call& call, const CallScope& scope);
  Status CountRows(Map& map, const CallScope& scope);
  Result<Output> EnterMap(const Map& map, const CallScope& scope, const Output& value,
                          bool constant);
  Status BeginMap(Map& map, const CallScope& scope);
  Status MapBody(Map& map, const CallScope& scope);

  // lower_batch.cc
  Result<Expansion> LowerBatch(const Call& call, const CallScope& scope);
  Result<Node*> GatherBatch(const Call& call, const CallScope& scope,
                            const std::vector<Output>& inputs);

  // lower_gradient.cc
  Result<Expansion> LowerGradient(const Call& call, const CallScope& scope);
  bool HasCustomGradient(const Node& call);
  static bool IsLate(const Call& call);
  Result<Expansion> LeaveGradient(const Call& call, const CallScope& scope);
  Result<std::shared_ptr<FunctionBody>> GradientBody(const FunctionRef& function, const Call& call);

  // A node of ours under the scope.
  Result<Node*> Make(const CallScope& scope, std::string_view op, std::string_view name,
                     std::vector<Output> inputs, AttrMap attrs = {},
                     std::vector<Node*> controls = {});
  CallScope Inner(const CallScope& scope, std::string_view function, std::string_view name) const;

  Graph& to_;
  const FunctionLibrary& library_;
  const ExpandOptions& options_;
  const int begin_;  // nodes that were there before
  bool keep_custom_gradients_ = false;
  std::unordered_map<std::string, bool> custom_;  // by function: whether HasCustomGradient
  std::vector<LateGradient> late_;
  int64_t events_ = 0;
};

// Gives every late gradient its nodes.
Result<StepGraph> MakeLateGradients(StepGraph step, const std::vector<LateGradient>& late,
                                    const ExpandOptions& options);
// What an input of a function gets that no path of its gradient leads to: zeros like it, or like
// the variable it is a handle of.
Result<Output> ZeroGradient(const Output& input, Graph* graph);
// Whether values of this type have gradients that a function gives.
bool HasFunctionGradient(DType dtype);

}  // namespace thalweg
