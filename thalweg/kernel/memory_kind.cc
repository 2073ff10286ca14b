// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/memory_kind.h"

#include <algorithm>

namespace thalweg {
namespace {

// Of a value by its type alone.
MemoryKind OfType(DType dtype, bool is_ref) {
  return IsPlain(dtype) && !is_ref ? MemoryKind::kDevice : MemoryKind::kHost;
}

bool MovesTensorsOfTheHost(std::string_view op) {
  return op == "_Send" || op == "_Recv" || op == "_HostSend" || op == "_HostRecv" || op == "Const";
}

// What decides, and the index that a Merge makes; all else is handed on as it is.
void SetControl(const Node& node, NodeMemory* memory) {
  switch (node.control()) {
    case Node::Control::kSwitch:
      memory->inputs[1] = MemoryKind::kHost;
      break;
    case Node::Control::kMerge:
      memory->outputs[1] = MemoryKind::kHost;
      break;
    case Node::Control::kLoopCond:
      memory->inputs[0] = memory->outputs[0] = MemoryKind::kHost;
      break;
    default:
      break;
  }
}

}  // namespace

Result<NodeMemory> NodeMemory::Of(const Node& node, const KernelRegistry& kernels,
                                  std::string_view device_type) {
  NodeMemory memory;
  for (int i = 0; i < node.num_inputs(); ++i) {
    memory.inputs.push_back(OfType(node.input_type(i), node.input_is_ref(i)));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    memory.outputs.push_back(OfType(node.output_type(i), node.output_is_ref(i)));
  }
  if (MovesTensorsOfTheHost(node.op_name())) {
    std::fill(memory.inputs.begin(), memory.inputs.end(), MemoryKind::kHost);
    std::fill(memory.outputs.begin(), memory.outputs.end(), MemoryKind::kHost);
    return memory;
  }
  if (node.control() != Node::Control::kNone) {
    SetControl(node, &memory);
    return memory;
  }
  ASSIGN_OR_RETURN(const KernelEntry* entry, kernels.Find(node, device_type));
  for (const std::string& argument : entry->host_memory) {
    const auto inputs = node.InputRange(argument);
    const auto outputs = node.OutputRange(argument);
    if (!inputs.ok() && !outputs.ok()) {
      return Internal("the kernel of ", entry->op, " on ", device_type, ", registered in ",
                      entry->registered_at, ", has argument '", argument,
                      "' in host memory, which the operation does not have");
    }
    if (inputs.ok()) {
      std::fill(memory.inputs.begin() + inputs->first, memory.inputs.begin() + inputs->second,
                MemoryKind::kHost);
    }
    if (outputs.ok()) {
      std::fill(memory.outputs.begin() + outputs->first, memory.outputs.begin() + outputs->second,
                MemoryKind::kHost);
    }
  }
  return memory;
}

}  // namespace thalweg
