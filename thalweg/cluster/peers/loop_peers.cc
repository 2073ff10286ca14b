// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/loop_peers.h"

#include <algorithm>
#include <set>

namespace thalweg {
namespace {

bool IsEdge(const Node& node, std::string_view kind) {
  const std::string_view op = node.op_name();
  if (!op.starts_with('_') || !op.ends_with(kind)) return false;
  const Result<bool> with_client = node.Attr<bool>("client_terminated");
  return !with_client.ok() || !*with_client;
}

std::string TaskIn(const Node& node, const char* attr) {
  const Result<std::string> device = node.Attr<std::string>(attr);
  return device.ok() ? std::string(TaskOf(*device)) : "";
}

}  // namespace

std::vector<std::string> LoopPeers(const Graph& graph, std::string_view self) {
  std::set<std::string> tasks;
  bool has_loop = false;
  for (const Node* node : graph.Nodes()) {
    has_loop |= node->control() == Node::Control::kEnter;
    if (IsEdge(*node, "Send")) tasks.insert(TaskIn(*node, "recv_device"));
    if (IsEdge(*node, "Recv")) tasks.insert(TaskIn(*node, "send_device"));
  }
  tasks.erase(std::string(self));
  tasks.erase("");
  if (!has_loop) return {};
  return {tasks.begin(), tasks.end()};
}

bool AreAllOurs(WorkerClients& peers, const std::vector<std::string>& tasks) {
  return std::all_of(tasks.begin(), tasks.end(), [&](const std::string& task) {
    return peers.KnownVersion(task) == PeerVersion::kThalweg;
  });
}

Status CheckLoopVersions(const Graph& graph, std::string_view task, WorkerClients& peers) {
  const std::optional<PeerVersion> own = peers.KnownVersion(task);
  if (!own.has_value() || *own == PeerVersion::kThalweg) return OkStatus();
  for (const Node* node : graph.Nodes()) {
    if (!IsEdge(*node, "Recv")) continue;
    // In a loop it waits for the Merge of its control loop.
    const bool in_loop =
        std::any_of(node->control_inputs().begin(), node->control_inputs().end(),
                    [](const Node* before) { return before->control() == Node::Control::kMerge; });
    if (!in_loop) continue;
    const std::string source = TaskIn(*node, "send_device");
    const std::optional<PeerVersion> other = peers.KnownVersion(source);
    if (!other.has_value() || *other == PeerVersion::kThalweg || *other == *own) continue;
    return Unimplemented(
        "a loop has nodes on ", source, " (", PeerVersionName(*other), ") and on ", task, " (",
        PeerVersionName(*own), "), and hands '", node->name(),
        "' from the one to the other: these releases number loops differently and "
        "wait for each other for ever; keep the loop's nodes on tasks of one release");
  }
  return OkStatus();
}

}  // namespace thalweg
