// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/signature_step.h"

#include <utility>

#include "thalweg/graph/missing_feed.h"
#include "thalweg/passes/expand_functions.h"
#include "thalweg/passes/infer_shapes.h"
#include "thalweg/passes/prune.h"
#include "thalweg/session/function_gradients.h"

namespace thalweg {
namespace {

bool HasOwnDefault(const ModelTensor& input) {
  return input.output.node->op_name() == "PlaceholderWithDefault" && input.default_value.empty();
}

Status CheckPlaceholders(const StepGraph& step) {
  for (const Node* node : step.graph->Nodes()) {
    if (node->num_inputs() > 0 || !IsPlaceholder(*node) || step.IsFeed(*node)) continue;
    return InvalidArgument(MissingFeedText(*node));
  }
  return OkStatus();
}

}  // namespace

Result<SignatureStep> StepOfSignature(const Model& model, size_t signature, WorkBudget& work,
                                      const std::map<std::string, PartialShape>& shapes) {
  const ModelSignature& wanted = model.signatures()[signature];
  RETURN_IF_ERROR(wanted.usable);
  SignatureStep made;
  PruneRequest request{.feeds = {}, .fetches = {}, .targets = {}, .work = &work};
  std::vector<PartialShape> fed;
  for (const ModelTensor& input : wanted.inputs) {
    if (HasOwnDefault(input)) {
      made.feed_of.push_back(-1);
      continue;
    }
    made.feed_of.push_back(static_cast<int>(request.feeds.size()));
    request.feeds.push_back(input.output);
    const auto known = shapes.find(input.name);
    fed.push_back(known == shapes.end() ? input.shape : known->second);
  }
  for (const ModelTensor& output : wanted.outputs) request.fetches.push_back(output.output);
  RETURN_IF_ERROR(work.Begin("finding what the signature needs"));
  ASSIGN_OR_RETURN(made.step, Prune(*model.graph(), request));
  RETURN_IF_ERROR(CheckPlaceholders(made.step));
  const FunctionLibrary& library = model.graph()->library();
  if (!shapes.empty()) {
    ASSIGN_OR_RETURN(made.step, InferShapes(made.step, fed, &library));
  }
  RETURN_IF_ERROR(work.Begin("expanding functions"));
  ASSIGN_OR_RETURN(made.step, ExpandFunctions(made.step, library,
                                              {.gradients = FunctionGradients, .work = &work}));
  return made;
}

}  // namespace thalweg
