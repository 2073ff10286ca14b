// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/dump.h"

#include <map>
#include <utility>

#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

std::string JsonList(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (size_t i = 0; i < texts.size(); ++i) {
    list += StrCat(i == 0 ? "" : ", ", JsonText(texts[i]));
  }
  return list + "]";
}

double Seconds(Clock::TimePoint from, Clock::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

using Parts = std::map<int64_t, std::vector<OpenStep>>;

// Takes the step's parts out.
std::string StepEntry(const StepSnapshot& step, Parts* parts) {
  std::vector<std::string> waiting;
  std::vector<std::string> running;
  bool computes = false;
  const auto found = parts->find(step.id);
  if (found != parts->end()) {
    for (OpenStep& part : found->second) {
      computes |= part.computes();
      for (std::string& node : part.waiting) waiting.push_back(std::move(node));
      for (std::string& node : part.running) running.push_back(std::move(node));
    }
    parts->erase(found);
  }
  return StrCat("{\"id\": ", step.id, ", \"by\": ", JsonText(step.way),
                ", \"session\": ", JsonText(step.begun ? step.session : ""),
                ", \"seconds\": ", std::chrono::duration<double>(step.age).count(),
                ", \"computing\": ", computes ? "true" : "false",
                ", \"running\": ", JsonList(running), ", \"waiting\": ", JsonList(waiting),
                ", \"asked\": ", JsonList(step.asked), ", \"rendezvous\": ", JsonList(step.values),
                "}");
}

}  // namespace

std::string MakeDump(const DumpSources& from) {
  const Clock::TimePoint now = from.environment.clock().Now();
  Parts parts;
  for (OpenStep& step : from.environment.open_steps().List()) {
    parts[step.id].push_back(std::move(step));
  }
  const ProcessMemory memory = ReadProcessMemory();
  std::string text = StrCat("{\"task\": ", JsonText(from.task), ",\n \"pid\": ", OwnIdentity().pid,
                            ", \"resident_bytes\": ", memory.resident_bytes,
                            ", \"peak_bytes\": ", memory.peak_bytes, ",\n \"steps\": [");
  std::string_view before = "\n  ";
  for (const StepSnapshot& step : DescribeSteps(from.steps, from.channels, now)) {
    text += StrCat(before, StepEntry(step, &parts));
    before = ",\n  ";
  }
  // What is left runs in this task alone.
  for (const auto& [id, steps] : parts) {
    for (const OpenStep& step : steps) {
      text +=
          StrCat(before, "{\"id\": ", id, ", \"computing\": ", step.computes() ? "true" : "false",
                 ", \"running\": ", JsonList(step.running),
                 ", \"waiting\": ", JsonList(step.waiting), "}");
      before = ",\n  ";
    }
  }
  text += "],\n \"calls\": [";
  before = "\n  ";
  for (const OpenCalls::Call& call : from.calls.List()) {
    text += StrCat(before, "{\"method\": ", JsonText(call.method),
                   ", \"seconds\": ", Seconds(call.since, now), "}");
    before = ",\n  ";
  }
  return StrCat(text, "],\n \"tasks\": ", JsonList(from.health.Describe()), "}\n");
}

}  // namespace thalweg
