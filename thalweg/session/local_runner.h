// SPDX-License-Identifier: Apache-2.0
// LocalRunner: the PartitionRunner of this process. All parts of a step become one program; the
// calling thread runs it and takes help from the environment's threads.
#pragma once

#include <memory>

#include "thalweg/base/mutex.h"
#include "thalweg/session/environment.h"
#include "thalweg/session/kernel_cache.h"
#include "thalweg/session/partition_runner.h"

namespace thalweg {

struct LocalStep;

class LocalRunner : public PartitionRunner {
 public:
  // All outlive the runner, which outlives what it prepared.
  LocalRunner(Environment& environment, ResourceManager& resources, KernelCache& kernels)
      : environment_(environment), resources_(resources), kernels_(kernels) {}
  ~LocalRunner() override;

  Result<std::unique_ptr<PreparedStep>> Prepare(const PrepareRequest& request) override;
  void Stop(Status reason) override EXCLUDES(mutex_);

 private:
  friend class LocalPreparedStep;
  // The error of Stop() once that was called.
  Status Begin(LocalStep* step) EXCLUDES(mutex_);
  void End(LocalStep* step) EXCLUDES(mutex_);

  Environment& environment_;
  ResourceManager& resources_;
  KernelCache& kernels_;
  Mutex mutex_;
  CondVar changed_;
  LocalStep* active_ GUARDED_BY(mutex_) = nullptr;  // a list
  bool stopping_ GUARDED_BY(mutex_) = false;
  Status stopped_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
