// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/loop_shapes.h"

#include <algorithm>
#include <optional>

#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/node_maker.h"

namespace thalweg {
namespace {

// A loop in a loop takes two rounds more where the outer one's variables change theirs.
constexpr int kAttempts = 4;

bool IsHeader(const Node& node) {
  if (node.control() != Node::Control::kMerge) return false;
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Output& input) {
    return input.node->control() == Node::Control::kNextIteration;
  });
}

// The body once more, in a graph of its own, with a guess of what its loops carry: the shape that
// enters, or what an attempt before this one has found.
class Attempt {
 public:
  Attempt(const FunctionLibrary& library, const FunctionBody& body,
          std::vector<std::optional<PartialShape>>& guesses)
      : body_(body),
        guesses_(guesses),
        graph_(body.graph->shared_registry()),
        copies_(static_cast<size_t>(body.graph->num_nodes())) {
    graph_.library().SetParent(&library);
  }

  Status Make(const std::vector<Output>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      ASSIGN_OR_RETURN(Node * made, graph_.AddNode({.name = body_.args[i]->name(),
                                                    .op = "Placeholder",
                                                    .attrs = {{"dtype", args[i].dtype()}}}));
      RETURN_IF_ERROR(NodeMaker::RefineShape({made, 0}, args[i].shape()));
      copies_[static_cast<size_t>(body_.args[i]->id())] = made;
    }
    for (const Node* node : body_.order) {
      RETURN_IF_ERROR(Copy(*node));
    }
    return OkStatus();
  }

  // Whether the guesses hold; those that do not become what fits both.
  bool Hold() {
    bool hold = true;
    for (const Node* node : body_.order) {
      if (!IsHeader(*node)) continue;
      PartialShape& guess = *guesses_[static_cast<size_t>(node->id())];
      for (const Output& input : node->inputs()) {
        PartialShape common = CommonShape(guess, Value(input).shape());
        hold &= common == guess;
        guess = std::move(common);
      }
    }
    return hold;
  }

 private:
  Output Value(const Output& of) const {
    Node* const copy = copies_[static_cast<size_t>(of.node->id())];
    return {copy, copy == nullptr ? 0 : of.index};
  }

  Status Copy(const Node& node) {
    NodeSpec spec{.name = node.name(), .op = node.op_name(), .attrs = node.attrs()};
    for (const Output& input : node.inputs()) spec.inputs.push_back(Value(input));
    spec.attrs.Erase("_class");  // of nodes that may not be here
    const auto id = static_cast<size_t>(node.id());
    ASSIGN_OR_RETURN(copies_[id], graph_.AddNode(std::move(spec)));
    if (!IsHeader(node)) return OkStatus();
    if (!guesses_[id].has_value()) guesses_[id] = Entering(node);
    return NodeMaker::RefineShape({copies_[id], 0}, *guesses_[id]);
  }

  PartialShape Entering(const Node& header) const {
    for (const Output& input : header.inputs()) {
      if (input.node->control() != Node::Control::kNextIteration) return Value(input).shape();
    }
    return {};
  }

  const FunctionBody& body_;
  std::vector<std::optional<PartialShape>>& guesses_;
  Graph graph_;
  std::vector<Node*> copies_;  // by id
};

}  // namespace

std::vector<PartialShape> LoopShapes(const FunctionLibrary& library, const FunctionBody& body,
                                     const std::vector<Output>& args) {
  if (std::none_of(body.order.begin(), body.order.end(),
                   [](const Node* node) { return IsHeader(*node); })) {
    return {};
  }
  std::vector<std::optional<PartialShape>> guesses(static_cast<size_t>(body.graph->num_nodes()));
  for (int i = 0; i < kAttempts; ++i) {
    Attempt attempt(library, body, guesses);
    if (!attempt.Make(args).ok()) return {};
    if (!attempt.Hold()) continue;
    std::vector<PartialShape> shapes(guesses.size());
    for (size_t id = 0; id < guesses.size(); ++id) {
      if (guesses[id].has_value()) shapes[id] = *std::move(guesses[id]);
    }
    return shapes;
  }
  return {};
}

}  // namespace thalweg
