// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/place_copies.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/notification.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/kernel/memory_kind.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

// A device that takes longer for one copy does not answer.
constexpr std::chrono::seconds kLongestCopy{60};

// The copy of a constant, when there is no step yet that it could belong to.
Result<Tensor> CopyNow(Device& device, const Tensor& tensor) {
  struct Copy {
    Result<Tensor> made = Internal("not yet");
    Notification ended;
  };
  const auto copy = std::make_shared<Copy>();  // the device's too: it may end after we have gone
  device.CopyFromHost(tensor, [copy](Result<Tensor> result) {
    copy->made = std::move(result);
    copy->ended.Notify();
  });
  SystemClock clock;
  if (!copy->ended.WaitUntil(clock, Deadline::After(clock, kLongestCopy))) {
    return DeadlineExceeded("the copy of a constant, ", tensor.dtype(), tensor.shape(), ", to ",
                            device.full_name(), " has not ended within ", kLongestCopy.count(),
                            " s");
  }
  return copy->made;
}

class CopyPlacer {
 public:
  CopyPlacer(const StepGraph& part, Device& device, const KernelRegistry& kernels,
             const PeerEdges& peers)
      : from_(part),
        device_(device),
        kernels_(kernels),
        peers_(peers),
        home_(part.graph->num_nodes()) {
    to_.graph = std::make_shared<Graph>(part.graph->shared_registry());
    to_.graph->versions() = part.graph->versions();
    to_.work = part.work;
  }

  Result<StepGraph> Run() {
    for (const Node* node : from_.graph->Nodes()) {
      RETURN_IF_ERROR(from_.Visit(*node));
      RETURN_IF_ERROR(Copy(*node));
    }
    for (const BackEdge& edge : back_edges_) {
      const Output source{home_[edge.source.node->id()], edge.source.index};
      RETURN_IF_ERROR(to_.graph->SetBackEdge(edge.merge, edge.index, source));
    }
    for (const Output& feed : from_.feeds) {
      to_.feeds.push_back(feed.node == nullptr ? Output() : Output{home_[feed.node->id()], 0});
    }
    for (const Output& fetch : from_.fetches) {
      ASSIGN_OR_RETURN(const Output there, In(MemoryKind::kHost, fetch));
      to_.fetches.push_back(there);
    }
    for (const Node* target : from_.targets) to_.targets.push_back(home_[target->id()]);
    to_.origins.resize(static_cast<size_t>(to_.graph->num_nodes()));
    return std::move(to_);
  }

 private:
  struct BackEdge {
    Node* merge;
    int index;
    Output source;  // old
  };

  Status Copy(const Node& node) {
    NodeMemory memory;
    if (from_.IsFeed(node)) {
      memory.outputs.assign(static_cast<size_t>(node.num_outputs()), MemoryKind::kHost);
    } else {
      ASSIGN_OR_RETURN(memory, NodeMemory::Of(node, kernels_, device_.type()));
    }
    const auto peer = peers_.empty() ? peers_.end() : peers_.find(EdgeName(node));
    const bool is_of_peers = peer != peers_.end();
    if (is_of_peers) {
      std::ranges::fill(memory.inputs, MemoryKind::kDevice);
      std::ranges::fill(memory.outputs, MemoryKind::kDevice);
    }
    std::vector<Output> inputs;
    std::vector<int> open;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      if (input.node->id() >= node.id()) {
        // Both ends hand the value on, so that both have it in the same memory.
        open.push_back(i);
        inputs.emplace_back();
        continue;
      }
      ASSIGN_OR_RETURN(const Output there, In(memory.inputs[i], input));
      inputs.push_back(there);
    }
    Node* const now = to_.graph->CopyNode(node, std::move(inputs), Controls(node));
    if (is_of_peers) NodeMaker::ReplaceAttr(now, "tensor_name", peer->second);
    for (const int i : open) back_edges_.push_back({now, i, node.input(i)});
    home_[node.id()] = now;
    memory_.push_back(std::move(memory.outputs));
    to_.origins.resize(static_cast<size_t>(now->id()) + 1);
    to_.origins[now->id()] = from_.Origin(node);
    if (is_of_peers && node.num_outputs() > 0) {
      ASSIGN_OR_RETURN(home_[node.id()], CopyFromPeer(node, now));
    }
    return OkStatus();
  }

  // What the readers of a _Recv have in its place, whose tensor is in the sender's memory.
  Result<Node*> CopyFromPeer(const Node& recv, Node* now) {
    NodeSpec copy;
    copy.name = to_.graph->UniqueName(StrCat(recv.name(), "/from_peer"));
    copy.op = "_CopyFromPeer";
    copy.inputs = {{now, 0}};
    copy.site = to_.graph->InternSite(recv.graph().Site(recv.site()));
    return to_.graph->AddNode(std::move(copy));
  }

  std::vector<Node*> Controls(const Node& node) const {
    std::vector<Node*> controls;
    for (const Node* before : node.control_inputs()) controls.push_back(home_[before->id()]);
    return controls;
  }

  // Where an old value now is in this memory.
  Result<Output> In(MemoryKind kind, const Output& old) {
    const Node& node = *old.node;
    const Output here{home_[node.id()], old.index};
    if (memory_[node.id()][old.index] == kind) return here;
    Output& copy = copies_[old];
    if (copy.node == nullptr) {
      NodeSpec spec;
      const bool to_host = kind == MemoryKind::kHost;
      spec.name =
          to_.graph->UniqueName(StrCat(node.name(), old.index == 0 ? "" : StrCat("_", old.index),
                                       to_host ? "/to_host" : "/to_device"));
      spec.site = to_.graph->InternSite(node.graph().Site(node.site()));
      if (node.op_name() == "Const") {
        ASSIGN_OR_RETURN(const Tensor value, node.Attr<Tensor>("value"));
        ASSIGN_OR_RETURN(Tensor there, CopyNow(device_, value));
        spec.op = "Const";
        spec.attrs = {{"dtype", value.dtype()}, {"value", std::move(there)}};
        spec.control_inputs = Controls(node);
      } else {
        spec.op = to_host ? "_CopyToHost" : "_CopyFromHost";
        spec.inputs = {here};
      }
      ASSIGN_OR_RETURN(Node * made, to_.graph->AddNode(std::move(spec)));
      copy = {made, 0};
    }
    return copy;
  }

  const StepGraph& from_;
  Device& device_;
  const KernelRegistry& kernels_;
  const PeerEdges& peers_;
  StepGraph to_;
  std::vector<Node*> home_;                                // by old id
  std::vector<std::vector<MemoryKind>> memory_;            // by old id: of its outputs
  std::unordered_map<Output, Output, OutputHash> copies_;  // by old value: in the other memory
  std::vector<BackEdge> back_edges_;
};

}  // namespace

Result<StepGraph> PlaceCopies(const StepGraph& part, Device& device, const KernelRegistry& kernels,
                              const PeerEdges& peers) {
  if (device.host_addressable()) return part;
  return CopyPlacer(part, device, kernels, peers).Run();
}

}  // namespace thalweg
