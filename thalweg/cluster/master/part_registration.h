// SPDX-License-Identifier: Apache-2.0
// PartRegistration: gives the parts of a step to their tasks (RegisterGraph), while the step is
// prepared.
//
//   PartRegistration registration(runner, request);
//   ASSIGN_OR_RETURN(PartRegistration::Registered parts, registration.RegisterAll());
//
// First for channels; where those cannot be had for all, once more for calls, which say what is
// wrong if anything is.
// Ownership: the runner and the request outlive it.
// Threads: one.
// Errors: of the task that did not take its part; why one was lost, or the preparation's own end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/work_budget.h"
#include "thalweg/cluster/channels/channel_parts.h"
#include "thalweg/cluster/master/cluster_runner.h"

namespace thalweg {

class PartRegistration {
 public:
  // Both outlive it.
  PartRegistration(ClusterRunner& runner, const PrepareRequest& request)
      : runner_(runner), request_(request) {}

  struct Registered {
    std::vector<RemotePart> remote;
    bool exchanges_buffers = false;
    Status lacks_members;  // of the collective operations, where some are in other steps
    // Where the step goes through channels: those of `remote`, in their order, and the edges of the
    // parts of this task; else null.
    std::vector<RemoteStepPart> channel_parts;
    std::shared_ptr<const ChannelEdges> edges;
  };
  Result<Registered> RegisterAll();
  std::vector<StepPartition> PartsHere() const;

 private:
  bool IsHere(const StepPartition& part) const;
  std::string TaskOfPart(const StepPartition& part) const;
  // Members of collective operations run on tasks of TensorFlow's.
  bool HasForeignCollectives() const;
  Status RegisterForChannels();
  Status RegisterByCalls();
  // With a planner: to run through channels.
  Status Register(const StepPartition& part, ChannelPlanner* planner);
  // What is left of the caller's time, if that is less.
  std::chrono::nanoseconds Timeout() const;

  ClusterRunner& runner_;
  const PrepareRequest& request_;
  Registered registered_;
  bool is_lost_ = false;  // a task is, or the session was closed
};

}  // namespace thalweg
