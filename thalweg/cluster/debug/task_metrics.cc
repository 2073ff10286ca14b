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

bool HasWords(const StepMetrics& step) { return !step.runs.empty() || !step.waits.empty(); }

// A step that a client asked for through a channel stands here beside the one that this task made
// of it, which has the words.
bool IsToldBefore(const StepMetrics& a, const StepMetrics& b) {
  if (HasWords(a) != HasWords(b)) return HasWords(a);
  return a.seconds > b.seconds;
}

// What is open at this moment.
void ReadSteps(const MetricsSources& from, TaskMetrics* metrics) {
  const DumpSources& now = from.now;
  Parts open = now.environment.open_steps().List();
  for (const OpenStep& step : open) metrics->waiting_nodes += step.waiting.size();
  std::vector<StepMetrics> steps;
  std::optional<double>& oldest = metrics->oldest_seconds;
  oldest = metrics->steps.oldest_seconds;
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
    oldest = std::max(oldest.value_or(0), step.seconds);
  }
  std::optional<StepMetrics> rest;  // those that run in this task alone
  if (metrics->steps.oldest_seconds.has_value()) {
    rest.emplace().seconds = *metrics->steps.oldest_seconds;
    for (OpenStep& step : open) {
      std::ranges::move(step.waiting, std::back_inserter(rest->waits));
      std::ranges::move(step.running, std::back_inserter(rest->runs));
    }
  }
  metrics->told_step = ToldStep(std::move(steps), std::move(rest));
  if (!metrics->told_step.has_value()) return;
  for (auto* words : {&metrics->told_step->waits, &metrics->told_step->runs}) {
    words->resize(std::min(words->size(), kShownWords));
  }
}

void Write(const char* name, const std::optional<double>& number, JsonWriter* json) {
  json->Key(name);
  if (number.has_value()) {
    json->Number(*number);
  } else {
    json->Null();
  }
}

void Write(const char* name, const StepCounter::Values& steps, JsonWriter* json) {
  json->Key(name).BeginObject();
  json->Key("done").Number(steps.done).Key("failed").Number(steps.failed);
  json->Key("open").Number(steps.open).Key("seconds").Number(steps.seconds);
  Write("oldest_seconds", steps.oldest_seconds, json);
  json->EndObject();
}

void Write(const char* name, const std::vector<std::string>& texts, JsonWriter* json) {
  json->Key(name).BeginList();
  for (const std::string& text : texts) json->Text(text);
  json->EndList();
}

}  // namespace

std::optional<StepMetrics> ToldStep(std::vector<StepMetrics> steps,
                                    std::optional<StepMetrics> rest) {
  const auto first = std::ranges::min_element(steps, IsToldBefore);
  if (first == steps.end()) return rest;
  const bool tells_rest = rest.has_value() && !HasWords(*first) && IsToldBefore(*rest, *first);
  return tells_rest ? std::move(rest) : std::move(*first);
}

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
  Write("oldest_seconds", metrics.oldest_seconds, &json);
  json.Key("oldest_step");
  if (!metrics.told_step.has_value()) {
    json.Null();
  } else {
    const StepMetrics& step = *metrics.told_step;
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
