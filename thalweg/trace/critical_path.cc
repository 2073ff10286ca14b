// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/critical_path.h"

#include <algorithm>
#include <unordered_set>

#include "thalweg/trace/span_index.h"

namespace thalweg {
namespace {

class PathWalk {
 public:
  PathWalk(const Trace& trace, uint32_t step)
      : trace_(trace), step_(trace.steps[step]), index_(trace, step), cursor_(step_.end) {}

  std::vector<PathPart> Run() {
    int64_t span = LastSpan();
    while (span >= 0 && seen_.insert(span).second) span = Before(span);
    Add(PathKind::kStart, step_.begin, first_, -1);
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
  }

 private:
  const TraceSpan& At(int64_t span) const { return trace_.spans[static_cast<size_t>(span)]; }

  int64_t LastSpan() const {
    size_t last = step_.first;
    for (size_t i = step_.first; i < step_.last; ++i) {
      if (trace_.spans[i].end > trace_.spans[last].end) last = i;
    }
    return static_cast<int64_t>(last);
  }

  // What is on the path from `begin` to the cursor, which moves there.
  void Add(PathKind kind, int64_t begin, int64_t span, int64_t transfer) {
    begin = std::max(begin, step_.begin);
    if (begin >= cursor_) return;
    parts_.push_back(
        {.kind = kind, .begin = begin, .end = cursor_, .span = span, .transfer = transfer});
    cursor_ = begin;
  }

  // Puts the span on the path; what is before it, or -1.
  int64_t Before(int64_t span) {
    first_ = span;
    const TraceSpan& of = At(span);
    if (of.kind == SpanKind::kReceive || of.kind == SpanKind::kTransfer) {
      const int64_t transfer = index_.TransferOf(span);
      if (transfer >= 0) return BeforeTransfer(transfer, span);
      Add(PathKind::kTransfer, of.start, span, -1);
      return index_.LastOnTask(trace_.devices[of.device].task, of.start);
    }
    Add(trace_.IsWaitingOp(of) ? PathKind::kInput : PathKind::kNode, of.start, span, -1);
    return BeforeStart(span);
  }

  // Whatever let a node start.
  int64_t BeforeStart(int64_t span) {
    const TraceSpan& of = At(span);
    const SpanCause cause = index_.CauseOf(span);
    if (cause.found()) {
      Add(PathKind::kQueue, cause.end, span, -1);
      return cause.span >= 0 ? cause.span : BeforeTransfer(cause.transfer, -1);
    }
    if (!index_.KnowsInputsOf(span)) {
      const int64_t before = index_.LastOnTask(trace_.devices[of.device].task, of.start);
      if (before >= 0 && before != span) {
        // A gap in which nothing is known to run: perhaps it waited for its thread.
        Add(PathKind::kQueue, At(before).end, span, -1);
        return before;
      }
      return -1;
    }
    // It waits for nothing, so it was ready when its task began.
    Add(PathKind::kQueue, std::min(of.scheduled, BeginOf(trace_.devices[of.device].task)), span,
        -1);
    return -1;
  }

  int64_t BeginOf(uint32_t task) const {
    int64_t begin = step_.end;
    for (size_t i = step_.first; i < step_.last; ++i) {
      const TraceSpan& span = trace_.spans[i];
      if (trace_.devices[span.device].task == task) begin = std::min(begin, span.start);
    }
    return begin;
  }

  int64_t BeforeTransfer(int64_t number, int64_t receiver) {
    const TraceTransfer& transfer = trace_.transfers[static_cast<size_t>(number)];
    if (receiver < 0) receiver = transfer.receiver;
    if (transfer.sent < 0 || transfer.sender < 0) {
      Add(PathKind::kTransfer, transfer.asked, receiver, number);
      return -1;
    }
    Add(PathKind::kTransfer, transfer.sent, receiver, number);
    const TraceSpan& sender = At(transfer.sender);
    if (sender.kind != SpanKind::kSend) return transfer.sender;
    first_ = transfer.sender;
    return seen_.insert(transfer.sender).second ? BeforeStart(transfer.sender) : -1;
  }

  const Trace& trace_;
  const TraceStep& step_;
  const SpanIndex index_;
  int64_t cursor_;
  int64_t first_ = -1;
  std::unordered_set<int64_t> seen_;
  std::vector<PathPart> parts_;
};

}  // namespace

const char* PathKindName(PathKind kind) {
  switch (kind) {
    case PathKind::kNode:
      return "node";
    case PathKind::kInput:
      return "input";
    case PathKind::kTransfer:
      return "transfer";
    case PathKind::kQueue:
      return "queue";
    case PathKind::kStart:
      return "start";
  }
  return "";
}

std::vector<PathPart> CriticalPath(const Trace& trace, uint32_t step) {
  return PathWalk(trace, step).Run();
}

}  // namespace thalweg
