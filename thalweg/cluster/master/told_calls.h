// SPDX-License-Identifier: Apache-2.0
// ToldCalls: the calls that run the parts of a recorded step. Where the step fails they are not
// cut off at once, as then nobody would hear what the parts have done: the tasks are told that the
// step has ended, which ends their parts, and have a second to answer.
//
//   ToldCalls calls(peers, steps, timer, {"/job:ps/replica:0/task:0"});
//   calls.Begin(id, &ends);                 // ends: cancelled with the step's first error
//   options.cancellation = calls.cancellation();  // of the calls of RunGraph
//   calls.End();                            // when all have been answered
//
// Ownership: what it is made with outlives it, and it outlives the calls.
// Threads: Begin and End from one; what ends the step from any.
// Errors: none; who does not answer in time tells nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/timer.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/steps/rpc_rendezvous.h"

namespace thalweg {

class ToldCalls {
 public:
  ToldCalls(WorkerClients& peers, const RpcStepTable& steps, Timer& timer,
            std::vector<std::string> tasks)
      : peers_(peers), steps_(steps), timer_(timer), tasks_(std::move(tasks)) {}
  ~ToldCalls() { End(); }

  void Begin(int64_t step, CancellationManager* ends);
  CancellationManager* cancellation() { return &calls_; }
  void End();

 private:
  void EndStep(int64_t step, const Status& why);

  WorkerClients& peers_;
  const RpcStepTable& steps_;  // for its clock
  Timer& timer_;
  const std::vector<std::string> tasks_;
  CancellationManager calls_;
  Timer::Entry cut_off_;  // written before ended_ ends
  ScopedCancellation ended_;
};

}  // namespace thalweg
