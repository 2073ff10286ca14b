// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/busy_time.h"

namespace thalweg {
namespace {

constexpr size_t kMostParts = 2000, kMostOps = 20, kMostWaits = 50;

void AddWaits(const Trace& trace, const std::vector<BusyTime>& busy, TraceSummary* summary) {
  std::map<std::pair<uint32_t, uint32_t>, DeviceWait> waits;
  for (const TraceTransfer& transfer : trace.transfers) {
    if (transfer.step != summary->step || transfer.sent < 0) continue;
    const int64_t sent =
        std::clamp(transfer.sent, std::min(transfer.asked, transfer.arrived), transfer.arrived);
    DeviceWait& wait = waits[{transfer.to, transfer.from}];
    wait.device = transfer.to;
    wait.for_device = transfer.from;
    ++wait.values;
    wait.bytes += transfer.bytes;
    const BusyTime& own = busy[transfer.to];
    // Several at once: the longest counts, sums would be longer than the step.
    wait.unsent = std::max(wait.unsent, sent - transfer.asked - own.Within(transfer.asked, sent));
    wait.on_way =
        std::max(wait.on_way, transfer.arrived - sent - own.Within(sent, transfer.arrived));
  }
  for (const auto& [key, wait] : waits) summary->waits.push_back(wait);
  std::stable_sort(summary->waits.begin(), summary->waits.end(),
                   [](const DeviceWait& a, const DeviceWait& b) {
                     return a.unsent + a.on_way > b.unsent + b.on_way;
                   });
}

void AddSwitches(const Trace& trace, TraceSummary* summary) {
  for (const TraceSwitch& each : trace.switches) {
    if (each.step != summary->step) continue;
    DeviceUse& use = summary->devices[each.device];
    (each.is_preempted ? use.taken : use.waited) += each.end - each.begin;
    ++(each.is_preempted ? use.times_taken : use.times_waited);
  }
}

void WriteLeftOut(const Trace& trace, const TraceSummary& summary, JsonWriter* json) {
  json->Key("left_out").BeginList();
  for (const TraceLeftOut& left : trace.left_out) {
    if (left.step != summary.step || left.executions == 0) continue;
    json->BeginObject().Key("device").Text(trace.devices[left.device].name);
    json->Key("executions").Number(left.executions);
    json->Key("nanos").Number(left.until - left.begin).Key("until_nanos").Number(left.until);
    json->Key("nodes").BeginList();
    for (size_t i = 0; i < std::min(left.nodes.size(), kMostOps); ++i) {
      json->BeginObject().Key("node").Text(trace.texts[left.nodes[i].first]);
      json->Key("executions").Number(left.nodes[i].second).EndObject();
    }
    json->EndList().EndObject();
  }
  json->EndList();
}

void WriteSpan(const Trace& trace, int64_t number, JsonWriter* json) {
  if (number < 0) return;
  const TraceSpan& span = trace.spans[static_cast<size_t>(number)];
  json->Key("node").Text(trace.NameOf(span)).Key("op").Text(trace.OpOf(span));
  json->Key("device").Text(trace.devices[span.device].name);
  json->Key("at")
      .BeginList()
      .Number(span.device)
      .Number(span.lane)
      .Number(span.start)
      .Number(span.end)
      .EndList();
}

void WriteTransfer(const Trace& trace, int64_t number, JsonWriter* json) {
  if (number < 0) return;
  const TraceTransfer& transfer = trace.transfers[static_cast<size_t>(number)];
  json->Key("edge")
      .Text(trace.texts[transfer.edge])
      .Key("from")
      .Text(trace.devices[transfer.from].name);
  json->Key("to").Text(trace.devices[transfer.to].name).Key("bytes").Number(transfer.bytes);
}

void WriteTasks(const Trace& trace, const TraceSummary& summary, JsonWriter* json) {
  json->Key("tasks").BeginList();
  for (const TraceTask& task : trace.tasks) {
    json->BeginObject().Key("task").Text(task.name).Key("offset_nanos").Number(task.offset_nanos);
    json->Key("error_nanos");
    task.error_nanos < 0 ? json->Null() : json->Number(task.error_nanos);
    json->EndObject();
  }
  json->EndList();
  const TraceStep& step = trace.steps[summary.step];
  const auto time = static_cast<double>(std::max<int64_t>(step.end - step.begin, 1));
  json->Key("devices").BeginList();
  for (const DeviceUse& use : summary.devices) {
    const TraceDevice& device = trace.devices[use.device];
    json->BeginObject().Key("device").Text(device.name).Key("task").Text(trace.TaskOf(use.device));
    json->Key("nodes")
        .Number(use.nodes)
        .Key("busy_nanos")
        .Number(use.busy)
        .Key("work_nanos")
        .Number(use.work);
    json->Key("utilization").Number(static_cast<double>(use.busy) / time);
    if (use.times_taken + use.times_waited > 0) {
      json->Key("no_processor").BeginObject().Key("taken_nanos").Number(use.taken);
      json->Key("times_taken").Number(use.times_taken).Key("waited_nanos").Number(use.waited);
      json->Key("times_waited").Number(use.times_waited).EndObject();
    }
    json->Key("lanes")
        .Number(device.lanes)
        .Key("receive_lanes")
        .Number(device.receive_lanes)
        .EndObject();
  }
  json->EndList();
}

void WritePath(const Trace& trace, const TraceSummary& summary, JsonWriter* json) {
  std::array<int64_t, 5> sums{};
  for (const PathPart& part : summary.path)
    sums[static_cast<size_t>(part.kind)] += part.end - part.begin;
  json->Key("where").BeginObject();
  for (size_t i = 0; i < sums.size(); ++i) {
    json->Key(PathKindName(static_cast<PathKind>(i))).Number(sums[i]);
  }
  json->EndObject()
      .Key("critical_path_parts")
      .Number(summary.path.size())
      .Key("critical_path")
      .BeginList();
  const size_t skipped = summary.path.size() - std::min(summary.path.size(), kMostParts);
  for (size_t i = skipped; i < summary.path.size(); ++i) {
    const PathPart& part = summary.path[i];
    json->BeginObject().Key("kind").Text(PathKindName(part.kind));
    json->Key("begin_nanos").Number(part.begin).Key("end_nanos").Number(part.end);
    WriteSpan(trace, part.span, json);
    WriteTransfer(trace, part.transfer, json);
    json->EndObject();
  }
  json->EndList();
}

void WriteStalls(const Trace& trace, const TraceSummary& summary, JsonWriter* json) {
  json->Key("stalls").BeginList();
  for (const Stall& stall : summary.stalls) {
    json->BeginObject()
        .Key("kind")
        .Text(StallKindName(stall.kind))
        .Key("lost_nanos")
        .Number(stall.lost);
    json->Key("begin_nanos").Number(stall.begin).Key("end_nanos").Number(stall.end);
    json->Key("sentence").Text(stall.sentence).Key("remedy").Text(stall.remedy);
    WriteSpan(trace, stall.span, json);
    WriteTransfer(trace, stall.transfer, json);
    json->EndObject();
  }
  json->EndList();
}

void WriteWaits(const Trace& trace, const TraceSummary& summary, JsonWriter* json) {
  json->Key("waits").BeginList();
  for (size_t i = 0; i < std::min(summary.waits.size(), kMostWaits); ++i) {
    const DeviceWait& wait = summary.waits[i];
    json->BeginObject().Key("device").Text(trace.devices[wait.device].name);
    json->Key("for").Text(trace.devices[wait.for_device].name).Key("values").Number(wait.values);
    json->Key("bytes").Number(wait.bytes).Key("unsent_nanos").Number(wait.unsent);
    json->Key("on_way_nanos").Number(wait.on_way).EndObject();
  }
  json->EndList().Key("ops").BeginList();
  for (size_t i = 0; i < std::min(summary.ops.size(), kMostOps); ++i) {
    const OpUse& op = summary.ops[i];
    json->BeginObject().Key("op").Text(trace.texts[op.op]).Key("calls").Number(op.calls);
    json->Key("work_nanos").Number(op.work).EndObject();
  }
  json->EndList();
}

}  // namespace

uint32_t SlowestStep(const Trace& trace) {
  const auto time = [](const TraceStep& step) { return step.end - step.begin; };
  const auto slowest =
      std::max_element(trace.steps.begin(), trace.steps.end(),
                       [&](const TraceStep& a, const TraceStep& b) { return time(a) < time(b); });
  return static_cast<uint32_t>(slowest - trace.steps.begin());
}

TraceSummary Summarize(const Trace& trace, uint32_t number) {
  TraceSummary summary{.step = number, .path = CriticalPath(trace, number)};
  summary.stalls = FindStalls(trace, number, summary.path);
  const TraceStep& step = trace.steps[number];
  const std::vector<BusyTime> busy = BusyTimes(trace, step);
  summary.devices.resize(trace.devices.size());
  for (uint32_t i = 0; i < summary.devices.size(); ++i) {
    summary.devices[i].device = i;
    summary.devices[i].busy = busy[i].total();
  }
  std::unordered_map<uint32_t, OpUse> ops;
  for (size_t i = step.first; i < step.last; ++i) {
    const TraceSpan& span = trace.spans[i];
    if (span.kind != SpanKind::kNode) continue;
    OpUse& op = ops[span.op];
    op.op = span.op;
    ++op.calls;
    op.work += span.end - span.start;
    DeviceUse& use = summary.devices[span.device];
    ++use.nodes;
    if (IsBusy(trace, span)) use.work += span.end - span.start;
  }
  for (const auto& [op, use] : ops) summary.ops.push_back(use);
  std::sort(summary.ops.begin(), summary.ops.end(), [](const OpUse& a, const OpUse& b) {
    return a.work != b.work ? a.work > b.work : a.op < b.op;
  });
  AddSwitches(trace, &summary);
  AddWaits(trace, busy, &summary);
  return summary;
}

std::string SummaryJson(const Trace& trace, const TraceSummary& summary) {
  JsonWriter json;
  json.BeginObject().Key("files").BeginList();
  for (const std::string& file : trace.files) json.Text(file);
  json.EndList().Key("begin_unix_nanos").Number(trace.begin_nanos);
  json.Key("nodes").Number(trace.spans.size()).Key("transfers").Number(trace.transfers.size());
  json.Key("step").Number(summary.step).Key("steps").BeginList();
  for (const TraceStep& step : trace.steps) {
    json.BeginObject()
        .Key("begin_nanos")
        .Number(step.begin)
        .Key("time_nanos")
        .Number(step.end - step.begin);
    json.Key("nodes").Number(step.last - step.first).EndObject();
  }
  json.EndList();
  WriteLeftOut(trace, summary, &json);
  WriteTasks(trace, summary, &json);
  WritePath(trace, summary, &json);
  WriteStalls(trace, summary, &json);
  WriteWaits(trace, summary, &json);
  json.Key("notes").BeginList();
  for (const std::string& note : trace.notes) json.Text(note);
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
