// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/channel_parts.h"

#include <set>

#include "thalweg/cluster/steps/channel_rendezvous.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

constexpr const char* kNumber = "_thalweg_edge";
constexpr const char* kPeer = "_thalweg_peer";
constexpr const char* kByChannel = "_thalweg_pushed";  // of a graph's first node

// Plain elements and strings do; handles of things in one task do not.
bool GoesThroughChannels(DType dtype) {
  return dtype != DType::kResource && dtype != DType::kVariant;
}

template <class T>
Result<T> Read(const Message& node, const char* name) {
  const Message* const attr = node.MapFind(pb::NodeDef::kAttr, name);
  if (attr == nullptr) {
    return InvalidArgument("node ", node.GetString(pb::NodeDef::kName), " has no ", name);
  }
  ASSIGN_OR_RETURN(const AttrValue value, AttrValueFromProto(*attr));
  return value.Get<T>();
}

}  // namespace

uint32_t ChannelPlanner::NumberOf(const std::string& name) {
  const auto [at, is_new] = numbers_.try_emplace(name, next_);
  if (is_new) ++next_;
  return at->second;
}

// What comes from the client or goes to it is between its part and this task.
Status ChannelPlanner::MarkNode(Message* node, RemoteStepPart* part) {
  ASSIGN_OR_RETURN(const std::string name, Read<std::string>(*node, "tensor_name"));
  ASSIGN_OR_RETURN(const bool with_client, Read<bool>(*node, "client_terminated"));
  const bool sends = node->GetString(pb::NodeDef::kOp) == "_Send";
  ChannelEdge edge{.connection = part->connection};
  ASSIGN_OR_RETURN(edge.dtype, Read<DType>(*node, sends ? "T" : "tensor_type"));
  if (!GoesThroughChannels(edge.dtype)) {
    return Unimplemented("values of type ", edge.dtype, " do not go through channels");
  }
  std::string peer = self_;
  if (with_client) {
    edge.number = next_++;
    const int number = std::stoi(name.substr(name.rfind('_') + 1));
    (sends ? part->fetches : part->feeds).emplace_back(number, edge);
  } else {
    ASSIGN_OR_RETURN(const std::string device,
                     Read<std::string>(*node, sends ? "recv_device" : "send_device"));
    peer = TaskOf(device);
    edge.number = NumberOf(name);
  }
  if (next_ >= kMostEdges) return Unimplemented("the step has too many edges between tasks");
  RETURN_IF_ERROR(AttrValueToProto(static_cast<int64_t>(edge.number),
                                   node->MapMutable(pb::NodeDef::kAttr, kNumber)));
  return AttrValueToProto(peer, node->MapMutable(pb::NodeDef::kAttr, kPeer));
}

Result<RemoteStepPart> ChannelPlanner::MarkPart(const std::string& task, Message* graph_def) {
  if (!tasks_.insert(task).second) {
    return Unimplemented("the step has parts on several devices of ", task);
  }
  RemoteStepPart part;
  ASSIGN_OR_RETURN(part.connection, channels_.Get(task, making_));
  const auto nodes = graph_def->MutableMessages(pb::GraphDef::kNode);
  // A part may have no edges at all.
  if (!nodes.empty()) {
    RETURN_IF_ERROR(
        AttrValueToProto(true, (*nodes.begin())->MapMutable(pb::NodeDef::kAttr, kByChannel)));
  }
  for (Message* node : nodes) {
    const std::string_view op = node->GetString(pb::NodeDef::kOp);
    if (op == "_Send" || op == "_Recv") RETURN_IF_ERROR(MarkNode(node, &part));
  }
  part.trace_edge = next_++;
  if (next_ >= kMostEdges) return Unimplemented("the step has too many edges between tasks");
  return part;
}

Status ChannelPlanner::AddHere(const Graph& graph) {
  for (const Node* node : graph.Nodes()) {
    const bool sends = node->op_name() == "_Send";
    if (!sends && node->op_name() != "_Recv") continue;
    ASSIGN_OR_RETURN(const std::string device,
                     node->Attr<std::string>(sends ? "recv_device" : "send_device"));
    const std::string peer(TaskOf(device));
    if (peer == self_) continue;
    ASSIGN_OR_RETURN(std::string name, node->Attr<std::string>("tensor_name"));
    ChannelEdge edge{.number = NumberOf(name)};
    ASSIGN_OR_RETURN(edge.dtype, node->Attr<DType>(sends ? "T" : "tensor_type"));
    if (!GoesThroughChannels(edge.dtype)) {
      return Unimplemented("values of type ", edge.dtype, " do not go through channels");
    }
    ASSIGN_OR_RETURN(edge.connection, channels_.Get(peer, making_));
    edges_->Add(std::move(name), std::move(edge));
  }
  return OkStatus();
}

bool IsMarked(const Message& graph_def) {
  const auto nodes = graph_def.Messages(pb::GraphDef::kNode);
  return !nodes.empty() && (*nodes.begin())->MapFind(pb::NodeDef::kAttr, kByChannel) != nullptr;
}

Result<std::vector<MarkedEdge>> MarkedEdges(const Message& graph_def) {
  std::vector<MarkedEdge> edges;
  std::set<uint32_t> numbers;
  for (const Message* node : graph_def.Messages(pb::GraphDef::kNode)) {
    if (node->MapFind(pb::NodeDef::kAttr, kNumber) == nullptr) continue;
    MarkedEdge edge;
    ASSIGN_OR_RETURN(const int64_t number, Read<int64_t>(*node, kNumber));
    if (number < 0 || number >= kMostEdges ||
        !numbers.insert(static_cast<uint32_t>(number)).second) {
      return InvalidArgument("the edges of a graph have distinct numbers below ", kMostEdges,
                             ", got ", number);
    }
    edge.number = static_cast<uint32_t>(number);
    ASSIGN_OR_RETURN(edge.peer, Read<std::string>(*node, kPeer));
    ASSIGN_OR_RETURN(edge.name, Read<std::string>(*node, "tensor_name"));
    const bool sends = node->GetString(pb::NodeDef::kOp) == "_Send";
    ASSIGN_OR_RETURN(edge.dtype, Read<DType>(*node, sends ? "T" : "tensor_type"));
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace thalweg
