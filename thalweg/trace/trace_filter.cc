// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace_filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "thalweg/base/str_cat.h"
#include "thalweg/trace/lanes.h"

namespace thalweg {
namespace {

bool IsAny(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  });
}

// What may stand for "/job:worker/replica:0/task:0".
std::vector<std::string> NamesOfTask(const std::string& task) {
  const size_t job = task.find("/job:"), number = task.find("/task:");
  if (job != 0 || number == std::string::npos) return {task};
  const std::string name = task.substr(5, task.find('/', 5) - 5);
  return {task, "/job:" + name, name, name + "/" + task.substr(number + 6)};
}

class Filtering {
 public:
  Filtering(const TraceFilter& filter, Trace* trace) : filter_(filter), trace_(*trace) {}

  Status Run() {
    RETURN_IF_ERROR(Check());
    for (const TraceTask& task : trace_.tasks) {
      const std::vector<std::string> names = NamesOfTask(task.name);
      is_task_.push_back(filter_.tasks.empty() ||
                         std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                           return IsAny(filter_.tasks, name);
                         }));
    }
    if (!filter_.nodes.empty()) {
      for (size_t i = 0; i < trace_.texts.size(); ++i) {
        is_name_.push_back(IsAny(filter_.nodes, trace_.texts[static_cast<uint32_t>(i)]));
      }
    }
    const size_t spans = trace_.spans.size(), steps = trace_.steps.size();
    TakeSpans();
    if (trace_.spans.empty()) return NothingLeft(spans);
    TakeTransfers();
    trace_.memory.EraseNodesIf(
        [&](const ExecutionMemories::Node& node) { return !IsTask(node.device); });
    AssignLanes(&trace_);
    trace_.notes.push_back(StrCat("A filter left ", trace_.spans.size(), " of ", spans,
                                  " nodes and transfers, in ", trace_.steps.size(), " of ", steps,
                                  steps == 1 ? " step." : " steps."));
    return OkStatus();
  }

 private:
  Status Check() const {
    if (filter_.from_nanos < filter_.to_nanos) return OkStatus();
    return InvalidArgument("expected a window of time that begins before it ends, found one from ",
                           DurationWords(filter_.from_nanos), " to ",
                           DurationWords(filter_.to_nanos));
  }

  bool IsTask(uint32_t device) const { return is_task_[trace_.devices[device].task]; }
  bool Stays(const TraceSpan& span) const {
    return IsTask(span.device) && span.end - span.start >= filter_.min_nanos &&
           span.bytes >= filter_.min_bytes && span.end >= filter_.from_nanos &&
           span.start < filter_.to_nanos &&
           (is_name_.empty() || is_name_[span.name] || (span.edge != 0 && is_name_[span.edge]));
  }

  void TakeSpans() {
    place_.assign(trace_.spans.size(), -1);
    std::vector<TraceStep> steps;
    std::vector<int64_t> number_of(trace_.steps.size(), -1);
    size_t kept = 0;
    for (size_t was = 0; was < trace_.steps.size(); ++was) {
      const TraceStep& step = trace_.steps[was];
      TraceStep left = step;
      left.first = kept;
      left.begin = INT64_MAX;
      left.end = INT64_MIN;
      std::unordered_map<uint64_t, TraceLastRun> taken;
      for (size_t i = step.first; i < step.last; ++i) {
        const TraceSpan span = trace_.spans[i];
        if (!Stays(span)) {
          if (trace_.memory.empty() || !IsTask(span.device)) continue;
          TraceLastRun& last = taken[Trace::NodeKey(span.device, span.name)];
          last = {span.device, span.name, std::max(last.end, span.end)};
          continue;
        }
        left.begin = std::min(left.begin, span.scheduled);
        left.end = std::max(left.end, span.end);
        place_[i] = static_cast<int64_t>(kept);
        trace_.spans[kept] = span;
        trace_.spans[kept++].step = static_cast<uint32_t>(steps.size());
      }
      left.last = kept;
      if (left.last == left.first) continue;
      number_of[was] = static_cast<int64_t>(steps.size());
      for (const auto& [node, last] : taken) left.taken.push_back(last);
      steps.push_back(std::move(left));
    }
    trace_.spans.resize(kept);
    trace_.steps = std::move(steps);
    TakeSwitches(number_of);
    std::erase_if(trace_.left_out, [&](const TraceLeftOut& left) {
      return number_of[left.step] < 0 || !IsTask(left.device);
    });
    for (TraceLeftOut& left : trace_.left_out) {
      left.step = static_cast<uint32_t>(number_of[left.step]);
    }
  }

  // Of the nodes that stay.
  void TakeSwitches(const std::vector<int64_t>& number_of) {
    std::erase_if(trace_.switches, [&](const TraceSwitch& each) { return place_[each.span] < 0; });
    for (TraceSwitch& each : trace_.switches) {
      each.span = static_cast<uint32_t>(place_[each.span]);
      each.step = static_cast<uint32_t>(number_of[each.step]);
    }
  }

  // Those whose arrival is seen.
  void TakeTransfers() {
    std::vector<TraceTransfer> left;
    for (TraceTransfer transfer : trace_.transfers) {
      if (transfer.receiver < 0) continue;
      transfer.receiver = place_[static_cast<size_t>(transfer.receiver)];
      if (transfer.receiver < 0) continue;
      if (transfer.sender >= 0) transfer.sender = place_[static_cast<size_t>(transfer.sender)];
      transfer.step = trace_.spans[static_cast<size_t>(transfer.receiver)].step;
      left.push_back(transfer);
    }
    trace_.transfers = std::move(left);
  }

  Status NothingLeft(size_t spans) const {
    std::string tasks;
    for (const TraceTask& task : trace_.tasks) {
      if (!task.name.empty()) tasks += (tasks.empty() ? "" : ", ") + task.name;
    }
    return InvalidArgument("the filter leaves none of ", spans, " nodes and transfers",
                           tasks.empty() ? "" : " of the tasks ", tasks, ", within ",
                           DurationWords(whole_), " of the trace");
  }

  const TraceFilter& filter_;
  Trace& trace_;
  std::vector<bool> is_task_, is_name_;
  std::vector<int64_t> place_;  // of each span; -1: it goes
  const int64_t whole_ = trace_.steps.empty() ? 0 : trace_.steps.back().end;
};

}  // namespace

Status FilterTrace(const TraceFilter& filter, Trace* trace) {
  return filter.empty() ? OkStatus() : Filtering(filter, trace).Run();
}

}  // namespace thalweg
