// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/task_metrics.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

constexpr size_t kShownWords = 5;

using Parts = std::vector<OpenStep>;

// Takes what the step has here out of the list.
void TakeParts(int64_t id, Parts* open, StepMetrics* step) {
  for (OpenStep& part : *open) {
    if (part.id != id) continue;
    std::ranges::move(part.waiting, std::back_inserter(step->waits));
    std::ranges::move(part.running, std::back_inserter(step->runs));
    part = {};
  }
}

// A step that a client asked for through a channel stands here beside the one that this task made
// of it, which has the words.
bool IsToldBefore(const StepMetrics& a, const StepMetrics& b) {
  const bool has_words = !a.runs.empty() || !a.waits.empty();
  if (has_words != (!b.runs.empty() || !b.waits.empty())) return has_words;
  return a.seconds > b.seconds;
}

// What is open at this moment.
void ReadSteps(const MetricsSources& from, TaskMetrics* metrics) {
  const DumpSources& now = from.now;
  Parts open = now.environment.open_steps().List();
  for (const OpenStep& step : open) metrics->waiting_nodes += step.waiting.size();
  std::vector<StepMetrics> steps;
  double oldest = metrics->steps.oldest_seconds.value_or(0);
  for (StepSnapshot& snapshot :
       DescribeSteps(now.steps, now.channels, now.environment.clock().Now())) {
    metrics->waiting_values += snapshot.num_asked;
    if (!snapshot.begun) continue;
    StepMetrics& step = steps.emplace_back();
    step.id = snapshot.id;
    step.seconds = std::chrono::duration<double>(snapshot.age).count();
    step.session = std::move(snapshot.session);
    step.waits = std::move(snapshot.asked);
    TakeParts(step.id, &open, &step);
    oldest = std::max(oldest, step.seconds);
  }
  if (metrics->steps.oldest_seconds.has_value()) {  // those that run in this task alone
    StepMetrics& rest = steps.emplace_back();
    for (OpenStep& step : open) {
      std::ranges::move(step.waiting, std::back_inserter(rest.waits));
      std::ranges::move(step.running, std::back_inserter(rest.runs));
    }
  }
  if (steps.empty()) return;
  StepMetrics& told = *std::ranges::min_element(steps, IsToldBefore);
  told.seconds = std::max(told.seconds, oldest);
  told.waits.resize(std::min(told.waits.size(), kShownWords));
  told.runs.resize(std::min(told.runs.size(), kShownWords));
  metrics->oldest.push_back(std::move(told));
}

void Write(const char* name, const StepCounter::Values& steps, JsonWriter* json) {
  json->Key(name).BeginObject();
  json->Key("done").Number(steps.done).Key("failed").Number(steps.failed);
  json->Key("open").Number(steps.open).Key("seconds").Number(steps.seconds);
  json->Key("oldest_seconds");
  if (steps.oldest_seconds.has_value()) {
    json->Number(*steps.oldest_seconds);
  } else {
    json->Null();
  }
  json->EndObject();
}

void Write(const char* name, const std::vector<std::string>& texts, JsonWriter* json) {
  json->Key(name).BeginList();
  for (const std::string& text : texts) json->Text(text);
  json->EndList();
}

}  // namespace

TaskMetrics ReadMetrics(const MetricsSources& from) {
  const DumpSources& now = from.now;
  Environment& environment = now.environment;
  TaskMetrics metrics;
  metrics.task = now.task;
  metrics.pid = OwnIdentity().pid;
  metrics.uptime_seconds =
      std::chrono::duration<double>(environment.clock().Now() - from.begun).count();
  metrics.steps = from.steps.Read();
  metrics.parts = from.parts.Read();
  ReadSteps(from, &metrics);
  metrics.calls = now.calls.num_calls();
  metrics.open_calls = now.calls.List().size();
  ChannelHub& hub = now.channels.hub();
  metrics.channels = hub.num_open();
  metrics.channel_sent = hub.traffic().sent();
  metrics.channel_received = hub.traffic().received();
  metrics.call_sent = now.calls.traffic().sent() + from.peers.traffic().sent();
  metrics.call_received = now.calls.traffic().received() + from.peers.traffic().received();
  metrics.memory = environment.allocator()->Stats();
  metrics.process_memory = ReadProcessMemory();
  metrics.process = ReadProcessUse();
  metrics.sessions = from.sessions;
  metrics.graphs = from.graphs;
  for (const auto& device : environment.devices()) {
    metrics.devices.push_back({.name = device->full_name(),
                               .type = device->type(),
                               .memory = device->allocator().Stats()});
  }
  for (const std::string& task : from.peers.Others()) {
    metrics.others.push_back({.name = task, .address = from.peers.AddressOf(task)});
  }
  return metrics;
}

std::string MetricsJson(const TaskMetrics& metrics) {
  JsonWriter json;
  json.BeginObject();
  json.Key("task").Text(metrics.task).Key("pid").Number(metrics.pid);
  json.Key("uptime_seconds").Number(metrics.uptime_seconds);
  Write("steps", metrics.steps, &json);
  Write("parts", metrics.parts, &json);
  json.Key("oldest_step");
  if (metrics.oldest.empty()) json.Null();
  for (const StepMetrics& step : metrics.oldest) {
    json.BeginObject().Key("id").Number(step.id).Key("seconds").Number(step.seconds);
    json.Key("session").Text(step.session);
    Write("runs", step.runs, &json);
    Write("waits", step.waits, &json);
    json.EndObject();
  }
  json.Key("waiting_values").Number(metrics.waiting_values);
  json.Key("waiting_nodes").Number(metrics.waiting_nodes);
  json.Key("calls").Number(metrics.calls).Key("open_calls").Number(metrics.open_calls);
  json.Key("channels").Number(metrics.channels);
  json.Key("channel_sent_bytes").Number(metrics.channel_sent);
  json.Key("channel_received_bytes").Number(metrics.channel_received);
  json.Key("call_sent_bytes").Number(metrics.call_sent);
  json.Key("call_received_bytes").Number(metrics.call_received);
  json.Key("tensor_bytes").Number(metrics.memory.bytes_in_use);
  json.Key("tensor_peak_bytes").Number(metrics.memory.peak_bytes_in_use);
  json.Key("kept_bytes").Number(metrics.memory.bytes_kept);
  json.Key("tensor_limit_bytes").Number(metrics.memory.limit);
  json.Key("resident_bytes").Number(metrics.process_memory.resident_bytes);
  json.Key("peak_bytes").Number(metrics.process_memory.peak_bytes);
  json.Key("threads").Number(metrics.process.threads);
  json.Key("processor_seconds").Number(metrics.process.processor_seconds);
  json.Key("sessions").Number(metrics.sessions).Key("graphs").Number(metrics.graphs);
  json.Key("devices").BeginList();
  for (const DeviceMetrics& device : metrics.devices) {
    json.BeginObject().Key("name").Text(device.name).Key("type").Text(device.type);
    json.Key("bytes").Number(device.memory.bytes_in_use);
    json.Key("limit_bytes").Number(device.memory.limit).EndObject();
  }
  json.EndList().Key("others").BeginList();
  for (const TaskAddress& other : metrics.others) {
    json.BeginObject().Key("task").Text(other.name);
    json.Key("address").Text(other.address).EndObject();
  }
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
