// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/environment.h"

#include <algorithm>

#include "thalweg/base/cgroup.h"
#include "thalweg/base/entropy.h"
#include "thalweg/base/thread.h"
#include "thalweg/base/thread_pool.h"
#include "thalweg/compute/isa/components.h"
#include "thalweg/kernel/losable.h"

namespace thalweg {
namespace {

bool HasLostDevice(const Environment& environment) {
  return std::ranges::any_of(environment.devices(),
                             [](const auto& device) { return !WhyLost(*device).ok(); });
}

const compute::IsaTable& TableOf(const EnvironmentOptions& options) {
  const compute::IsaLevel level = options.isa.value_or(compute::BestIsaLevel());
  return options.strict_kernels ? compute::GetStrictIsaTable(level) : compute::GetIsaTable(level);
}

}  // namespace

Environment::Environment(Token, EnvironmentOptions options, Registries registries,
                         std::shared_ptr<Environment> base)
    : options_(std::move(options)),
      registries_(std::move(registries)),
      base_(std::move(base)),
      sink_(options_.log_sink != nullptr ? options_.log_sink : &standard_error_),
      clock_(options_.clock != nullptr ? options_.clock : &system_clock_),
      logger_(sink_, options_.log_level),
      isa_(&TableOf(options_)),
      allocator_(base_ != nullptr ? base_->allocator() : MakeCpuAllocator(options_.memory_limit)),
      device_probe_(*clock_, *registries_.kernels, registries_.ops),
      timer_(std::make_unique<Timer>(*clock_)) {
  if (options_.host_queue != nullptr) {
    queue_ = options_.host_queue;
    return;
  }
  const int threads = options_.threads < 0 ? UsableProcessors() - 1 : options_.threads;
  if (threads == 0) {
    own_queue_ = std::make_unique<InlineQueue>();
  } else {
    own_queue_ = std::make_unique<ThreadPool>(ThreadPool::Options{
        .threads = threads, .spin_micros = options_.spin_micros, .pin = options_.pin_threads});
  }
  queue_ = own_queue_.get();
}

Environment::~Environment() {
  // Tasks may still use everything else.
  std::unique_ptr<WorkQueue> background;
  {
    MutexLock lock(mutex_);
    background = std::move(background_);
  }
  background.reset();
  own_queue_.reset();
  timer_.reset();
}

Result<std::shared_ptr<Environment>> Environment::Create(EnvironmentOptions options,
                                                         Registries registries) {
  return Make(std::move(options), std::move(registries), nullptr, RandomSeed() | 1);
}

Result<std::shared_ptr<Environment>> Environment::Make(EnvironmentOptions options,
                                                       Registries registries,
                                                       std::shared_ptr<Environment> base,
                                                       uint64_t incarnation) {
  RETURN_IF_ERROR(options.Validate());
  if (registries.ops == nullptr || registries.kernels == nullptr) {
    return InvalidArgument("an environment needs a registry of operations and one of kernels");
  }
  RETURN_IF_ERROR(registries.ops->status());
  RETURN_IF_ERROR(registries.kernels->status());
  const std::vector<DeviceFactory> factories = registries.devices;
  std::shared_ptr<Environment> made(
      new Environment(Token{}, std::move(options), std::move(registries), std::move(base)),
      &Environment::Delete);
  const DeviceRequest request{.job = made->options_.job,
                              .task = made->options_.task,
                              .cpu_devices = made->options_.cpu_devices,
                              .device_count = made->options_.device_count,
                              .visible_gpus = made->options_.visible_gpus,
                              .gpu_memory_fraction = made->options_.gpu_memory_fraction,
                              .incarnation = incarnation,
                              .host_allocator = made->allocator_,
                              .cache_directory = made->options_.cache_directory,
                              .ops = &made->ops(),
                              .kernels = &made->kernels()};
  for (const DeviceFactory factory : factories) {
    ASSIGN_OR_RETURN(auto devices, factory(request));
    for (auto& device : devices) made->devices_.push_back(std::move(device));
  }
  if (made->devices_.empty()) return InvalidArgument("an environment needs at least one device");
  return made;
}

// The last who held it may be a task of its own threads, which cannot wait for themselves.
void Environment::Delete(Environment* environment) {
  // In a fork it stays: to destroy what its threads wait on would wait for them.
  if (!environment->owner_.IsThisProcess()) return;
  if (environment->queue().CurrentThreadIndex() < 0) {
    delete environment;
  } else {
    Thread::Detach("end", [environment] { delete environment; });
  }
}

Result<std::shared_ptr<Environment>> Environment::Sized(const std::shared_ptr<Environment>& base,
                                                        const EnvironmentSize& size) {
  if (base->base_ != nullptr) return Sized(base->base_, size);
  EnvironmentOptions options = base->options_;
  options.threads = size.threads.value_or(options.threads);
  options.cpu_devices = size.cpu_devices.value_or(options.cpu_devices);
  options.spin_micros = size.spins ? options.spin_micros : 0;
  options.LimitDevices(size);
  if (!size.own_threads && options.threads == base->options_.threads &&
      options.cpu_devices == base->options_.cpu_devices &&
      options.device_count == base->options_.device_count &&
      options.visible_gpus == base->options_.visible_gpus &&
      options.gpu_memory_fraction == base->options_.gpu_memory_fraction &&
      options.spin_micros == base->options_.spin_micros) {
    return base;
  }
  MutexLock lock(base->mutex_);
  auto& sized = base->sized_;
  std::erase_if(sized, [](const auto& known) { return known.second.expired(); });
  for (const auto& [known, environment] : sized) {
    if (known != size || size.own_threads) continue;
    if (std::shared_ptr<Environment> found = environment.lock(); found != nullptr) return found;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Environment> made,
                   Make(std::move(options), base->registries_, base, RandomSeed() | 1));
  sized.emplace_back(size, made);
  return made;
}

Result<std::shared_ptr<Environment>> Environment::Renamed(const std::shared_ptr<Environment>& base,
                                                          std::string job, int task) {
  if (base->base_ != nullptr) return Renamed(base->base_, std::move(job), task);
  EnvironmentOptions options = base->options_;
  options.job = std::move(job);
  options.task = task;
  options.host_queue = base->queue_;
  return Make(std::move(options), base->registries_, base, base->devices_.front()->incarnation());
}

std::shared_ptr<Environment> Environment::WithDevicesAnew(const std::shared_ptr<Environment>& of) {
  if (!HasLostDevice(*of)) return of;
  const auto made_before = [&] {
    MutexLock lock(of->mutex_);
    std::shared_ptr<Environment> anew = of->with_devices_anew_.lock();
    return anew != nullptr && !HasLostDevice(*anew) ? anew : nullptr;
  };
  if (std::shared_ptr<Environment> anew = made_before(); anew != nullptr) return anew;
  // Without the lock: a driver may take its time.
  EnvironmentOptions options = of->options_;
  options.host_queue = of->queue_;
  Result<std::shared_ptr<Environment>> made =
      Make(std::move(options), of->registries_, of->base_ == nullptr ? of : of->base_,
           of->devices_.front()->incarnation());
  if (std::shared_ptr<Environment> anew = made_before(); anew != nullptr) return anew;
  if (!made.ok()) {
    of->logger_.Info("a device is lost and cannot be made anew: ", made.status().message());
    return of;
  }
  (*made)->threads_of_ = of;
  MutexLock lock(of->mutex_);
  of->with_devices_anew_ = *made;
  return *std::move(made);
}

Device* Environment::FindDevice(std::string_view full_name) const {
  for (const auto& device : devices_) {
    if (device->full_name() == full_name) return device.get();
  }
  return nullptr;
}

WorkQueue& Environment::background() {
  if (owner_.IsThisProcess() && queue_->Parallelism() > 0) return *queue_;
  MutexLock lock(mutex_);
  if (!background_owner_.IsThisProcess()) {
    // It stays, as the environment does: see Delete().
    static_cast<void>(background_.release());
    background_owner_ = ThreadOwner();
  }
  if (background_ == nullptr) {
    background_ = std::make_unique<ThreadPool>(
        ThreadPool::Options{.threads = 1, .spin_micros = options_.spin_micros});
  }
  return *background_;
}

void Environment::ResetContainers(const std::vector<std::string>& containers) {
  Environment& shared = root();
  if (containers.empty()) shared.resources_.ResetAll();
  for (const std::string& container : containers) shared.resources_.ResetContainer(container);
  shared.reset_count_.fetch_add(1, std::memory_order_release);
  shared.allocator_->Trim();
}

void Environment::WarnOnce(const std::string& text) {
  {
    Environment& shared = root();
    MutexLock lock(shared.mutex_);
    if (!shared.warned_.insert(text).second) return;
  }
  logger_.Warning(text);
}

void Environment::SessionOpened() {
  MutexLock lock(mutex_);
  ++open_sessions_;
}

void Environment::SessionClosed() {
  {
    MutexLock lock(mutex_);
    if (--open_sessions_ > 0) return;
  }
  allocator_->Trim();
}

}  // namespace thalweg
