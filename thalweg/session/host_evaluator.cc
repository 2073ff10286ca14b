// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/host_evaluator.h"

#include "thalweg/base/cancellation.h"
#include "thalweg/kernel/lone_call.h"

namespace thalweg {

namespace {

// Cancels `end` when the time is over.
class EvaluationTimeout {
 public:
  EvaluationTimeout(Timer& timer, Deadline deadline, CancellationManager& end)
      : timer_(timer), entry_(timer.Add(deadline, [&end] { end.Cancel(); })) {}
  EvaluationTimeout(const EvaluationTimeout&) = delete;
  EvaluationTimeout& operator=(const EvaluationTimeout&) = delete;
  ~EvaluationTimeout() {
    if (entry_.id != 0) timer_.Remove(entry_);
  }

 private:
  Timer& timer_;
  const Timer::Entry entry_;
};

}  // namespace

Result<std::vector<Tensor>> HostEvaluator::Evaluate(const Node& node,
                                                    std::span<const Tensor> inputs,
                                                    WorkBudget* work) {
  Device& device = *environment_.devices().front();
  ASSIGN_OR_RETURN(const KernelEntry* entry, environment_.kernels().Find(node, device.type()));
  if (entry->is_async || entry->keeps_state) {
    return Unimplemented(node.Label(), " cannot be evaluated outside a step");
  }
  CancellationManager cancellation;
  const BudgetCancellation cancelled_with(work, cancellation);
  const EvaluationTimeout timeout(
      environment_.timer(), work == nullptr ? Deadline::Never() : work->deadline(), cancellation);
  LoneCall call(device, environment_.isa(), cancellation);
  ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                   environment_.kernels().Make(node, device, call.resources()));
  return call.Compute(*kernel, inputs, node.num_outputs());
}

}  // namespace thalweg
