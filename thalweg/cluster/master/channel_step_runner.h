// SPDX-License-Identifier: Apache-2.0
// ChannelStepRunner: steps through channels: START and DONE, and tensors that are pushed
// (StepService). A traced step is the same one: its parts tell of their run on edges of their own.
//
//   ChannelStepRunner runner(context, parts, std::move(remote_parts), edges);
//   if (request.stats == nullptr || runner.knows_traces()) return runner.Run(request);
//
// Ownership: the parts and what the context names outlive it.
// Threads: as StepRunner: Run from any, several at once.
// Errors: as StepRunner.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/cluster/master/step_runner.h"
#include "thalweg/cluster/steps/step_coordinator.h"
#include "thalweg/cluster/transport/hello.h"

namespace thalweg {

class ChannelStepRunner : public StepRunner {
 public:
  // `remote`: as ChannelPlanner has marked them, in the order of `parts.remote`; `edges`: of the
  // parts of this task. `parts` outlive the runner.
  ChannelStepRunner(const RunnerContext& context, StepParts& parts,
                    std::vector<RemoteStepPart> remote, std::shared_ptr<const ChannelEdges> edges)
      : context_(context), parts_(parts), remote_(std::move(remote)), edges_(std::move(edges)) {}

  // Whether all tasks can tell of a step.
  bool knows_traces() const;
  Status Run(const StepRequest& request) override;

 private:
  Status RunHere(const StepRequest& request, ChannelRendezvous& step);
  Status AddTraces(std::span<const Tensor> told, const StepRequest& request);

  const RunnerContext context_;
  StepParts& parts_;
  const std::vector<RemoteStepPart> remote_;
  const std::shared_ptr<const ChannelEdges> edges_;
};

}  // namespace thalweg
