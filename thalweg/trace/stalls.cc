// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/stalls.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "thalweg/base/str_cat.h"
#include "thalweg/trace/busy_time.h"
#include "thalweg/trace/lost_processor.h"
#include "thalweg/trace/percent.h"

namespace thalweg {
namespace {

constexpr int64_t kLeastNanos = 20'000;
constexpr size_t kMostOfAKind = 20;

std::string PercentWords(int64_t part, int64_t whole) { return StrCat(Percent(part, whole), " %"); }

const char* RemedyOfOneNode(const std::string& op) {
  if (op == "PyFunc" || op == "PyFuncStateless" || op == "EagerPyFunc") {
    return "That is a function of the program's own: see what it waits for, or let operations of "
           "the graph do its work.";
  }
  return "Split that node (several smaller products, shards of a variable), or give its kernel "
         "more threads (intra_op_parallelism_threads).";
}

// How long one of the nodes that come by their start ran alone.
class SingleTime {
 public:
  void Add(int64_t start, int64_t end) {
    EndBy(start);
    if (ends_.size() == 1) total_ += start - before_;
    before_ = start;
    ends_.push(end);
  }
  int64_t Total() {
    EndBy(INT64_MAX);
    return total_;
  }

 private:
  void EndBy(int64_t moment) {
    for (; !ends_.empty() && ends_.top() <= moment; ends_.pop()) {
      if (ends_.size() == 1) total_ += ends_.top() - before_;
      before_ = ends_.top();
    }
  }

  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends_;  // of what runs
  int64_t before_ = 0;
  int64_t total_ = 0;
};

class StallSearch {
 public:
  StallSearch(const Trace& trace, uint32_t step, const std::vector<PathPart>& path)
      : trace_(trace),
        number_(step),
        step_(trace.steps[step]),
        path_(path),
        time_(std::max<int64_t>(step_.end - step_.begin, 1)),
        least_(std::max(time_ / 50, kLeastNanos)),
        busy_(BusyTimes(trace, step_)) {}

  std::vector<Stall> Run() {
    FindCommunication();
    FindStragglers();
    FindQueueing();
    if (!FindLockStep()) FindInputs();
    FindForeignLoad();
    FindLittleParallelism();
    std::stable_sort(stalls_.begin(), stalls_.end(), [](const Stall& a, const Stall& b) {
      const bool last_a = a.kind == StallKind::kParallelism,
                 last_b = b.kind == StallKind::kParallelism;
      return last_a != last_b ? last_b : a.lost > b.lost;
    });
    return std::move(stalls_);
  }

 private:
  const TraceSpan& At(int64_t span) const { return trace_.spans[static_cast<size_t>(span)]; }
  const std::string& DeviceName(uint32_t device) const { return trace_.devices[device].name; }

  void FindCommunication() {
    std::vector<Stall> found;
    for (size_t i = 0; i < trace_.transfers.size(); ++i) {
      const TraceTransfer& transfer = trace_.transfers[i];
      if (transfer.step != number_ || transfer.sent < 0) continue;
      const int64_t begin = std::max(transfer.sent, transfer.asked);
      const int64_t lost = std::max<int64_t>(transfer.arrived - begin, 0) -
                           busy_[transfer.to].Within(begin, transfer.arrived);
      if (lost < least_) continue;
      const TraceSpan& receiver = At(transfer.receiver);
      const std::string what =
          receiver.kind == SpanKind::kReceive ? trace_.NameOf(receiver) : "a Recv";
      Stall stall = Make(StallKind::kCommunication, lost, begin, transfer.arrived, transfer.to);
      stall.span = transfer.receiver;
      stall.transfer = static_cast<int64_t>(i);
      stall.sentence =
          StrCat(DeviceName(transfer.to), " waited ", DurationWords(lost), " in ", what, " for ",
                 transfer.bytes > 0 ? BytesWords(transfer.bytes) : std::string("a value"), " (",
                 trace_.texts[transfer.edge], ") that ", DeviceName(transfer.from),
                 " had sent already; nothing else ran there.");
      stall.remedy = transfer.bytes >= 100'000
                         ? "Send less (float16, a slice, a gradient that was summed first), put "
                           "the two nodes on one task, or see what the "
                           "network between the tasks can carry."
                         : "The value is small, so the way is slow: look at the network and at "
                           "what else these machines do, put the two nodes "
                           "on one task, or send several values as one.";
      found.push_back(std::move(stall));
    }
    Keep(std::move(found));
  }

