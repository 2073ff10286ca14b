// SPDX-License-Identifier: Apache-2.0
// LocalParts: the parts of a step over several tasks that run on this one; their fetches are some
// of the step's.
//
//   RETURN_IF_ERROR(parts.Prepare(runner, std::move(here), request));
//   Status status = parts.Run(step_request);              // with the step's fetches
//
// Ownership: lives until what it runs has ended.
// Threads: Run and RunAsync from any.
// Errors: those of the parts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/session/partition_runner.h"

namespace thalweg {

class LocalParts {
 public:
  // None may be there.
  Status Prepare(PartitionRunner& runner, std::vector<StepPartition> here,
                 const PrepareRequest& request);
  bool empty() const { return step_ == nullptr; }

  Status Run(StepRequest request);
  void RunAsync(StepRequest request, std::function<void(Status)> done);
  Result<StepMemory> PlanMemory(std::span<const Tensor> feeds) const;
  std::string Describe() const { return empty() ? "" : step_->Describe(); }

 private:
  std::vector<StepPartition> parts_;
  std::vector<int> fetches_;            // by number here: the number in the step
  std::unique_ptr<PreparedStep> step_;  // null: nothing runs here
};

}  // namespace thalweg
