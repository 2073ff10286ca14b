// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/clocks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

namespace thalweg {
namespace {

// What must be added to the times of the second task so that they are on the clock of the first.
struct ClockBounds {
  std::optional<int64_t> least, most;

  bool both() const { return least && most; }
  bool contradict() const { return both() && *least > *most; }
  int64_t offset() const {
    if (both()) {
      if (*least <= 0 && *most >= 0) return 0;
      return *least + (*most - *least) / 2;
    }
    if (least) return std::max<int64_t>(0, *least);
    return most ? std::min<int64_t>(0, *most) : 0;
  }
  // -1: bounded on one side only.
  int64_t error() const {
    if (!both()) return -1;
    return std::max(std::abs(*most - offset()), std::abs(offset() - *least));
  }
};

using TaskPair = std::pair<uint32_t, uint32_t>;  // the smaller number first

std::map<TaskPair, ClockBounds> BoundsOf(const Trace& trace) {
  std::map<TaskPair, ClockBounds> bounds;
  for (const TraceTransfer& transfer : trace.transfers) {
    const uint32_t from = trace.devices[transfer.from].task, to = trace.devices[transfer.to].task;
    if (from == to || transfer.sent < 0) continue;
    const int64_t seen = transfer.arrived - transfer.sent;
    ClockBounds& pair = bounds[std::minmax(from, to)];
    if (from < to) {  // arrived + offset >= sent
      if (!pair.least || *pair.least < -seen) pair.least = -seen;
    } else {  // arrived >= sent + offset
      if (!pair.most || *pair.most > seen) pair.most = seen;
    }
  }
  return bounds;
}

void Note(Trace* trace, const TaskPair& pair, const ClockBounds& bounds) {
  const std::string names =
      trace->tasks[pair.first].name + " and " + trace->tasks[pair.second].name;
  if (bounds.contradict()) {
    trace->notes.push_back("The clocks of " + names +
                           " drifted apart or jumped: messages contradict " + "each other by " +
                           DurationWords(*bounds.least - *bounds.most) + ".");
  }
}

}  // namespace

bool AlignClocks(Trace* trace) {
  const size_t n = trace->tasks.size();
  const auto bounds = BoundsOf(*trace);
  for (const auto& [pair, bound] : bounds) Note(trace, pair, bound);
  // From the first task to its neighbors, over the pairs that are known best.
  std::vector<bool> is_set(n, false);
  is_set[0] = true;
  for (size_t done = 1; done < n; ++done) {
    const std::pair<const TaskPair, ClockBounds>* best = nullptr;
    const auto rank = [](const ClockBounds& b) { return b.error() < 0 ? INT64_MAX : b.error(); };
    for (const auto& each : bounds) {
      if (is_set[each.first.first] == is_set[each.first.second]) continue;
      if (best == nullptr || rank(each.second) < rank(best->second)) best = &each;
    }
    if (best == nullptr) break;
    const auto [a, b] = best->first;
    const int64_t offset = best->second.offset(), error = best->second.error();
    const uint32_t from = is_set[a] ? a : b, to = is_set[a] ? b : a;
    trace->tasks[to].offset_nanos =
        trace->tasks[from].offset_nanos + (is_set[a] ? offset : -offset);
    trace->tasks[to].error_nanos = error < 0 || trace->tasks[from].error_nanos < 0
                                       ? -1
                                       : error + trace->tasks[from].error_nanos;
    is_set[to] = true;
  }
  bool moved = false;
  for (size_t i = 0; i < n; ++i) {
    if (!is_set[i]) {
      trace->tasks[i].error_nanos = -1;
      trace->notes.push_back("The clock of " + trace->tasks[i].name +
                             " is taken as it is: no values went between it and the first task.");
    }
    moved |= trace->tasks[i].offset_nanos != 0;
  }
  if (!moved) return false;
  const auto offset_of = [&](uint32_t device) {
    return trace->tasks[trace->devices[device].task].offset_nanos;
  };
  for (TraceSpan& span : trace->spans) {
    const int64_t offset = offset_of(span.device);
    span.scheduled += offset;
    span.start += offset;
    span.end += offset;
  }
  for (TraceSwitch& each : trace->switches) {
    each.begin += offset_of(each.device);
    each.end += offset_of(each.device);
  }
  for (TraceLeftOut& left : trace->left_out) {
    left.begin += offset_of(left.device);
    left.until += offset_of(left.device);
  }
  return true;
}

}  // namespace thalweg
