// SPDX-License-Identifier: Apache-2.0
// RpcStepRunner: steps by TensorFlow's calls: one RunGraph a remote part, with its feeds and
// fetches inside; what the parts send each other they ask each other for (RecvTensor).
//
//   RpcStepRunner runner(context, parts);
//   runner.RunAsync(request, [](Status status) { ... });     // or Run, which waits
//
// Ownership: the parts and what the context names outlive it.
// Threads: as StepRunner; the callback of RunAsync comes on a thread of the background.
// Errors: as StepRunner.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "thalweg/cluster/master/step_runner.h"

namespace thalweg {

class RpcStepRunner : public StepRunner {
 public:
  // `parts` outlive the runner.
  RpcStepRunner(const RunnerContext& context, StepParts& parts)
      : context_(context), parts_(parts) {}

  Status Run(const StepRequest& request) override;
  // Returns when the step has begun; `done` is called once, by a thread of the background.
  void RunAsync(const StepRequest& request, std::function<void(Status)> done);

 private:
  struct Step;
  void BeginAsync(const StepRequest& request, std::function<void(Status)> done);
  Result<std::shared_ptr<Step>> Begin(const StepRequest& request);
  // Whether steps of other sessions are one with it, and told of by SharedSteps.
  bool IsShared() const;
  Result<int64_t> NumberOf(Step& step);
  // Gives back the number of a step that has ended.
  void EndNumber(const StepRequest& request, int64_t id, bool ok);
  void StartAll(Step& step);
  void Start(Step& step, const RemotePart& part, std::optional<OwnedMessage>* stats);
  Status Take(const Step& step, const RemotePart& part, const Result<OwnedMessage>& response);
  StepRequest HereRequest(Step& step) const;
  Status End(Step& step);
  // `why`: what others hear who ask for the step later; ok: that it has ended.
  void Cleanup(int64_t id, const Status& why);

  const RunnerContext context_;
  StepParts& parts_;
};

}  // namespace thalweg
