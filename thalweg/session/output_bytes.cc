// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/output_bytes.h"

#include <algorithm>
#include <string_view>

#include "thalweg/executor/memory_plan.h"
#include "thalweg/passes/infer_shapes.h"

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
  std::vector<PartialShape> shapes;
  for (const Tensor& feed : feeds) shapes.emplace_back(feed.shape());
  ASSIGN_OR_RETURN(const StepGraph inferred, InferShapes(step, shapes));
  for (const Node* node : step.graph->Nodes()) {
    const Node& now = *inferred.graph->NodeById(node->id());
    std::vector<int64_t>& sizes = (*bytes)[node];
    for (int o = 0; o < now.num_outputs(); ++o) sizes.push_back(BytesOf(now, o));
  }
  return OkStatus();
}

}  // namespace thalweg
