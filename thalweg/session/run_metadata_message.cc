// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/run_metadata_message.h"

#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/message.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

void FillNode(const StepStats& stats, const NodeStats& node, Message* out) {
  namespace NodeExecStats = pb::NodeExecStats;
  const int64_t start_micros = stats.start_wall_micros + node.start_nanos / 1000;
  const int64_t nanos = node.end_nanos - node.start_nanos;
  out->SetString(NodeExecStats::kNodeName, node.node);
  out->SetInt(NodeExecStats::kAllStartMicros, start_micros);
  out->SetInt(NodeExecStats::kAllStartNanos, stats.start_wall_micros * 1000 + node.start_nanos);
  out->SetInt(NodeExecStats::kScheduledMicros, start_micros);
  out->SetInt(NodeExecStats::kOpEndRelMicros, nanos / 1000);
  out->SetInt(NodeExecStats::kAllEndRelMicros, nanos / 1000);
  out->SetInt(NodeExecStats::kOpEndRelNanos, nanos);
  out->SetInt(NodeExecStats::kAllEndRelNanos, nanos);
  out->SetString(NodeExecStats::kTimelineLabel, StrCat(node.node, " = ", node.op));
  out->SetUint(NodeExecStats::kThreadId, static_cast<uint64_t>(node.thread));
}

}  // namespace

Status RunMetadataToMessage(const RunMetadata& metadata, Message* message) {
  if (!metadata.step_stats.devices.empty()) {
    Message* step_stats = message->Mutable(pb::RunMetadata::kStepStats);
    for (const DeviceStats& device : metadata.step_stats.devices) {
      Message* out = step_stats->Add(pb::StepStats::kDevStats);
      out->SetString(pb::DeviceStepStats::kDevice, device.device);
      for (const NodeStats& node : device.nodes) {
        FillNode(metadata.step_stats, node, out->Add(pb::DeviceStepStats::kNodeStats));
      }
    }
  }
  if (!metadata.memory.peak_node.empty()) {
    Message* node = message->Mutable(pb::RunMetadata::kCostGraph)->Add(pb::CostGraphDef::kNode);
    node->SetString(pb::CostGraphDef::Node::kName, metadata.memory.peak_node);
    node->SetInt(pb::CostGraphDef::Node::kTemporaryMemorySize, metadata.memory.peak_bytes);
  }
  for (const RunMetadata::Partition& partition : metadata.partition_graphs) {
    ASSIGN_OR_RETURN(const OwnedMessage graph, ExportGraphDef(*partition.graph));
    message->Add(pb::RunMetadata::kPartitionGraphs)->CopyFrom(*graph);
  }
  return OkStatus();
}

Result<std::string> RunMetadataMessage(const RunMetadata& metadata) {
  OwnedMessage message(pb::RunMetadata::Descriptor());
  RETURN_IF_ERROR(RunMetadataToMessage(metadata, message.get()));
  return Serialize(*message);
}

}  // namespace thalweg
