// SPDX-License-Identifier: Apache-2.0
// LoneCall: calls kernels outside any step, in the calling thread.
//
//   LoneCall call(device, compute::GetIsaTable(compute::BestIsaLevel()), cancellation);
//   ASSIGN_OR_RETURN(const std::vector<Tensor> made, call.Compute(kernel, inputs, 1));
//
// Where the host cannot address the device's memory, inputs are tensors of that memory but for
// those that the kernel's registration has on the host, and outputs too: valid for what stands
// behind them in the device's queue.
// Ownership: device, table and cancellation outlive it; outputs are the caller's.
// Threads: any, one call at a time.
// Errors: the kernel's, also for what it throws. Asynchronous kernels, and those that keep state,
// are not for it.
#pragma once

#include <span>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/kernel/kernel_execution.h"

namespace thalweg {

class LoneCall {
 public:
  LoneCall(Device& device, const compute::IsaTable& isa, CancellationManager& cancellation);
  LoneCall(const LoneCall&) = delete;
  LoneCall& operator=(const LoneCall&) = delete;

  // Stays empty: what is called here has no state.
  ResourceManager& resources() { return resources_; }
  Result<std::vector<Tensor>> Compute(Kernel& kernel, std::span<const Tensor> inputs,
                                      int num_outputs);

 private:
  InlineQueue queue_;
  KernelExecution loops_;
  ResourceManager resources_, step_resources_;
  StepContext step_;
};

}  // namespace thalweg
