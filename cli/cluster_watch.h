// SPDX-License-Identifier: Apache-2.0
// ClusterWatch: the tasks of a cluster, what each told last, and what that makes in a second.
//
//   ClusterWatch watch({"grpc://127.0.0.1:2222"});
//   for (const std::string& target : watch.Unasked()) watch.Take(target, Ask(target), now);
//   const Json report = watch.Report(now);
//
// A task names the others of its cluster, which are watched from then on, each once, however many
// name it. One that comes back as another process begins anew.
// Ownership: a value.
// Threads: one.
// Errors: what a task does not tell is left out; one that does not answer, or not as a server does,
// is a row that says why and since when.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "file_work.h"

namespace cli {

// What a server said, or why it did not.
struct TaskAnswer {
  Json told;          // null: it did not answer
  std::string error;  // then
};

class ClusterWatch {
 public:
  explicit ClusterWatch(const std::vector<std::string>& targets);

  // Begins a round.
  void Begin();
  // Those that were not asked in this round: also those that answers have named.
  std::vector<std::string> Unasked() const;
  // `now` in seconds, of a clock that never goes back.
  void Take(const std::string& target, const TaskAnswer& answer, double now);
  bool any_answers() const;
  // {"tasks": [{"task", "target", "state": "up" | "devices" | "gone", ...}]}: rates from the last
  // two answers, the last answer itself as "told".
  Json Report(double now) const;

 private:
  struct Row {
    std::string target;
    std::string task;  // empty: it has not been said
    bool asked = false;
    Json last, before;  // null: none
    std::string error;  // of the last round; empty: it has answered
    double since = 0;   // it does not answer
  };
  // Rows of those that its last answer names and that are in no row yet.
  std::vector<Row> Met(const Row& by) const;
  static Json RowOf(const Row& row, double now);

  std::vector<Row> rows_;
};

}  // namespace cli
