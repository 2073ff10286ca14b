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
  out->SetString(NodeExecStats::kTimelineLabel,
                 node.label.empty() ? StrCat(node.node, " = ", node.op) : node.label);
  out->SetUint(NodeExecStats::kThreadId, static_cast<uint64_t>(node.thread));
}

}  // namespace

void StepStatsToMessage(const StepStats& stats, Message* message) {
  for (const DeviceStats& device : stats.devices) {
    Message* out = message->Add(pb::StepStats::kDevStats);
    out->SetString(pb::DeviceStepStats::kDevice, device.device);
    for (const NodeStats& node : device.nodes) {
      FillNode(stats, node, out->Add(pb::DeviceStepStats::kNodeStats));
    }
  }
}

void AddStepStats(const Message& message, StepStats* stats) {
  namespace Exec = pb::NodeExecStats;
  for (const Message* device : message.Messages(pb::StepStats::kDevStats)) {
    DeviceStats& into = stats->devices.emplace_back();
    into.device = device->GetString(pb::DeviceStepStats::kDevice);
    for (const Message* node : device->Messages(pb::DeviceStepStats::kNodeStats)) {
      int64_t start = node->GetInt(Exec::kAllStartNanos);
      if (start == 0) start = node->GetInt(Exec::kAllStartMicros) * 1000;
      int64_t nanos = node->GetInt(Exec::kAllEndRelNanos);
      if (nanos == 0) nanos = node->GetInt(Exec::kAllEndRelMicros) * 1000;
      NodeStats& made = into.nodes.emplace_back();
      made.node = node->GetString(Exec::kNodeName);
      made.thread = static_cast<int>(node->GetUint(Exec::kThreadId));
      made.start_nanos = start - stats->start_wall_micros * 1000;
      made.end_nanos = made.start_nanos + nanos;
      made.label = node->GetString(Exec::kTimelineLabel);
    }
  }
}

Status RunMetadataToMessage(const RunMetadata& metadata, Message* message) {
  if (!metadata.encoded.empty()) return MergeFromBytes(*message, metadata.encoded);
  if (!metadata.step_stats.devices.empty()) {
    StepStatsToMessage(metadata.step_stats, message->Mutable(pb::RunMetadata::kStepStats));
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
