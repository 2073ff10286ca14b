// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/lanes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace thalweg {
namespace {

// Lanes of spans that come by start: the lowest that is free.
class LaneStack {
 public:
  uint32_t Put(int64_t start, int64_t end) {
    while (!busy_.empty() && busy_.top().first <= start) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    uint32_t lane = used_;
    if (free_.empty()) {
      ++used_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    // One that takes no time still has its place.
    busy_.push({end > start ? end : start + 1, lane});
    return lane;
  }
  uint32_t used() const { return used_; }

 private:
  using Busy = std::pair<int64_t, uint32_t>;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free_;
  uint32_t used_ = 0;
};

bool IsWaiting(const TraceSpan& span) {
  return span.kind == SpanKind::kReceive || span.kind == SpanKind::kTransfer;
}

}  // namespace

void AssignLanes(Trace* trace) {
  using Group = std::pair<uint32_t, uint32_t>;  // device; thread, or all that wait
  constexpr uint32_t kWaiting = UINT32_MAX;
  const auto group_of = [&](const TraceSpan& span) {
    return Group{span.device, IsWaiting(span) ? kWaiting : span.thread};
  };
  std::map<Group, LaneStack> stacks;
  for (TraceSpan& span : trace->spans) span.lane = stacks[group_of(span)].Put(span.start, span.end);
  std::map<Group, uint32_t> first;
  for (TraceDevice& device : trace->devices) device.lanes = device.receive_lanes = 0;
  for (const auto& [group, stack] : stacks) {  // by device, what waits last
    TraceDevice& device = trace->devices[group.first];
    first[group] = device.lanes;
    (group.second == kWaiting ? device.receive_lanes : device.lanes) += stack.used();
  }
  for (TraceSpan& span : trace->spans) span.lane += first[group_of(span)];
}

// Spans are nearly always by start: they are counted into their lanes, and a lane in which a clock
// that was moved left disorder is sorted.
std::vector<uint32_t> SpansByLane(const Trace& trace) {
  std::vector<size_t> lanes;  // before those of each device
  size_t count = 0;
  for (const TraceDevice& device : trace.devices) {
    lanes.push_back(count);
    count += device.lanes + device.receive_lanes;
  }
  std::vector<size_t> next(count + 1);  // where the next span of a lane goes
  const auto lane_of = [&](const TraceSpan& span) { return lanes[span.device] + span.lane; };
  for (const TraceSpan& span : trace.spans) ++next[lane_of(span) + 1];
  for (size_t lane = 0; lane < count; ++lane) next[lane + 1] += next[lane];
  std::vector<uint32_t> order(trace.spans.size());
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    order[next[lane_of(trace.spans[i])]++] = static_cast<uint32_t>(i);
  }
  const auto less = [&](uint32_t a, uint32_t b) {
    return trace.spans[a].start < trace.spans[b].start;
  };
  size_t first = 0;
  for (size_t lane = 0; lane < count; ++lane) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(next[lane]);
    if (!std::is_sorted(begin, end, less)) std::stable_sort(begin, end, less);
    first = next[lane];
  }
  return order;
}

}  // namespace thalweg