  // The tasks of a job against each other.
  void FindStragglers() {
    struct TaskWork {
      uint32_t task = 0, device = 0;
      int64_t busy = 0;
    };
    std::vector<TaskWork> works(trace_.tasks.size());  // by task: of its busiest device
    for (uint32_t device = 0; device < trace_.devices.size(); ++device) {
      TaskWork& work = works[trace_.devices[device].task];
      const int64_t busy = busy_[device].total();
      if (busy > work.busy) work = {trace_.devices[device].task, device, busy};
    }
    std::map<std::string_view, std::vector<TaskWork>> jobs;
    for (const TaskWork& work : works) {
      const std::string_view name = trace_.tasks[work.task].name;
      if (work.busy > 0 && !name.empty()) jobs[name.substr(0, name.find('/', 1))].push_back(work);
    }
    for (auto& [job, tasks] : jobs) {
      if (tasks.size() < 2) continue;
      std::sort(tasks.begin(), tasks.end(),
                [](const TaskWork& a, const TaskWork& b) { return a.busy < b.busy; });
      const TaskWork& slow = tasks.back();
      const int64_t median = tasks[(tasks.size() - 1) / 2].busy;  // the slow one is no part of it
      const int64_t lost = slow.busy - median;
      if (lost < median / 5 || lost < std::max(time_ / 20, kLeastNanos)) continue;
      Stall stall = Make(StallKind::kStraggler, lost, step_.begin, step_.end, slow.device);
      stall.span = LongestOn(slow.device);
      stall.sentence = StrCat(
          trace_.tasks[slow.task].name, " computed for ", DurationWords(slow.busy), ", ",
          tasks.size() > 2 ? "the others of its job for about " : "the other task of its job for ",
          DurationWords(median), "; most of its time is in ", trace_.NameOf(At(stall.span)), " (",
          DurationWords(At(stall.span).end - At(stall.span).start), ").");
      stall.remedy =
          "See what else runs on its machine, and whether it is slower; give it less to do, or let "
          "a step end without "
          "the slowest (SyncReplicasOptimizer with replicas_to_aggregate below the number of "
          "replicas).";
      const TraceSpan& longest = At(stall.span);
      stall.begin = longest.start;
      stall.end = longest.end;
      Keep({std::move(stall)});
    }
  }

  // What of the critical path was spent ready, by device.
  void FindQueueing() {
    std::map<uint32_t, Stall> by_device;
    std::map<uint32_t, int64_t> worst;
    for (const PathPart& part : path_) {
      if (part.kind != PathKind::kQueue) continue;
      const uint32_t device = At(part.span).device;
      Stall& stall =
          by_device.try_emplace(device, Make(StallKind::kQueueing, 0, 0, 0, device)).first->second;
      stall.lost += part.end - part.begin;
      if (part.end - part.begin <= worst[device]) continue;
      worst[device] = part.end - part.begin;
      stall.begin = part.begin;
      stall.end = part.end;
      stall.span = part.span;
    }
    std::vector<Stall> found;
    for (auto& [device, stall] : by_device) {
      if (stall.lost < least_) continue;
      const bool is_full =
          busy_[device].Within(stall.begin, stall.end) * 2 > stall.end - stall.begin;
      stall.sentence = StrCat(
          "Nodes on the critical path were ready and waited ", DurationWords(stall.lost), " on ",
          DeviceName(device), "; ", trace_.NameOf(At(stall.span)), " longest, ",
          DurationWords(worst[device]),
          is_full ? ", while other nodes had its threads." : ", while nothing traced ran there.");
      stall.remedy =
          is_full
              ? "Give the device more threads where the machine has cores for them "
                "(inter_op_parallelism_threads), or let what is "
                "on the critical path not wait behind what is not: control edges, another device."
              : "Its thread was busy with something that is not in the trace: other steps, other "
                "programs, the kernel of another node "
                "that keeps every thread (intra_op_parallelism_threads).";
      found.push_back(std::move(stall));
    }
    Keep(std::move(found));
  }

