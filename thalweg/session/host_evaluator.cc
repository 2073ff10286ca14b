// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/host_evaluator.h"

#include "thalweg/base/cancellation.h"
#include "thalweg/base/floating_point.h"
#include "thalweg/kernel/caught_exception.h"
#include "thalweg/kernel/kernel_execution.h"

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
  ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                   environment_.kernels().Make(node, device, resources_));
  CancellationManager cancellation;
  const BudgetCancellation cancelled_with(work, cancellation);
  const EvaluationTimeout timeout(
      environment_.timer(), work == nullptr ? Deadline::Never() : work->deadline(), cancellation);
  InlineQueue queue;
  KernelExecution loops(environment_.isa(), nullptr, device.allocator(), &cancellation);
  ResourceManager step_resources;
  StepContext step;
  step.device = &device;
  step.allocator = &device.allocator();
  step.work = &loops;
  step.queue = &queue;
  step.cancellation = &cancellation;
  step.resources = &resources_;
  step.step_resources = &step_resources;

  std::vector<Tensor> values(inputs.begin(), inputs.end());
  values.resize(inputs.size() + static_cast<size_t>(node.num_outputs()));
  std::vector<Operand> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    operands.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
  }
  Context context;
  context.Bind(&step, 0);
  context.SetBase(0, values.data());
  context.SetOperands(operands.data(), static_cast<int>(inputs.size()), node.num_outputs());
  const FloatingPointScope floating_point;
  try {
    RETURN_IF_ERROR(kernel->Compute(context));
  } catch (...) {
    return CaughtException();
  }
  values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(inputs.size()));
  return values;
}

}  // namespace thalweg
