// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/lanes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
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

// Groups of spans that share lanes: of a device its threads, then all that waits.
class LaneGroups {
 public:
  explicit LaneGroups(const Trace& trace) {
    std::vector<size_t> threads(trace.devices.size());
    for (const TraceSpan& span : trace.spans) {
      threads[span.device] = std::max<size_t>(threads[span.device], span.thread + size_t{1});
    }
    for (const size_t count : threads) {
      first_.push_back(size_);
      size_ += count + 1;
    }
    first_.push_back(size_);
  }
  size_t size() const { return size_; }
  size_t FirstOf(uint32_t device) const { return first_[device]; }
  size_t WaitingOf(uint32_t device) const { return first_[device + 1] - 1; }
  size_t Of(const TraceSpan& span) const {
    return IsWaiting(span) ? WaitingOf(span.device) : first_[span.device] + span.thread;
  }

 private:
  std::vector<size_t> first_;
  size_t size_ = 0;
};

}  // namespace

void AssignLanes(Trace* trace) {
  const LaneGroups groups(*trace);
  std::vector<LaneStack> stacks(groups.size());
  for (TraceSpan& span : trace->spans) {
    span.lane = stacks[groups.Of(span)].Put(span.start, span.end);
  }
  std::vector<uint32_t> first(groups.size());
  for (uint32_t i = 0; i < trace->devices.size(); ++i) {
    TraceDevice& device = trace->devices[i];
    device.lanes = 0;
    for (size_t group = groups.FirstOf(i); group <= groups.WaitingOf(i); ++group) {
      first[group] = device.lanes;
      if (group < groups.WaitingOf(i)) device.lanes += stacks[group].used();
    }
    device.receive_lanes = stacks[groups.WaitingOf(i)].used();
  }
  for (TraceSpan& span : trace->spans) span.lane += first[groups.Of(span)];
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
