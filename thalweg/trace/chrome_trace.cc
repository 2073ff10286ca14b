// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/chrome_trace.h"

#include <cstdio>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/told_part.h"

namespace thalweg {
namespace {

// Exactly, with three digits.
std::string Micros(int64_t nanos) {
  char text[40];
  std::snprintf(text, sizeof(text), "%s%lld.%03lld", nanos < 0 ? "-" : "",
                static_cast<long long>(nanos < 0 ? -nanos : nanos) / 1000,
                static_cast<long long>(nanos < 0 ? -nanos : nanos) % 1000);
  return text;
}

void WriteEvent(const char* phase, const TraceSpan& span, int64_t at, JsonWriter* json) {
  json->BeginObject()
      .Key("ph")
      .Text(phase)
      .Key("pid")
      .Number(span.device)
      .Key("tid")
      .Number(span.lane);
  json->Key("ts").Literal(Micros(at));
}

void WriteFlow(const Trace& trace, const TraceTransfer& transfer, size_t id, JsonWriter* json) {
  if (transfer.sender < 0 || transfer.receiver < 0) return;
  const std::string& name = trace.texts[transfer.edge];
  const TraceSpan& sender = trace.spans[static_cast<size_t>(transfer.sender)];
  const TraceSpan& receiver = trace.spans[static_cast<size_t>(transfer.receiver)];
  WriteEvent("s", sender, transfer.sent, json);
  json->Key("cat").Text("transfer").Key("name").Text(name).Key("id").Number(id).EndObject();
  WriteEvent("f", receiver, transfer.arrived, json);
  json->Key("bp").Text("e").Key("cat").Text("transfer").Key("name").Text(name);
  json->Key("id").Number(id).EndObject();
}

}  // namespace

std::string ChromeTrace(const Trace& trace) {
  JsonWriter json;
  json.BeginObject().Key("displayTimeUnit").Text("ns").Key("traceEvents").BeginList();
  for (size_t i = 0; i < trace.devices.size(); ++i) {
    json.BeginObject().Key("ph").Text("M").Key("name").Text("process_name").Key("pid").Number(i);
    json.Key("args").BeginObject().Key("name").Text(trace.devices[i].name).EndObject().EndObject();
  }
  for (const TraceLeftOut& left : trace.left_out) {
    json.BeginObject().Key("ph").Text("i").Key("s").Text("p").Key("pid").Number(left.device);
    json.Key("tid").Number(0).Key("ts").Literal(Micros(left.until));
    json.Key("name").Text(LeftOutWords(left)).EndObject();
  }
  for (const TraceSpan& span : trace.spans) {
    WriteEvent("X", span, span.start, &json);
    json.Key("dur").Literal(Micros(span.end - span.start));
    json.Key("cat").Text(span.kind == SpanKind::kNode ? "node" : "transfer");
    json.Key("name").Text(span.op == 0 ? trace.NameOf(span) : trace.OpOf(span));
    json.Key("args")
        .BeginObject()
        .Key("name")
        .Text(trace.NameOf(span))
        .Key("step")
        .Number(span.step);
    if (span.edge != 0) json.Key("edge").Text(trace.texts[span.edge]);
    if (span.bytes != 0) json.Key("bytes").Number(span.bytes);
    if (span.scheduled < span.start) {
      json.Key("waited_us").Literal(Micros(span.start - span.scheduled));
    }
    json.EndObject().EndObject();
  }
  for (size_t i = 0; i < trace.transfers.size(); ++i)
    WriteFlow(trace, trace.transfers[i], i, &json);
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