  void FindForeignLoad() {
    for (const LostProcessor& lost : LostProcessors(trace_, number_, path_)) {
      if (lost.nanos < least_) continue;
      const TraceSpan& node = At(lost.span);
      Stall stall = Make(StallKind::kForeignLoad, lost.nanos, lost.begin, lost.end, node.device);
      stall.span = lost.span;
      stall.sentence =
          StrCat("Nodes on the critical path had no processor for ", DurationWords(lost.nanos),
                 ", ", PercentWords(lost.nanos, time_), " of the step, ", lost.times,
                 lost.times == 1 ? " time" : " times", ", on ", DeviceName(node.device), ", ",
                 trace_.NameOf(node), " longest, ", DurationWords(lost.end - lost.begin),
                 ": other threads ran in their place.");
      stall.remedy =
          "End what else runs on that machine, of this program or others (thalweg doctor says how "
          "much it is), or give the session no more threads than it has processors "
          "(intra_op_parallelism_threads).";
      Keep({std::move(stall)});
    }
  }

  // Time of a device in which nothing runs beside nodes that wait for input.
  void FindInputs() {
    struct Waits {
      BusyTime time;
      int64_t longest = 0, span = -1;
    };
    std::map<uint32_t, Waits> by_device;
    for (size_t i = step_.first; i < step_.last; ++i) {
      const TraceSpan& span = trace_.spans[i];
      if ((trace_.texts.OpRoles(span.op) & kTakesInput) == 0) continue;
      Waits& waits = by_device[span.device];
      waits.time.Add(span.start, span.end);
      if (waits.span >= 0 && span.end - span.start <= waits.longest) continue;
      waits.longest = span.end - span.start;
      waits.span = static_cast<int64_t>(i);
    }
    for (auto& [device, waits] : by_device) {
      waits.time.Finish();
      BusyTime both = waits.time;
      for (size_t i = step_.first; i < step_.last; ++i) {
        const TraceSpan& span = trace_.spans[i];
        if (span.device == device && IsBusy(trace_, span)) both.Add(span.start, span.end);
      }
      both.Finish();
      const int64_t lost = both.total() - busy_[device].total();
      if (lost < std::max(time_ / 10, kLeastNanos)) continue;
      const TraceSpan& longest = At(waits.span);
      Stall stall = Make(StallKind::kInput, lost, longest.start, longest.end, device);
      stall.span = waits.span;
      stall.sentence =
          StrCat(DeviceName(device), " waited ", DurationWords(lost), ", ",
                 PercentWords(lost, time_), " of the step, for input in ", trace_.NameOf(longest),
                 " (", trace_.OpOf(longest), "); nothing else ran there.");
      stall.remedy =
          "Make input faster or earlier: prefetch at the end of the pipeline, num_parallel_calls "
          "in map, interleave over "
          "several files, more threads of a QueueRunner, decoded data in a cache.";
      Keep({std::move(stall)});
    }
  }

  // Whether there is one: then who takes waits for no slow input.
  bool FindLockStep() {
    struct Side {
      int64_t waited = 0, longest = 0, span = -1;
      size_t times = 0;
      void Add(int64_t time, size_t at) {
        waited += time;
        ++times;
        if (time < longest) return;
        longest = time;
        span = static_cast<int64_t>(at);
      }
    };
    Side fills, takes;
    for (size_t i = step_.first; i < step_.last; ++i) {
      const TraceSpan& span = trace_.spans[i];
      const uint8_t roles = trace_.texts.OpRoles(span.op);
      if ((roles & kEnqueues) != 0) fills.Add(span.end - span.start, i);
      if ((roles & kDequeues) != 0) takes.Add(span.end - span.start, i);
    }
    const int64_t least = std::max(time_ / 10, kLeastNanos);
    if (fills.times < 3 || takes.times < 3 || fills.waited < least || takes.waited < least)
      return false;
    const TraceSpan& taker = At(takes.span);
    Stall stall = Make(StallKind::kLockStep, std::min(fills.waited, takes.waited), taker.start,
                       taker.end, taker.device);
    stall.span = takes.span;
    stall.sentence = StrCat(trace_.NameOf(At(fills.span)), " waited ", DurationWords(fills.waited),
                            " in ", fills.times, " calls for room in its queue, and ",
                            trace_.NameOf(taker), " ", DurationWords(takes.waited), " in ",
                            takes.times, " calls for elements: they run in lock step.");
    stall.remedy =
        "Give the queue room for several steps (capacity), so that one goes on while the other is "
        "late.";
    Keep({std::move(stall)});
    return true;
  }

