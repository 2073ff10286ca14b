// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/run_metadata_message.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/message.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

size_t VarintSize(uint64_t value) { return static_cast<size_t>(std::bit_width(value | 1) + 6) / 7; }

// As proto/wire_fields.h, to where there is room, which is asked for once and not at each number:
// a traced loop has millions of nodes, and its caller waits.
class FieldWriter {
 public:
  explicit FieldWriter(char* to) : to_(to) {}
  char* end() const { return to_; }

  void Varint(uint64_t value) {
    while (value >= 0x80) {
      *to_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *to_++ = static_cast<char>(value);
  }
  // Most are short: no call for those.
  [[gnu::always_inline]] void Bytes(std::string_view bytes) {
    const size_t size = bytes.size();
    if (size > 16) {
      to_ = std::copy(bytes.begin(), bytes.end(), to_);
      return;
    }
    // The first half and the last, which may overlap.
    if (size >= 8) {
      std::memcpy(to_, bytes.data(), 8);
      std::memcpy(to_ + size - 8, bytes.data() + size - 8, 8);
    } else if (size >= 4) {
      std::memcpy(to_, bytes.data(), 4);
      std::memcpy(to_ + size - 4, bytes.data() + size - 4, 4);
    } else {
      for (size_t i = 0; i < size; ++i) to_[i] = bytes[i];
    }
    to_ += size;
  }
  void Length(uint32_t field, size_t size) {
    Varint(WireTag(field, WireType::kLengthDelimited));
    Varint(size);
  }
  // Nothing, where it is the field's default.
  void Number(uint32_t field, int64_t value) {
    if (value == 0) return;
    Varint(WireTag(field, WireType::kVarint));
    Varint(static_cast<uint64_t>(value));
  }
  void Text(uint32_t field, std::string_view text) {
    if (text.empty()) return;
    Length(field, text.size());
    Bytes(text);
  }

 private:
  char* to_;
};

// Of a text that follows in parts.
void AppendLength(uint32_t field, size_t size, std::string* out) {
  AppendTag(*out, field, WireType::kLengthDelimited);
  AppendVarint(*out, size);
}

// Of a field of one byte's tag.
size_t FieldSize(size_t size) { return 1 + VarintSize(size) + size; }

size_t TraceSize(const DeviceTrace& trace) {
  return (trace.device.empty() ? 0 : FieldSize(trace.device.size())) + trace.nodes.size();
}

size_t StatsSize(const StepStats& stats) {
  size_t size = stats.encoded.size();
  for (const DeviceTrace& trace : stats.traces) size += FieldSize(TraceSize(trace));
  return size;
}

// To where there is room for it.
void MoveStats(StepStats stats, std::string* out) {
  for (DeviceTrace& trace : stats.traces) {
    AppendLength(pb::StepStats::kDevStats, TraceSize(trace), out);
    if (!trace.device.empty()) AddWireText(pb::DeviceStepStats::kDevice, trace.device, out);
    trace.nodes.MoveTo(out);
  }
  out->append(stats.encoded);
}

// Adds the devices of a StepStats message.
void AddDevices(const Message& message, StepStats* stats) {
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

}  // namespace

void AppendNode(const NodeTrace& node, int64_t start_wall_micros, std::string* nodes) {
  namespace Exec = pb::NodeExecStats;
  constexpr std::string_view kIs = " = ";
  constexpr size_t kNumbers = 160;     // and tags and lengths, at most
  constexpr size_t kFewNumbers = 40;   // usually
  constexpr size_t kUsualNode = 1024;  // written beside the text and added: room there costs more
  const int64_t start_micros = start_wall_micros + node.start_nanos / 1000;
  const int64_t nanos = node.end_nanos - node.start_nanos;
  const size_t texts =
      2 * node.node.size() + node.op.size() + node.label.size() + node.fields.size();
  const size_t at = nodes->size();
  char usual[kUsualNode];
  char* begin = usual;
  if (kNumbers + texts > kUsualNode) {
    nodes->resize(at + kNumbers + texts);
    begin = nodes->data() + at;
  }
  // A tag and what the length will take, where that is as it looks.
  const size_t guessed = 1 + VarintSize(kFewNumbers + texts);
  FieldWriter body(begin + guessed);
  body.Text(Exec::kNodeName, node.node);
  const char* const start = body.end() + 1;
  body.Number(Exec::kAllStartMicros, start_micros);
  const std::string_view micros(start, static_cast<size_t>(body.end() - start));
  body.Number(Exec::kOpEndRelMicros, nanos / 1000);
  body.Number(Exec::kAllEndRelMicros, nanos / 1000);
  if (node.label.empty()) {
    body.Length(Exec::kTimelineLabel, node.node.size() + kIs.size() + node.op.size());
    body.Bytes(node.node);
    body.Bytes(kIs);
    body.Bytes(node.op);
  } else {
    body.Text(Exec::kTimelineLabel, node.label);
  }
  if (start_micros != 0) {
    body.Varint(WireTag(Exec::kScheduledMicros, WireType::kVarint));
    body.Bytes(micros);
  }
  body.Number(Exec::kThreadId, node.thread);
  body.Number(Exec::kAllStartNanos, start_wall_micros * 1000 + node.start_nanos);
  body.Number(Exec::kOpEndRelNanos, nanos);
  body.Number(Exec::kAllEndRelNanos, nanos);
  body.Bytes(node.fields);
  const size_t size = static_cast<size_t>(body.end() - begin) - guessed;
  const size_t head = 1 + VarintSize(size);
  if (head != guessed) std::memmove(begin + head, begin + guessed, size);
  FieldWriter(begin).Length(pb::DeviceStepStats::kNodeStats, size);
  if (begin == usual) {
    nodes->append(usual, head + size);
  } else {
    nodes->resize(at + head + size);
  }
}

std::string EncodeStepStats(StepStats stats) {
  // What other tasks have told needs no copy where it is all.
  if (stats.traces.empty()) return std::move(stats.encoded);
  std::string bytes;
  bytes.reserve(StatsSize(stats));
  MoveStats(std::move(stats), &bytes);
  return bytes;
}

Status AddEncodedStepStats(std::string_view bytes, StepStats* stats) {
  WireReader reader(bytes);
  uint32_t tag = 0;
  bool read = true;  // bytes that end with a tag are at their end as well
  while (read && reader.ReadTag(&tag)) read = reader.Skip(tag);
  if (!read || !reader.AtEnd()) {
    return InvalidArgument("expected a StepStats message, found ", bytes.size(),
                           " bytes that are none");
  }
  stats->encoded.append(bytes);
  return OkStatus();
}

Status StepStatsToMessage(StepStats stats, Message* message) {
  return MergeFromBytes(*message, EncodeStepStats(std::move(stats)));
}

Status ReadStepStats(RunMetadata* metadata) {
  StepStats& stats = metadata->step_stats;
  stats.devices.clear();
  if (!metadata->encoded.empty()) {
    ASSIGN_OR_RETURN(const OwnedMessage told, ParseMessage(pb::RunMetadata::Descriptor(),
                                                           metadata->encoded, {.borrow = true}));
    AddDevices(told->GetMessage(pb::RunMetadata::kStepStats), &stats);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const OwnedMessage written,
                   ParseMessage(pb::StepStats::Descriptor(), EncodeStepStats(stats)));
  AddDevices(*written, &stats);
  return OkStatus();
}

Status RunMetadataToMessage(RunMetadata metadata, Message* message) {
  ASSIGN_OR_RETURN(const std::string bytes, RunMetadataMessage(std::move(metadata)));
  return MergeFromBytes(*message, bytes);
}

Result<std::string> RunMetadataMessage(RunMetadata metadata) {
  if (!metadata.encoded.empty()) return std::move(metadata.encoded);
  // All but the times of nodes as a message: its bytes go on where those end.
  std::string others;
  if (!metadata.memory.peak_node.empty() || !metadata.partition_graphs.empty()) {
    OwnedMessage rest(pb::RunMetadata::Descriptor());
    if (!metadata.memory.peak_node.empty()) {
      Message* node = rest->Mutable(pb::RunMetadata::kCostGraph)->Add(pb::CostGraphDef::kNode);
      node->SetString(pb::CostGraphDef::Node::kName, metadata.memory.peak_node);
      node->SetInt(pb::CostGraphDef::Node::kTemporaryMemorySize, metadata.memory.peak_bytes);
    }
    for (const RunMetadata::Partition& partition : metadata.partition_graphs) {
      ASSIGN_OR_RETURN(const OwnedMessage graph,
                       ExportGraphDef(*partition.graph, {.call_sites = true}));
      rest->Add(pb::RunMetadata::kPartitionGraphs)->CopyFrom(*graph);
    }
    ASSIGN_OR_RETURN(others, Serialize(*rest));
  }
  const size_t size = StatsSize(metadata.step_stats);
  if (size == 0) return others;
  std::string bytes;
  bytes.reserve(FieldSize(size) + others.size());
  AppendLength(pb::RunMetadata::kStepStats, size, &bytes);
  MoveStats(std::move(metadata.step_stats), &bytes);
  bytes.append(others);
  return bytes;
}

}  // namespace thalweg
