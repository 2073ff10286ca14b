// SPDX-License-Identifier: Apache-2.0
// FunctionPlans: the functions that steps of a session call while they run, each compiled when it
// is first called. StepFunctions: the calls of one step. A call is a step of its own inside of the
// outer one: on its threads, with its resources, ended by its cancellation; only its frames are its
// own. Nobody waits for it, so calls inside each other take memory and no stack.
//
// Ownership: who runs a plan keeps it; the runner outlives the plans.
// Threads: all calls from any.
// Errors: come to Done: those of the maker and of the function, ResourceExhausted beyond kMaxDepth
// calls inside each other.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/executor/executor.h"
#include "thalweg/kernel/function_caller.h"
#include "thalweg/passes/pass.h"
#include "thalweg/session/waiting_nodes.h"

namespace thalweg {

// A call that a step comes to: what is called, and the types of what goes in and out.
struct RuntimeCall {
  const FunctionRef& call;
  std::vector<DType> args;
  CancellationManager* cancellation = nullptr;  // of the step
};

// What runs it.
struct FunctionPlan {
  StepGraph step;
  std::unique_ptr<Executor> executor;
  size_t num_fetches = 0;
};

class FunctionPlans {
 public:
  // Makes the plan of a call on a device.
  using Maker =
      std::function<Result<std::shared_ptr<FunctionPlan>>(const RuntimeCall& call, Device& device)>;

  explicit FunctionPlans(Maker make) : make_(std::move(make)) {}
  Result<std::shared_ptr<FunctionPlan>> Get(const RuntimeCall& call, Device& device)
      EXCLUDES(mutex_);
  void Clear() EXCLUDES(mutex_);

 private:
  const Maker make_;
  Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<FunctionPlan>> plans_ GUARDED_BY(mutex_);
};

class StepFunctions : public FunctionCaller {
 public:
  // Calls inside each other.
  static constexpr int kMaxDepth = 1 << 14;

  // Both outlive the step.
  StepFunctions(FunctionPlans& plans, StepTasks& threads) : plans_(plans), threads_(threads) {}
  std::string DebugString() const override { return "functions that the step calls"; }
  void Call(Context& ctx, const FunctionRef& call, Done done) override;

 private:
  FunctionPlans& plans_;
  StepTasks& threads_;
  std::atomic<uint64_t> next_tag_{1};
};

}  // namespace thalweg
