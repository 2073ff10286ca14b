// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/partition_reader.h"

#include <map>
#include <utility>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/utf8.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

struct PartitionNode {
  std::string_view name, device;
  std::string_view edge, from, to;  // attributes of Send and Recv
  NodeFacts facts;

  // Where it runs, as far as it tells.
  std::string_view Place(std::string_view op) const {
    const SpanKind kind = SpanKindOf(op);
    return kind == SpanKind::kSend ? from : kind == SpanKind::kReceive ? to : device;
  }
};

// Of a constant's value: what its elements take.
int64_t TensorBytes(std::string_view tensor) {
  int dtype = 0;
  std::vector<int64_t> shape;
  ReadTypeAndShape(tensor, &dtype, &shape);
  int64_t bytes = ElementBytes(dtype);
  for (const int64_t dim : shape) {
    if (dim > 0 && bytes > (int64_t{1} << 60) / dim) return 0;
    bytes *= dim;
  }
  return bytes;
}

void ReadAttr(std::string_view bytes, PartitionNode* node) {
  std::string_view key, text, tensor;
  WireField entry, value;
  for (WireFields attr(bytes); attr.Next(&entry);) {
    if (entry.number == pb::kMapKey && IsText(entry)) key = entry.bytes;
    if (entry.number != pb::kMapValue || !IsText(entry)) continue;
    for (WireFields values(entry.bytes); values.Next(&value);) {
      if (value.number == pb::AttrValue::kS && IsText(value)) text = value.bytes;
      if (value.number == pb::AttrValue::kTensor && IsText(value)) tensor = value.bytes;
    }
  }
  if (key == "tensor_name") node->edge = text;
  if (key == "send_device") node->from = text;
  if (key == "recv_device") node->to = text;
  if (key == "value" && !tensor.empty()) node->facts.constant_bytes = TensorBytes(tensor);
}

PartitionNode ReadNode(std::string_view bytes, TraceTexts* texts) {
  PartitionNode node;
  WireField field;
  for (WireFields fields(bytes); fields.Next(&field);) {
    if (!IsText(field)) continue;
    if (field.number == pb::NodeDef::kAttr) ReadAttr(field.bytes, &node);
    if (field.number > pb::NodeDef::kDevice || !IsUtf8(field.bytes)) continue;
    if (field.number == pb::NodeDef::kName) node.name = field.bytes;
    if (field.number == pb::NodeDef::kOp) node.facts.op = texts->Add(field.bytes);
    if (field.number == pb::NodeDef::kDevice) node.device = field.bytes;
    if (field.number == pb::NodeDef::kInput) {
      node.facts.inputs.push_back(texts->Add(NodeOfEdge(field.bytes)));
      node.facts.controls += field.bytes.starts_with('^') ? 1 : 0;
    }
  }
  return node;
}

// The traced device that most nodes tell of; where none does, the only one.
uint32_t DeviceOf(const Trace& trace, const std::map<std::string_view, size_t>& votes) {
  uint32_t device = trace.devices.size() == 1 ? 0 : UINT32_MAX;
  size_t most = 0;
  for (size_t i = 0; i < trace.devices.size(); ++i) {
    const auto found = votes.find(trace.devices[i].name);
    if (found == votes.end() || found->second <= most) continue;
    most = found->second;
    device = static_cast<uint32_t>(i);
  }
  return device;
}

// "train.py:41 in build", by node: the first frame of each trace of a GraphDebugInfo.
std::map<std::string, std::string> ReadSites(std::string_view bytes) {
  namespace Info = pb::GraphDebugInfo;
  std::map<std::string, std::string> sites;
  const Result<OwnedMessage> info = ParseMessage(Info::Descriptor(), bytes, {.borrow = true});
  if (!info.ok()) return sites;
  const auto files = (*info)->Repeated<std::string_view>(Info::kFiles);
  for (const Message* entry : (*info)->Messages(Info::kTraces)) {
    const auto frames = entry->GetMessage(pb::kMapValue).Messages(Info::StackTrace::kFileLineCols);
    if (frames.empty()) continue;
    const Message& frame = *frames[0];
    const auto file = static_cast<size_t>(frame.GetInt(Info::FileLineCol::kFileIndex));
    if (file >= files.size()) continue;
    std::string site(files[file]);
    if (const int64_t line = frame.GetInt(Info::FileLineCol::kLine); line > 0)
      site += ":" + std::to_string(line);
    if (const auto function = frame.GetString(Info::FileLineCol::kFunc); !function.empty())
      site += " in " + std::string(function);
    sites[std::string(entry->GetString(pb::kMapKey))] = std::move(site);
  }
  return sites;
}

void ReadGraph(std::string_view bytes, Trace* trace) {
  std::map<std::string, std::string> sites;
  std::vector<PartitionNode> nodes;
  std::map<std::string_view, size_t> votes;
  WireField field;
  for (WireFields graph(bytes); graph.Next(&field);) {
    if (field.number == pb::GraphDef::kDebugInfo && IsText(field)) sites = ReadSites(field.bytes);
    if (field.number != pb::GraphDef::kNode || !IsText(field)) continue;
    nodes.push_back(ReadNode(field.bytes, &trace->texts));
    const std::string_view place = nodes.back().Place(trace->texts[nodes.back().facts.op]);
    if (!place.empty()) ++votes[place];
  }
  const uint32_t device = DeviceOf(*trace, votes);
  if (device == UINT32_MAX) return;
  for (PartitionNode& node : nodes) {
    if (!node.edge.empty() && IsUtf8(node.edge) && IsUtf8(node.from) && IsUtf8(node.to)) {
      node.facts.edge = trace->texts.Add(node.edge);
      node.facts.from = trace->AddDevice(node.from);
      node.facts.to = trace->AddDevice(node.to);
    }
    if (const auto site = sites.find(std::string(node.name)); site != sites.end()) {
      node.facts.site = trace->texts.Add(site->second);
    }
    NodeFacts& facts = trace->facts[Trace::NodeKey(device, trace->texts.Add(node.name))];
    if (facts.op == 0 || facts.from_label) facts = std::move(node.facts);
  }
}

}  // namespace

SpanKind SpanKindOf(std::string_view op) {
  if (op == "_Send" || op == "_HostSend" || op == "Send") return SpanKind::kSend;
  if (op == "_Recv" || op == "_HostRecv" || op == "Recv") return SpanKind::kReceive;
  return SpanKind::kNode;
}

std::string_view NodeOfEdge(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  return input.substr(0, input.rfind(':'));
}

void ReadPartitions(std::string_view metadata, Trace* trace) {
  WireField field, inner;
  for (WireFields fields(metadata); fields.Next(&field);) {
    if (!IsText(field)) continue;
    if (field.number == pb::RunMetadata::kPartitionGraphs) ReadGraph(field.bytes, trace);
    if (field.number != pb::RunMetadata::kFunctionGraphs) continue;
    for (WireFields graphs(field.bytes); graphs.Next(&inner);) {
      if (inner.number == pb::RunMetadata::FunctionGraphs::kPartitionGraphs && IsText(inner)) {
        ReadGraph(inner.bytes, trace);
      }
    }
  }
}

}  // namespace thalweg
