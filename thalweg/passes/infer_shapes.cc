// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/infer_shapes.h"

#include <unordered_map>

#include "thalweg/graph/node_maker.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

NodeSpec SpecOf(const Node& node, const GraphCopier& copier) {
  NodeSpec spec{.name = node.name(), .op = node.op_name(), .attrs = node.attrs()};
  for (const Output& input : node.inputs()) spec.inputs.push_back(copier.Map(input));
  for (const Node* before : node.control_inputs()) {
    if (Node* const now = copier.Map(before); now != nullptr) spec.control_inputs.push_back(now);
  }
  return spec;
}

}  // namespace

Result<StepGraph> InferShapes(const StepGraph& step, const std::vector<PartialShape>& shapes,
                              const FunctionLibrary* library) {
  std::unordered_map<const Node*, size_t> feed_of;
  for (size_t i = 0; i < step.feeds.size(); ++i) {
    if (step.feeds[i].node != nullptr) feed_of.emplace(step.feeds[i].node, i);
  }
  GraphCopier copier(step);
  copier.graph().library().SetParent(library);
  for (const Node* node : step.graph->Nodes()) {
    RETURN_IF_ERROR(step.Visit(*node));
    NodeSpec spec = SpecOf(*node, copier);
    const auto feed = feed_of.find(node);
    if (feed != feed_of.end()) {
      spec.op = "Placeholder";
      spec.inputs.clear();
      spec.attrs = {{"dtype", node->output_type(0)}, {"shape", shapes[feed->second]}};
    }
    ASSIGN_OR_RETURN(Node * made, copier.Make(*node, std::move(spec)));
    const bool is_open = node->control() == Node::Control::kMerge;
    for (int i = 0; is_open && i < node->num_inputs(); ++i) {
      if (made->input(i).node != nullptr) continue;
      copier.LeaveOpen(made, i, node->input(i));
      // Nothing contradicts: both are true.
      RETURN_IF_ERROR(NodeMaker::RefineShape({made, 0}, node->output_shape(0)));
    }
    copier.Replace(*node, made);
  }
  return copier.Finish();
}

}  // namespace thalweg
