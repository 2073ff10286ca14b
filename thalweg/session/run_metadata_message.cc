// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/run_metadata_message.h"

#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/message.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

void AppendNumber(uint32_t field, int64_t value, std::string* out) {
  if (value == 0) return;
  AppendTag(*out, field, WireType::kVarint);
  AppendVarint(*out, static_cast<uint64_t>(value));
}

void AppendText(uint32_t field, std::string_view text, std::string* out) {
  if (text.empty()) return;
  AppendTag(*out, field, WireType::kLengthDelimited);
  AppendBytes(*out, text);
}

void AppendNode(const StepStats& stats, const NodeStats& node, std::string* out) {
  namespace Exec = pb::NodeExecStats;
  const int64_t start_micros = stats.start_wall_micros + node.start_nanos / 1000;
  const int64_t nanos = node.end_nanos - node.start_nanos;
  AppendText(Exec::kNodeName, node.node, out);
  AppendNumber(Exec::kAllStartMicros, start_micros, out);
  AppendNumber(Exec::kOpEndRelMicros, nanos / 1000, out);
  AppendNumber(Exec::kAllEndRelMicros, nanos / 1000, out);
  if (node.label.empty()) {
    AppendTag(*out, Exec::kTimelineLabel, WireType::kLengthDelimited);
    constexpr std::string_view kIs = " = ";
    AppendVarint(*out, node.node.size() + kIs.size() + node.op.size());
    out->append(node.node).append(kIs).append(node.op);
  } else {
    AppendText(Exec::kTimelineLabel, node.label, out);
  }
  AppendNumber(Exec::kScheduledMicros, start_micros, out);
  AppendNumber(Exec::kThreadId, node.thread, out);
  AppendNumber(Exec::kAllStartNanos, stats.start_wall_micros * 1000 + node.start_nanos, out);
  AppendNumber(Exec::kOpEndRelNanos, nanos, out);
  AppendNumber(Exec::kAllEndRelNanos, nanos, out);
}

}  // namespace

std::string EncodeStepStats(const StepStats& stats) {
  std::string all;
  std::string devices;
  std::string nodes;
  for (const DeviceStats& device : stats.devices) {
    constexpr size_t kUsualNode = 192;
    devices.clear();
    devices.reserve((device.nodes.size() + 1) * kUsualNode);
    AppendText(pb::DeviceStepStats::kDevice, device.device, &devices);
    for (const NodeStats& node : device.nodes) {
      nodes.clear();
      AppendNode(stats, node, &nodes);
      AppendTag(devices, pb::DeviceStepStats::kNodeStats, WireType::kLengthDelimited);
      AppendBytes(devices, nodes);
    }
    AppendTag(all, pb::StepStats::kDevStats, WireType::kLengthDelimited);
    AppendBytes(all, devices);
  }
  return all.append(stats.encoded);
}

void EncodeDevices(StepStats* stats) {
  stats->encoded = EncodeStepStats(*stats);
  stats->devices.clear();
}

Status AddEncodedStepStats(std::string_view bytes, StepStats* stats) {
  WireReader reader(bytes);
  uint32_t tag = 0;
  while (reader.ReadTag(&tag)) {
    if (!reader.Skip(tag)) break;
  }
  if (!reader.AtEnd()) {
    return InvalidArgument("expected a StepStats message, found ", bytes.size(),
                           " bytes that are none");
  }
  stats->encoded.append(bytes);
  return OkStatus();
}

Status StepStatsToMessage(const StepStats& stats, Message* message) {
  return MergeFromBytes(*message, EncodeStepStats(stats));
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

Status ReadStepStats(RunMetadata* metadata) {
  StepStats& stats = metadata->step_stats;
  if (!metadata->encoded.empty() && stats.devices.empty()) {
    ASSIGN_OR_RETURN(const OwnedMessage told, ParseMessage(pb::RunMetadata::Descriptor(),
                                                           metadata->encoded, {.borrow = true}));
    AddStepStats(told->GetMessage(pb::RunMetadata::kStepStats), &stats);
  }
  if (stats.encoded.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const OwnedMessage others,
                   ParseMessage(pb::StepStats::Descriptor(), stats.encoded, {.borrow = true}));
  AddStepStats(*others, &stats);
  stats.encoded.clear();
  return OkStatus();
}

Status RunMetadataToMessage(const RunMetadata& metadata, Message* message) {
  ASSIGN_OR_RETURN(const std::string bytes, RunMetadataMessage(metadata));
  return MergeFromBytes(*message, bytes);
}

Result<std::string> RunMetadataMessage(const RunMetadata& metadata) {
  if (!metadata.encoded.empty()) return metadata.encoded;
  std::string bytes;
  AppendText(pb::RunMetadata::kStepStats, EncodeStepStats(metadata.step_stats), &bytes);
  if (metadata.memory.peak_node.empty() && metadata.partition_graphs.empty()) return bytes;
  // The rest as a message: its bytes go on where those end.
  OwnedMessage rest(pb::RunMetadata::Descriptor());
  if (!metadata.memory.peak_node.empty()) {
    Message* node = rest->Mutable(pb::RunMetadata::kCostGraph)->Add(pb::CostGraphDef::kNode);
    node->SetString(pb::CostGraphDef::Node::kName, metadata.memory.peak_node);
    node->SetInt(pb::CostGraphDef::Node::kTemporaryMemorySize, metadata.memory.peak_bytes);
  }
  for (const RunMetadata::Partition& partition : metadata.partition_graphs) {
    ASSIGN_OR_RETURN(const OwnedMessage graph, ExportGraphDef(*partition.graph));
    rest->Add(pb::RunMetadata::kPartitionGraphs)->CopyFrom(*graph);
  }
  ASSIGN_OR_RETURN(const std::string others, Serialize(*rest));
  return bytes + others;
}

}  // namespace thalweg
