// SPDX-License-Identifier: Apache-2.0
// BoundFunctions: the FunctionRunner of a session: functions that run outside of steps, as steps of
// their own that the session's runner lists, cancels and waits for.
//
// Ownership: outlives its runner, which closes it; what it has bound fails from then on.
// Threads: all calls from any.
// Errors: Bind: those of the runner; calls: InvalidArgument for other arguments, Cancelled once it
// is closed, else the function's.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/function_runner.h"
#include "thalweg/session/local_runner.h"

namespace thalweg {

class LocalFunction;

class BoundFunctions : public FunctionRunner {
 public:
  explicit BoundFunctions(LocalRunner& runner) : runner_(&runner) {}
  std::string DebugString() const override { return "functions of a session"; }
  Result<std::shared_ptr<BoundFunction>> Bind(const FunctionRef& function, std::vector<DType> args,
                                              Device& device,
                                              CancellationManager* cancellation) override;
  // Waits until no call is inside of the runner; lets no more in.
  void Close() EXCLUDES(mutex_);

  // Who calls the runner is between these two. Null: it is gone.
  LocalRunner* Enter() EXCLUDES(mutex_);
  void Leave() EXCLUDES(mutex_);

 private:
  static constexpr int64_t kClosed = int64_t{1} << 62;

  LocalRunner* const runner_;
  std::atomic<int64_t> inside_{0};  // how many are; with kClosed once nobody is let in
  Mutex mutex_;
  CondVar changed_;
  friend class LocalFunction;
  std::set<LocalFunction*> functions_ GUARDED_BY(mutex_);  // all that there are
};

// Whether any of the nodes names a function.
bool NamesFunctions(const std::vector<const Node*>& nodes);

}  // namespace thalweg
