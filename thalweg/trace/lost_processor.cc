// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/lost_processor.h"

#include <algorithm>
#include <map>

namespace thalweg {
namespace {

std::vector<TraceSwitch> SwitchesOf(const Trace& trace, int64_t span) {
  const TraceSpan& node = trace.spans[static_cast<size_t>(span)];
  const auto is_before = [&](const TraceSwitch& each, int64_t at) {
    return each.step != node.step ? each.step < node.step : each.begin < at;
  };
  std::vector<TraceSwitch> found;
  for (auto each =
           std::lower_bound(trace.switches.begin(), trace.switches.end(), node.start, is_before);
       each != trace.switches.end() && each->step == node.step && each->begin < node.end; ++each) {
    if (each->is_preempted && each->span == span) found.push_back(*each);
  }
  return found;
}

}  // namespace

std::vector<LostProcessor> LostProcessors(const Trace& trace, uint32_t step,
                                          const std::vector<PathPart>& path) {
  std::map<uint32_t, LostProcessor> by_task;
  for (const PathPart& part : path) {
    if (part.kind != PathKind::kNode || part.span < 0) continue;
    const TraceSpan& node = trace.spans[static_cast<size_t>(part.span)];
    if (node.step != step) continue;
    for (const TraceSwitch& each : SwitchesOf(trace, part.span)) {
      const int64_t begin = std::max(each.begin, part.begin), end = std::min(each.end, part.end);
      if (begin >= end) continue;
      const uint32_t task = trace.devices[node.device].task;
      LostProcessor& lost = by_task[task];
      lost.task = task;
      lost.nanos += end - begin;
      ++lost.times;
      if (end - begin <= lost.end - lost.begin) continue;
      lost.begin = begin;
      lost.end = end;
      lost.span = part.span;
    }
  }
  std::vector<LostProcessor> all;
  for (const auto& [task, lost] : by_task) all.push_back(lost);
  return all;
}

}  // namespace thalweg
