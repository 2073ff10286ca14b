// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/output_bytes.h"

#include <algorithm>
#include <string_view>

#include "thalweg/executor/memory_plan.h"

namespace thalweg {
namespace {

// Results that are their first operand's buffer, of a variable too.
bool IsView(std::string_view op) {
  constexpr std::string_view kViews[] = {
      "Bitcast",        "EnsureShape", "ExpandDims", "Identity", "PreventGradient",
      "ReadVariableOp", "Reshape",     "Snapshot",   "Squeeze",  "StopGradient"};
  return std::find(std::begin(kViews), std::end(kViews), op) != std::end(kViews);
}

int64_t BytesOf(const Node& node, int output) {
  if (node.output_is_ref(output) || node.op_name() == "Const") return 0;  // not the step's
  if (IsView(node.op_name())) return kFirstInputsBytes;
  const DType dtype = node.output_type(output);
  const PartialShape& shape = node.output_shape(output);
  if (!shape.known_rank()) return kUnknownBytes;
  if (shape.rank() == 0 && IsPlain(dtype) && DTypeSize(dtype) <= 8) return 0;  // in its handle
  int64_t bytes = static_cast<int64_t>(DTypeStride(dtype));
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) < 0) return kUnknownBytes;
    if (__builtin_mul_overflow(bytes, shape.dim(d), &bytes)) return kUnknownBytes;
  }
  return bytes;
}

}  // namespace

Status InferOutputBytes(const StepGraph& step, std::span<const Tensor> feeds,
                        std::unordered_map<const Node*, std::vector<int64_t>>* bytes) {
  std::unordered_map<const Node*, size_t> feed_of;
  for (size_t i = 0; i < step.feeds.size(); ++i) {
    if (step.feeds[i].node != nullptr) feed_of.emplace(step.feeds[i].node, i);
  }
  Graph inferred(step.graph->shared_registry());
  inferred.versions() = step.graph->versions();
  std::vector<Node*> now(static_cast<size_t>(step.graph->num_nodes()));
  for (const Node* node : step.graph->Nodes()) {
    NodeSpec spec{.name = node->name(), .op = node->op_name()};
    const auto feed = feed_of.find(node);
    if (feed != feed_of.end()) {
      spec.op = "Placeholder";
      spec.attrs.Set("dtype", node->output_type(0));
      spec.attrs.Set("shape", PartialShape(feeds[feed->second].shape()));
    } else {
      spec.attrs = node->attrs();
      for (const Output& input : node->inputs()) {
        // Back edges stay open.
        Node* const source = now[static_cast<size_t>(input.node->id())];
        spec.inputs.push_back(source == nullptr ? Output() : Output{source, input.index});
      }
    }
    ASSIGN_OR_RETURN(Node * made, inferred.AddNode(std::move(spec)));
    now[static_cast<size_t>(node->id())] = made;
    std::vector<int64_t>& sizes = (*bytes)[node];
    for (int o = 0; o < made->num_outputs(); ++o) sizes.push_back(BytesOf(*made, o));
  }
  return OkStatus();
}

}  // namespace thalweg
