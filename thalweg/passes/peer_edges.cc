// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/peer_edges.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/kernel/memory_kind.h"
#include "thalweg/kernel/peer_copies.h"

namespace thalweg {
namespace {

// A _Recv of a part, with its device.
struct Receiver {
  const Device* device = nullptr;
  bool is_read_there = false;  // in the device's own memory
};
using Receivers = std::unordered_map<std::string, Receiver>;

bool IsPeer(const Device& device, const std::vector<StepPartition>& parts,
            std::span<Device* const> devices) {
  return std::ranges::any_of(parts, [&](const StepPartition& part) {
    return CopiesFrom(device, *devices[part.device]) || CopiesFrom(*devices[part.device], device);
  });
}

Status AddReceivers(const StepGraph& part, const Device& device, const KernelRegistry& kernels,
                    Receivers* receivers) {
  for (const Node* node : part.graph->Nodes()) {
    RETURN_IF_ERROR(part.Visit(*node));
    if (node->op_name() == "_Recv") (*receivers)[EdgeName(*node)] = {.device = &device};
  }
  for (const Node* node : part.graph->Nodes()) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Node* const source = node->input(i).node;
      if (source == nullptr || source->op_name() != "_Recv") continue;
      ASSIGN_OR_RETURN(const NodeMemory memory, NodeMemory::Of(*node, kernels, device.type()));
      (*receivers)[EdgeName(*source)].is_read_there |= memory.inputs[i] == MemoryKind::kDevice;
    }
  }
  return OkStatus();
}

Status AddEdges(const StepGraph& part, const Device& device, const KernelRegistry& kernels,
                const Receivers& receivers, PeerEdges* edges) {
  for (const Node* node : part.graph->Nodes()) {
    if (node->op_name() != "_Send") continue;
    std::string edge = EdgeName(*node);
    const auto receiver = receivers.find(edge);
    if (receiver == receivers.end() || !receiver->second.is_read_there) continue;
    if (!CopiesFrom(*receiver->second.device, device)) continue;
    const Output& sent = node->input(0);
    if (part.IsFeed(*sent.node) || !IsPlain(sent.dtype())) continue;
    ASSIGN_OR_RETURN(const NodeMemory memory, NodeMemory::Of(*sent.node, kernels, device.type()));
    if (memory.outputs[sent.index] != MemoryKind::kDevice) continue;
    ASSIGN_OR_RETURN(const std::string name, node->Attr<std::string>("tensor_name"));
    edges->emplace(std::move(edge), StrCat(name, ";", RandomSeed()));
  }
  return OkStatus();
}

}  // namespace

std::string EdgeName(const Node& node) {
  if (node.op_name() != "_Send" && node.op_name() != "_Recv") return "";
  std::string name;
  for (const char* attr : {"tensor_name", "send_device", "recv_device"}) {
    const Result<std::string> value = node.Attr<std::string>(attr);
    if (!value.ok()) return "";
    name += *value + ";";
  }
  return name;
}

Result<PeerEdges> FindPeerEdges(const std::vector<StepPartition>& parts,
                                std::span<Device* const> devices, const KernelRegistry& kernels) {
  PeerEdges edges;
  Receivers receivers;
  for (const StepPartition& part : parts) {
    const Device& device = *devices[part.device];
    if (!IsPeer(device, parts, devices)) continue;
    RETURN_IF_ERROR(AddReceivers(part.step, device, kernels, &receivers));
  }
  if (receivers.empty()) return edges;
  for (const StepPartition& part : parts) {
    const Device& device = *devices[part.device];
    if (!IsPeer(device, parts, devices)) continue;
    RETURN_IF_ERROR(AddEdges(part.step, device, kernels, receivers, &edges));
  }
  return edges;
}

}  // namespace thalweg
