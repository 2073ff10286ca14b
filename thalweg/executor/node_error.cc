// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/node_error.h"

namespace thalweg {

Status NodeError(const Status& error, const ProgramNode& node, const StepContext& context,
                 std::span<const Tensor* const> inputs) {
  std::string text = node.Label();
  if (context.device != nullptr) text += StrCat(" on ", context.device->full_name());
  text += StrCat(": ", error.message());
  constexpr size_t kMostInputs = 8;
  for (size_t i = 0; i < inputs.size() && i < kMostInputs; ++i) {
    text += i == 0 ? "; inputs: " : ", ";
    const Tensor& value = *inputs[i];
    if (value.empty()) {
      text += "(none)";
    } else if (value.is_reference()) {
      text += StrCat("reference to ", value.dtype());
    } else {
      text += StrCat(value.dtype(), value.shape());
    }
  }
  if (inputs.size() > kMostInputs) text += StrCat(", ... (", inputs.size(), " inputs)");
  if (!node.site.empty()) text += StrCat(" (created at ", node.site, ")");
  return Status(error.code(), std::move(text));
}

Status DeadFetchError(const Program& program, const Value& fetch) {
  if (fetch.is_feed()) return InvalidArgument("feed ", fetch.index, " is fetched and has no value");
  const ProgramNode& node = program.nodes[fetch.node];
  return InvalidArgument("the fetched value of ", node.Label(),
                         " does not exist in this step: it lies in a branch that was not taken");
}

Result<Tensor> ReadReference(const Tensor& value) {
  if (!value.is_reference()) return value;
  const auto* variable = dynamic_cast<const Variable*>(value.resource());
  if (variable == nullptr) {
    return InvalidArgument("a reference leads to ", value.resource()->DebugString(),
                           ", which has no value to read");
  }
  return variable->Read();
}

}  // namespace thalweg
