// SPDX-License-Identifier: Apache-2.0
// The JSON of a TraceComparison.
#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/trace_comparison.h"

namespace thalweg {
namespace {

const char* KindName(SpanKind kind) {
  switch (kind) {
    case SpanKind::kNode:
      return "node";
    case SpanKind::kSend:
      return "send";
    case SpanKind::kReceive:
      return "receive";
    case SpanKind::kTransfer:
      return "transfer";
  }
  return "";
}

const char* SizeName(ChangeSize size) {
  switch (size) {
    case ChangeSize::kNone:
      return "none";
    case ChangeSize::kUnknown:
      return "unknown";
    case ChangeSize::kNoise:
      return "noise";
    case ChangeSize::kReal:
      return "real";
  }
  return "";
}

void WriteRange(const char* key, const StepMiddle& middle, JsonWriter* json) {
  json->Key(key).BeginList().Number(middle.low).Number(middle.high).EndList();
}

// Members of an object that is open.
void WriteChange(const TimeChange& change, JsonWriter* json) {
  json->Key("before_nanos").Number(change.before.median);
  json->Key("after_nanos").Number(change.after.median);
  json->Key("difference_nanos").Number(change.difference());
  WriteRange("before_middle_half", change.before, json);
  WriteRange("after_middle_half", change.after, json);
  json->Key("change").Text(SizeName(change.size));
}

void WriteSide(const char* key, const Trace& trace, JsonWriter* json) {
  json->Key(key).BeginObject().Key("files").BeginList();
  for (const std::string& file : trace.files) json->Text(file);
  json->EndList().Key("steps").BeginList();
  for (const TraceStep& step : trace.steps) {
    json->BeginObject().Key("time_nanos").Number(step.end - step.begin);
    json->Key("nodes").Number(step.last - step.first).EndObject();
  }
  json->EndList().Key("notes").BeginList();
  for (const std::string& note : trace.notes) json->Text(note);
  json->EndList().EndObject();
}

void WriteStall(const StallChange& stall, JsonWriter* json) {
  json->BeginObject().Key("kind").Text(StallKindName(stall.kind));
  json->Key("state").Text(stall.steps_before == 0  ? "came"
                          : stall.steps_after == 0 ? "gone"
                                                   : "stayed");
  json->Key("steps_before").Number(stall.steps_before);
  json->Key("steps_after").Number(stall.steps_after);
  WriteChange(stall.lost, json);
  json->Key("sentence").Text(stall.sentence).Key("remedy").Text(stall.remedy).EndObject();
}

void WriteNodes(const char* key, const std::vector<NodeChange>& nodes, JsonWriter* json) {
  json->Key(key).BeginList();
  for (const NodeChange& node : nodes) {
    json->BeginObject().Key("node").Text(node.node).Key("op").Text(node.op);
    json->Key("device").Text(node.device).Key("kind").Text(KindName(node.kind));
    if (!node.device_before.empty()) json->Key("device_before").Text(node.device_before);
    json->Key("calls_before").Number(node.calls_before);
    json->Key("calls_after").Number(node.calls_after);
    WriteChange(node.time, json);
    json->Key("critical_path").BeginObject();
    WriteChange(node.path, json);
    json->EndObject().EndObject();
  }
  json->EndList();
}

}  // namespace

std::string ComparisonJson(const Trace& before, const Trace& after,
                           const TraceComparison& comparison) {
  JsonWriter json;
  json.BeginObject().Key("sentence").Text(comparison.sentence);
  WriteSide("before", before, &json);
  WriteSide("after", after, &json);
  json.Key("time").BeginObject();
  WriteChange(comparison.time, &json);
  json.EndObject().Key("where").BeginObject();
  for (size_t i = 0; i < comparison.where.size(); ++i) {
    json.Key(PathKindName(static_cast<PathKind>(i))).BeginObject();
    WriteChange(comparison.where[i], &json);
    json.EndObject();
  }
  json.EndObject().Key("stalls").BeginList();
  for (const StallChange& stall : comparison.stalls) WriteStall(stall, &json);
  json.EndList();
  WriteNodes("nodes", comparison.nodes, &json);
  WriteNodes("only_before", comparison.only_before, &json);
  WriteNodes("only_after", comparison.only_after, &json);
  json.EndObject();
  return json.Take();
}

}  // namespace thalweg