  void FindLittleParallelism() {
    SingleTime single_time;
    size_t nodes = 0;
    int64_t longest = -1;
    for (size_t i = step_.first; i < step_.last; ++i) {
      const TraceSpan& span = trace_.spans[i];
      if (!IsBusy(trace_, span) || span.end == span.start) continue;
      single_time.Add(span.start, span.end);
      ++nodes;
      if (longest < 0 || span.end - span.start > At(longest).end - At(longest).start)
        longest = static_cast<int64_t>(i);
    }
    int64_t lanes = 0;
    for (const TraceDevice& device : trace_.devices) lanes += device.lanes;
    if (nodes < 4 || lanes < 2) return;
    const int64_t single = single_time.Total();
    if (Percent(single, time_) < 60) return;
    const TraceSpan& node = At(longest);
    Stall stall =
        Make(StallKind::kParallelism, single - single / lanes, node.start, node.end, node.device);
    stall.span = longest;
    const int64_t own = node.end - node.start;
    const bool is_one_node = own * 2 > time_;
    stall.sentence = is_one_node
                         ? StrCat(trace_.NameOf(node), " alone takes ", DurationWords(own), ", ",
                                  PercentWords(own, time_), " of the step, on ",
                                  DeviceName(node.device), "; little else can run beside it.")
                         : StrCat("For ", PercentWords(single, time_),
                                  " of the step a single node ran, though there are ", lanes,
                                  " lanes: the nodes wait for each other in a chain.");
    stall.remedy = is_one_node
                       ? RemedyOfOneNode(trace_.OpOf(node))
                       : "Let work that needs no result of the other run beside it: towers over "
                         "parts of the batch, fewer control edges; or make "
                         "the nodes of the chain larger, so that their kernels use all threads.";
    Keep({std::move(stall)});
  }

  Stall Make(StallKind kind, int64_t lost, int64_t begin, int64_t end, uint32_t device) const {
    return {
        .kind = kind, .step = number_, .lost = lost, .begin = begin, .end = end, .device = device};
  }

  int64_t LongestOn(uint32_t device) const {
    int64_t longest = -1;
    for (size_t i = step_.first; i < step_.last; ++i) {
      const TraceSpan& span = trace_.spans[i];
      if (span.device != device || !IsBusy(trace_, span)) continue;
      if (longest < 0 || span.end - span.start > At(longest).end - At(longest).start) {
        longest = static_cast<int64_t>(i);
      }
    }
    return longest;
  }

  void Keep(std::vector<Stall> found) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Stall& a, const Stall& b) { return a.lost > b.lost; });
    if (found.size() > kMostOfAKind) found.resize(kMostOfAKind);
    for (Stall& stall : found) stalls_.push_back(std::move(stall));
  }

  const Trace& trace_;
  const uint32_t number_;
  const TraceStep& step_;
  const std::vector<PathPart>& path_;
  const int64_t time_, least_;
  std::vector<BusyTime> busy_;  // by device
  std::vector<Stall> stalls_;
};

}  // namespace

const char* StallKindName(StallKind kind) {
  switch (kind) {
    case StallKind::kCommunication:
      return "communication";
    case StallKind::kStraggler:
      return "straggler";
    case StallKind::kQueueing:
      return "queueing";
    case StallKind::kInput:
      return "input";
    case StallKind::kLockStep:
      return "lock step";
    case StallKind::kForeignLoad:
      return "foreign load";
    case StallKind::kParallelism:
      return "parallelism";
  }
  return "";
}

std::vector<BusyTime> BusyTimes(const Trace& trace, const TraceStep& step) {
  std::vector<BusyTime> busy(trace.devices.size());
  for (size_t i = step.first; i < step.last; ++i) {
    const TraceSpan& span = trace.spans[i];
    if (IsBusy(trace, span)) busy[span.device].Add(span.start, span.end);
  }
  for (BusyTime& each : busy) each.Finish();
  return busy;
}

bool IsBusy(const Trace& trace, const TraceSpan& span) {
  return span.kind == SpanKind::kNode && !trace.IsWaitingOp(span);
}

std::vector<Stall> FindStalls(const Trace& trace, uint32_t step,
                              const std::vector<PathPart>& path) {
  return StallSearch(trace, step, path).Run();
}

}  // namespace thalweg
