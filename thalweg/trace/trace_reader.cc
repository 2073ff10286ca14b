// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace_reader.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "thalweg/base/mapped_file.h"
#include "thalweg/trace/clocks.h"
#include "thalweg/trace/lanes.h"
#include "thalweg/trace/recording_file.h"
#include "thalweg/trace/step_stats_reader.h"
#include "thalweg/trace/told_part.h"
#include "thalweg/trace/transfers.h"

namespace thalweg {
namespace {

constexpr int64_t kLongGap = int64_t{60} * 1'000'000'000;

// A large file is mapped, and what has been read of it takes no memory: its spans do.
Status AddFile(FileSystem& fs, const std::string& path, StepStatsReader* reader) {
  const Result<FileInfo> info = fs.Stat(path);
  if (info.ok() && !info->is_directory && info->size >= kLeastMapped) {
    // Not every file system maps files: such a file is read as a small one is.
    if (const auto file = MappedFile::Open(path); file.ok()) {
      Status status = ReadRecording(path, (*file)->bytes(), reader,
                                    [&](std::string_view part) { (*file)->Forget(part); });
      if ((*file)->Check().ok()) return status;
      // What was cut short reads as zeros.
      return DataLoss(path,
                      ": expected a file that stays as it is while it is read, found that it "
                      "was written into or cut short meanwhile: read it again");
    }
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(fs, path));
  return ReadRecording(path, bytes, reader);
}

// Files become steps: in order, those that overlap as one.
void GroupSteps(Trace* trace) {
  struct Window {
    int64_t begin = INT64_MAX, end = INT64_MIN;
  };
  std::vector<Window> windows;
  for (const TraceSpan& span : trace->spans) {
    if (span.step >= windows.size()) windows.resize(span.step + 1);
    Window& window = windows[span.step];
    window.begin = std::min(window.begin, span.scheduled);
    window.end = std::max(window.end, span.end);
  }
  std::vector<uint32_t> order(windows.size()), step_of(windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return windows[a].begin < windows[b].begin; });
  trace->begin_nanos = order.empty() ? 0 : windows[order.front()].begin;
  uint32_t steps = 0;
  int64_t end = INT64_MIN;
  for (const uint32_t file : order) {
    if (windows[file].begin >= end) ++steps;
    step_of[file] = steps - 1;
    end = std::max(end, windows[file].end);
  }
  for (TraceSpan& span : trace->spans) {
    span.step = step_of[span.step];
    span.scheduled -= trace->begin_nanos;
    span.start -= trace->begin_nanos;
    span.end -= trace->begin_nanos;
  }
  for (TraceSwitch& each : trace->switches) {
    each.step = step_of[each.step];
    each.begin -= trace->begin_nanos;
    each.end -= trace->begin_nanos;
  }
  for (TraceLeftOut& left : trace->left_out) {
    left.step = step_of[left.step];
    left.begin -= trace->begin_nanos;
    left.until -= trace->begin_nanos;
  }
}

// Where a span goes from, and what it is sorted by.
struct SpanPlace {
  int64_t start;
  uint32_t step, from;
  bool operator<(const SpanPlace& other) const {
    return std::tie(step, start, from) < std::tie(other.step, other.start, other.from);
  }
};

// Of a step by their start. Empty: they are in order.
std::vector<SpanPlace> OrderOf(const std::vector<TraceSpan>& spans) {
  std::vector<SpanPlace> order;
  order.reserve(spans.size());
  AskForLargePages(order.data(), spans.size() * sizeof(SpanPlace));
  for (const TraceSpan& span : spans) {
    order.push_back({span.start, span.step, static_cast<uint32_t>(order.size())});
  }
  if (std::is_sorted(order.begin(), order.end())) return {};
  std::sort(order.begin(), order.end());
  return order;
}

// Spans are large: their order is found first, then each is moved once. Switches follow theirs.
void PutInOrder(std::vector<TraceSpan>* spans, std::vector<TraceSwitch>* switches) {
  std::vector<SpanPlace> order = OrderOf(*spans);
  if (!switches->empty() && !order.empty()) {
    std::vector<uint32_t> place_of(order.size());
    for (uint32_t to = 0; to < order.size(); ++to) place_of[order[to].from] = to;
    for (TraceSwitch& each : *switches) each.span = place_of[each.span];
  }
  for (uint32_t first = 0; first < order.size(); ++first) {
    if (order[first].from == first) continue;
    const TraceSpan moved = (*spans)[first];
    uint32_t to = first;
    for (uint32_t from = order[to].from; from != first; from = order[to].from) {
      (*spans)[to] = (*spans)[from];
      order[to].from = to;
      to = from;
    }
    (*spans)[to] = moved;
    order[to].from = to;
  }
}

void SortSpans(Trace* trace) {
  PutInOrder(&trace->spans, &trace->switches);
  std::stable_sort(trace->switches.begin(), trace->switches.end(),
                   [](const TraceSwitch& a, const TraceSwitch& b) {
                     return a.step != b.step ? a.step < b.step : a.begin < b.begin;
                   });
  trace->steps.clear();
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    const TraceSpan& span = trace->spans[i];
    if (trace->steps.size() <= span.step) {
      trace->steps.push_back({.first = i, .last = i, .begin = span.scheduled, .end = span.end});
    }
    TraceStep& step = trace->steps.back();
    step.last = i + 1;
    step.begin = std::min(step.begin, span.scheduled);
    step.end = std::max(step.end, span.end);
  }
  for (TraceStep& step : trace->steps) {
    step.recorded_begin = step.begin;
    step.recorded_end = step.end;
  }
}

