// SPDX-License-Identifier: Apache-2.0
// WorkBudget: until when, for whom and how much one piece of work may go on that no kernel does:
// the compilation of a step. Whoever does it says what it visits, and stops at the first error.
//
//   WorkBudget budget(
//       {.what = "it was still being compiled", .clock = &clock, .timeout = timeout});
//   RETURN_IF_ERROR(budget.Begin("folding constants"));
//   for (const Node* node : nodes) RETURN_IF_ERROR(budget.Visit(1 + node->num_inputs()));
//
// Ownership: points at the clock, the cancellations and the texts of its limits, which outlive it.
// Threads: one at a time.
// Errors: DeadlineExceeded, the reason of a cancellation; both say what was going on. The first one
// stays. Counts what was visited, for tests and limits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/deadline.h"

namespace thalweg {

class WorkBudget {
 public:
  struct Limits {
    std::string_view what;  // "it was still being compiled"
    const Clock* clock = nullptr;
    std::chrono::nanoseconds timeout{0};  // 0: none
    std::chrono::nanoseconds spent{0};    // of it, until now
    // Either ends the work; may be null.
    std::array<CancellationManager*, 2> cancellations = {};
  };

  WorkBudget() = default;  // no limit
  explicit WorkBudget(const Limits& limits)
      : limits_(limits),
        deadline_(limits.timeout.count() > 0
                      ? Deadline::After(*limits.clock, limits.timeout - limits.spent)
                      : Deadline::Never()) {}

  // What is done from now on.
  Status Begin(std::string_view phase) {
    phase_ = phase;
    return Look();
  }
  // `count` more nodes, edges or values were looked at.
  Status Visit(int64_t count = 1) {
    visited_ += count;
    return visited_ < next_look_ ? error_ : Look();
  }
  // Looks whatever was visited.
  Status Look() {
    next_look_ = visited_ + kBetweenLooks;
    if (!error_.ok()) return error_;
    for (const CancellationManager* cancellation : limits_.cancellations) {
      if (cancellation == nullptr || !cancellation->IsCancelled()) continue;
      const Status reason = cancellation->Reason();
      error_ = Status(reason.code(), StrCat(reason.message(), " (", Where(), ")"));
      return error_;
    }
    if (!deadline_.IsNever() && deadline_.HasPassed(*limits_.clock)) {
      error_ = DeadlineExceeded("the step did not end within ",
                                std::chrono::duration<double, std::milli>(limits_.timeout).count(),
                                " ms: ", Where());
    }
    return error_;
  }

  int64_t visited() const { return visited_; }
  const Limits& limits() const { return limits_; }
  Deadline deadline() const { return deadline_; }

 private:
  static constexpr int64_t kBetweenLooks = 256;

  std::string Where() const {
    return StrCat(limits_.what, ": ", phase_, ", after ", visited_, " nodes and edges");
  }

  Limits limits_;
  Deadline deadline_;
  std::string_view phase_;
  int64_t visited_ = 0;
  int64_t next_look_ = 0;
  Status error_;
};

// As long as it lives, whoever ends the work ends `end` too: of a part that waits or computes.
class BudgetCancellation {
 public:
  BudgetCancellation(const WorkBudget* work, CancellationManager& end)
      : first_(Of(work, 0), [&end](const Status& reason) { end.Cancel(reason); }),
        second_(Of(work, 1), [&end](const Status& reason) { end.Cancel(reason); }) {}

 private:
  static CancellationManager* Of(const WorkBudget* work, size_t i) {
    return work == nullptr ? nullptr : work->limits().cancellations[i];
  }

  ScopedCancellation first_;
  ScopedCancellation second_;
};

}  // namespace thalweg
