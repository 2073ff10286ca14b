// SPDX-License-Identifier: Apache-2.0
// Environment: what sessions of one process share: devices, memory and its cap, threads, timer,
// log, instruction set, registries, containers. Nothing is global: two environments share nothing.
//
//   Registries registries;
//   RegisterAllOps(*registries.ops);
//   RegisterAllCpuKernels(*registries.kernels);
//   registries.devices = {MakeCpuDevices};
//   ASSIGN_OR_RETURN(auto environment, Environment::Create({.threads = 2}, registries));
//
// Ownership: sessions share the environment; tensors may outlive it. When its last session closes,
// the memory kept for reuse goes back to the system. Threads: every member from any thread.
// Registries may grow (OpRegistry::Define, KernelRegistry::AddUserKernel) while sessions run.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/log.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/timer.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/kernel/device_factory.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/resource_manager.h"
#include "thalweg/session/open_steps.h"
#include "thalweg/session/options.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

// What this process can do: filled by who puts it together.
struct Registries {
  std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  std::shared_ptr<KernelRegistry> kernels = std::make_shared<KernelRegistry>();
  std::vector<DeviceFactory> devices;  // in order of preference
};

class Environment {
  struct Token {};  // makes the constructor this class's own

 public:
  static Result<std::shared_ptr<Environment>> Create(EnvironmentOptions options,
                                                     Registries registries);
  Environment(Token, EnvironmentOptions options, Registries registries);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

  const EnvironmentOptions& options() const { return options_; }
  OpRegistry& ops() const { return *registries_.ops; }
  const std::shared_ptr<OpRegistry>& shared_ops() const { return registries_.ops; }
  KernelRegistry& kernels() const { return *registries_.kernels; }
  // By index; the first is the default of nodes without a constraint.
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  // By full name; null when there is none.
  Device* FindDevice(std::string_view full_name) const;
  // Of host memory; all CPU devices share it.
  const AllocatorPtr& allocator() const { return allocator_; }
  WorkQueue& queue() const { return *queue_; }
  Timer& timer() { return *timer_; }
  Clock& clock() const { return *clock_; }
  const Logger& logger() const { return logger_; }
  const compute::IsaTable& isa() const { return *isa_; }
  // Containers that sessions with share_resources see.
  ResourceManager& resources() { return resources_; }
  // Empties the named containers, or all when none is named. Steps that hold a resource keep it
  // till they end.
  void ResetContainers(const std::vector<std::string>& containers);

  // What runs now.
  OpenSteps& open_steps() { return open_steps_; }

  // Counts calls of ResetContainers: kernels made before the last one may hold what is gone.
  uint64_t reset_count() const { return reset_count_.load(std::memory_order_acquire); }
  // For sessions: one call each at start and close.
  void SessionOpened();
  void SessionClosed();

 private:
  const EnvironmentOptions options_;
  const Registries registries_;
  SystemClock system_clock_;
  StandardErrorSink standard_error_;
  Clock* clock_;
  Logger logger_;
  const compute::IsaTable* isa_;
  AllocatorPtr allocator_;
  ResourceManager resources_;
  std::vector<std::unique_ptr<Device>> devices_;
  OpenSteps open_steps_;
  std::atomic<uint64_t> reset_count_{0};
  Mutex mutex_;
  int open_sessions_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<WorkQueue> own_queue_;
  WorkQueue* queue_ = nullptr;
};

}  // namespace thalweg
