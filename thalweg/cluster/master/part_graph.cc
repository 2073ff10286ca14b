// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/part_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/bound_functions.h"
#include "thalweg/session/client_edge.h"

namespace thalweg {
namespace {

Status SetAttr(Message* node, const char* name, const AttrValue& value) {
  return AttrValueToProto(value, node->MapMutable(pb::NodeDef::kAttr, name));
}

Status SetClientEdge(Message* node, const RendezvousKey& key) {
  RETURN_IF_ERROR(SetAttr(node, "tensor_name", key.edge));
  RETURN_IF_ERROR(SetAttr(node, "send_device", key.source));
  RETURN_IF_ERROR(SetAttr(node, "send_device_incarnation", static_cast<int64_t>(key.incarnation)));
  RETURN_IF_ERROR(SetAttr(node, "recv_device", key.destination));
  return SetAttr(node, "client_terminated", true);
}

// Every attribute, also defaults, but none that the task's version lacks.
ExportOptions ExportFor(PeerVersion version) {
  return {.for_1_15 = version == PeerVersion::k1_15,
          .call_sites = version == PeerVersion::kThalweg};
}

}  // namespace

RendezvousKey PartGraphs::ClientKey(int device, const char* kind, int number) const {
  return ClientEdge(device_names_[device], device_incarnations_[device], kind, number);
}

Result<OwnedMessage> PartGraphs::Make(const StepPartition& part, RemotePart* remote) {
  const PeerVersion version = peers_.KnownVersion(remote->task).value_or(PeerVersion::k1_15);
  ASSIGN_OR_RETURN(OwnedMessage def, ExportGraphDef(*part.step.graph, ExportFor(version)));
  const std::vector<Node*> nodes = part.step.graph->Nodes();
  const FunctionLibrary* const functions = part.step.graph->library().parent();
  if (functions != nullptr && NamesFunctions({nodes.begin(), nodes.end()})) {
    ExportFunctions(*functions, def->Mutable(pb::GraphDef::kLibrary));
  }
  RETURN_IF_ERROR(ReceiveFeeds(part, def.get(), remote));
  RETURN_IF_ERROR(SendFetches(part, def.get(), remote));
  RenameEnds(def);
  return def;
}

Status PartGraphs::ReceiveFeeds(const StepPartition& part, Message* graph_def,
                                RemotePart* remote) const {
  std::unordered_map<std::string_view, int> feed_of;
  for (size_t i = 0; i < part.step.feeds.size(); ++i) {
    if (part.step.feeds[i].node != nullptr) {
      feed_of.emplace(part.step.feeds[i].node->name(), static_cast<int>(i));
    }
  }
  for (Message* node : graph_def->MutableMessages(pb::GraphDef::kNode)) {
    node->SetString(pb::NodeDef::kDevice, device_names_[part.device]);
    const auto feed = feed_of.find(node->GetString(pb::NodeDef::kName));
    if (feed == feed_of.end()) continue;
    const RendezvousKey key = ClientKey(part.device, "feed", feed->second);
    const Node& placeholder = *part.step.feeds[feed->second].node;
    node->SetString(pb::NodeDef::kOp, "_Recv");
    node->Clear(pb::NodeDef::kInput);
    node->Clear(pb::NodeDef::kAttr);
    RETURN_IF_ERROR(SetAttr(node, "tensor_type", placeholder.output_type(0)));
    RETURN_IF_ERROR(SetClientEdge(node, key));
    remote->feeds.emplace_back(feed->second, key.ToString());
  }
  return OkStatus();
}

Status PartGraphs::SendFetches(const StepPartition& part, Message* graph_def,
                               RemotePart* remote) const {
  for (size_t i = 0; i < part.fetches.size(); ++i) {
    const Output& fetch = part.step.fetches[i];
    const RendezvousKey key = ClientKey(part.device, "fetch", part.fetches[i]);
    Message* const node = graph_def->Add(pb::GraphDef::kNode);
    node->SetString(pb::NodeDef::kName, part.step.graph->UniqueName(StrCat("fetch_", i)));
    node->SetString(pb::NodeDef::kOp, "_Send");
    node->SetString(pb::NodeDef::kDevice, device_names_[part.device]);
    node->AddString(pb::NodeDef::kInput, fetch.ToString());
    RETURN_IF_ERROR(SetAttr(node, "T", fetch.dtype()));
    RETURN_IF_ERROR(SetClientEdge(node, key));
    remote->fetches.emplace_back(part.fetches[i], key.ToString());
  }
  return OkStatus();
}

// TensorFlow's workers keep the kernels of a session's stateful nodes by name, also for its next
// graph, where a Send or Recv of the same name has another key.
void PartGraphs::RenameEnds(OwnedMessage& graph_def) {
  const std::string suffix = StrCat("_S", next_graph_.fetch_add(1));
  std::unordered_set<std::string> ends;
  for (const Message* node : graph_def->Messages(pb::GraphDef::kNode)) {
    const std::string_view op = node->GetString(pb::NodeDef::kOp);
    if (op == "_Send" || op == "_Recv") ends.emplace(node->GetString(pb::NodeDef::kName));
  }
  for (Message* node : graph_def->MutableMessages(pb::GraphDef::kNode)) {
    const std::string name(node->GetString(pb::NodeDef::kName));
    if (ends.contains(name)) node->SetString(pb::NodeDef::kName, StrCat(name, suffix));
    for (std::string_view& input : node->MutableRepeated<std::string_view>(pb::NodeDef::kInput)) {
      const size_t begin = input.starts_with('^') ? 1 : 0;
      const size_t end = std::min(input.size(), input.find(':'));
      if (!ends.contains(std::string(input.substr(begin, end - begin)))) continue;
      input = graph_def->arena().Copy(StrCat(input.substr(0, end), suffix, input.substr(end)));
    }
  }
}

}  // namespace thalweg
