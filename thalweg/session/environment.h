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
// the memory kept for reuse goes back to the system.
// Threads: every member from any thread. Registries may grow (OpRegistry::Define,
// KernelRegistry::AddUserKernel) while sessions run.
// Errors: InvalidArgument for a bad option or an environment without registries or devices; those
// of the device factories.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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
#include "thalweg/placement/device_probe.h"
#include "thalweg/session/open_steps.h"
#include "thalweg/session/options.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class InprocListeners;

// What this process can do: filled by who puts it together.
struct Registries {
  std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  std::shared_ptr<KernelRegistry> kernels = std::make_shared<KernelRegistry>();
  std::vector<DeviceFactory> devices;  // in order of preference
  // Where tasks of this process find each other's channels (cluster/); null: they do not.
  std::shared_ptr<InprocListeners> inproc;
};

class Environment {
  struct Token {};  // makes the constructor this class's own

 public:
  static Result<std::shared_ptr<Environment>> Create(EnvironmentOptions options,
                                                     Registries registries);
  // `base` with other threads or devices; all else is shared with it: registries, memory,
  // containers, log. Those who ask alike get the same one; it goes with the last of them.
  static Result<std::shared_ptr<Environment>> Sized(const std::shared_ptr<Environment>& base,
                                                    const EnvironmentSize& size);
  // `base` whose devices are those of another task by name: what a session calls this one that
  // brings its own cluster. All else is shared with it: threads, incarnation, registries, memory.
  static Result<std::shared_ptr<Environment>> Renamed(const std::shared_ptr<Environment>& base,
                                                      std::string job, int task);
  // `of`, or where a device of it is lost, a view of it whose devices are made anew, for sessions
  // with state of their own; threads and all else are `of`'s. `of` itself while they are not to be
  // had: its other devices go on.
  static std::shared_ptr<Environment> WithDevicesAnew(const std::shared_ptr<Environment>& of);
  // `base`: null, or see Sized, Renamed and WithDevicesAnew.
  Environment(Token, EnvironmentOptions options, Registries registries,
              std::shared_ptr<Environment> base);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

  const EnvironmentOptions& options() const { return options_; }
  OpRegistry& ops() const { return *registries_.ops; }
  const std::shared_ptr<OpRegistry>& shared_ops() const { return registries_.ops; }
  KernelRegistry& kernels() const { return *registries_.kernels; }
  const std::shared_ptr<InprocListeners>& inproc() const { return registries_.inproc; }
  // By index; the first is the default of nodes without a constraint.
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  // By full name; null when there is none.
  Device* FindDevice(std::string_view full_name) const;
  // The allocator of host memory; all CPU devices share it.
  const AllocatorPtr& allocator() const { return allocator_; }
  WorkQueue& queue() const { return *queue_; }
  // For steps that no thread calls: the queue, or where that has no threads (a forked process does
  // not have them) one thread for all of them, made when it is first asked for.
  WorkQueue& background() EXCLUDES(mutex_);
  Timer& timer() { return *timer_; }
  Clock& clock() const { return *clock_; }
  const Logger& logger() const { return logger_; }
  // The same log for what somebody has asked to hear, from another level on.
  Logger LoggerAt(LogLevel lowest) const { return Logger(sink_, lowest); }
  // A warning that many sessions would repeat: once in this environment.
  void WarnOnce(const std::string& text);
  const compute::IsaTable& isa() const { return *isa_; }
  // Containers that sessions with share_resources see.
  ResourceManager& resources() { return root().resources_; }
  // Empties the named containers, or all when none is named. Steps that hold a resource keep it
  // till they end.
  void ResetContainers(const std::vector<std::string>& containers);

  // Adds what its devices, with its threads, can do; measured when somebody first asks.
  void MeasureDevices(MeasuredRates* rates) {
    root().device_probe_.Measure(devices_, queue_->Parallelism() + 1, rates);
  }

  // What runs now.
  OpenSteps& open_steps() { return root().open_steps_; }

  // Counts calls of ResetContainers: kernels made before the last one may hold what is gone.
  uint64_t reset_count() const {
    return (base_ == nullptr ? *this : *base_).reset_count_.load(std::memory_order_acquire);
  }
  // For sessions: one call each at start and close.
  void SessionOpened();
  void SessionClosed();

 private:
  static Result<std::shared_ptr<Environment>> Make(EnvironmentOptions options,
                                                   Registries registries,
                                                   std::shared_ptr<Environment> base,
                                                   uint64_t incarnation);
  static void Delete(Environment* environment);
  Environment& root() { return base_ == nullptr ? *this : *base_; }

  const EnvironmentOptions options_;
  const Registries registries_;
  const std::shared_ptr<Environment> base_;  // has no base itself; null: this is no view of one
  std::shared_ptr<Environment> threads_of_;  // whose threads these are, where another's
  SystemClock system_clock_;
  StandardErrorSink standard_error_;
  LogSink* const sink_;
  Clock* clock_;
  Logger logger_;
  const compute::IsaTable* isa_;
  AllocatorPtr allocator_;
  ResourceManager resources_;
  std::vector<std::unique_ptr<Device>> devices_;
  OpenSteps open_steps_;
  DeviceProbe device_probe_;
  std::atomic<uint64_t> reset_count_{0};
  Mutex mutex_;
  int open_sessions_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> warned_ GUARDED_BY(mutex_);
  std::vector<std::pair<EnvironmentSize, std::weak_ptr<Environment>>> sized_ GUARDED_BY(mutex_);
  std::weak_ptr<Environment> with_devices_anew_ GUARDED_BY(mutex_);
  const ThreadOwner owner_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<WorkQueue> own_queue_;
  WorkQueue* queue_ = nullptr;
  std::unique_ptr<WorkQueue> background_ GUARDED_BY(mutex_);
  ThreadOwner background_owner_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