// A step in which nothing ran for minutes is one whose clock was set meanwhile, or stood still.
void NoteLongGaps(Trace* trace) {
  for (const TraceStep& step : trace->steps) {
    int64_t end = trace->spans[step.first].end;
    for (size_t i = step.first; i < step.last; ++i) {
      const TraceSpan& span = trace->spans[i];
      if (span.start - end > kLongGap) {
        trace->notes.push_back("Nothing ran for " + DurationWords(span.start - end) + " before " +
                               trace->NameOf(span) + ": a clock jumped, or the step stood still.");
      }
      end = std::max(end, span.end);
    }
  }
}

// What a stream of a device says of itself without a task belongs to the only task there is.
void JoinOnlyTask(Trace* trace) {
  if (trace->tasks.size() != 2) return;
  const size_t without = trace->tasks[0].name.empty() ? 0 : 1;
  if (!trace->tasks[without].name.empty()) return;
  trace->tasks.erase(trace->tasks.begin() + static_cast<ptrdiff_t>(without));
  trace->task_numbers = {{trace->tasks[0].name, 0}};
  for (TraceDevice& device : trace->devices) device.task = 0;
}

}  // namespace

Result<std::unique_ptr<Trace>> ReadTrace(FileSystem& fs, const std::vector<std::string>& paths,
                                         bool with_memory) {
  if (paths.empty()) return InvalidArgument("there are no paths");
  auto trace = std::make_unique<Trace>();
  StepStatsReader reader(trace.get(), with_memory);
  for (const std::string& path : paths) RETURN_IF_ERROR(AddFile(fs, path, &reader));
  RETURN_IF_ERROR(FinishTrace(trace.get()));
  return trace;
}

Status FinishTrace(Trace* trace) {
  if (trace->spans.empty())
    return InvalidArgument("a trace needs at least one node with its times");
  GroupSteps(trace);
  JoinOnlyTask(trace);
  SortSpans(trace);
  PairTransfers(trace);
  if (AlignClocks(trace)) {
    SortSpans(trace);
    PairTransfers(trace);
  }
  if (CutToTold(trace)) {
    SortSpans(trace);
    PairTransfers(trace);
  }
  NoteLongGaps(trace);
  AssignLanes(trace);
  return OkStatus();
}

}  // namespace thalweg
