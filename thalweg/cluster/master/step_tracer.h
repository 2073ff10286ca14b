// SPDX-License-Identifier: Apache-2.0
// StepTracer: what the tasks of a traced step tell of it: their nodes with the answers of RunGraph,
// what they received from each other through Logging, as TensorFlow's masters ask.
//
//   StepTracer tracer(peers, steps, tasks, id, request);     // before the parts start
//   std::optional<OwnedMessage>* answer = tracer.PlaceFor(i);  // of task i; null: not wanted
//   tracer.Finish();                                         // when all have ended
//
// Ownership: what it is made with outlives it.
// Threads: one, but for the places, each of which a thread of its own may fill.
// Errors: none: what a task does not tell is missing in the trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/steps/rpc_rendezvous.h"
#include "thalweg/session/partition_runner.h"

namespace thalweg {

class StepTracer {
 public:
  // Without `stats` in the request the step is not traced, and this does nothing. All outlive the
  // tracer.
  StepTracer(WorkerClients& peers, RpcStepTable& steps, std::vector<std::string> tasks, int64_t id,
             const StepRequest& request);
  // For the RunGraphResponse of a task, also one that says why it failed; null when it is not
  // wanted.
  std::optional<OwnedMessage>* PlaceFor(size_t task) {
    return stats_ == nullptr ? nullptr : &answers_[task];
  }
  void Finish();

 private:
  // One call to each of the tasks, all at once.
  std::vector<Result<OwnedMessage>> Ask(const std::vector<std::string>& tasks,
                                        const Message& request, const RpcCallOptions& options);
  void Add(const Message& told);

  WorkerClients& peers_;
  RpcStepTable& steps_;
  const std::vector<std::string> tasks_;
  const int64_t id_;
  StepStats* const stats_;
  RpcCallOptions options_;                            // of calls that the step waits for
  std::vector<std::optional<OwnedMessage>> answers_;  // by task; none: it has not answered
};

}  // namespace thalweg
