// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/environment.h"

#include <sched.h>

#include <algorithm>

#include "thalweg/base/entropy.h"
#include "thalweg/base/thread_pool.h"
#include "thalweg/compute/isa/components.h"

namespace thalweg {
namespace {

int UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

const compute::IsaTable& TableOf(const EnvironmentOptions& options) {
  const compute::IsaLevel level = options.isa.value_or(compute::BestIsaLevel());
  return options.strict_kernels ? compute::GetStrictIsaTable(level) : compute::GetIsaTable(level);
}

}  // namespace

Environment::Environment(Token, EnvironmentOptions options, Registries registries)
    : options_(std::move(options)),
      registries_(std::move(registries)),
      clock_(options_.clock != nullptr ? options_.clock : &system_clock_),
      logger_(options_.log_sink != nullptr ? options_.log_sink : &standard_error_,
              options_.log_level),
      isa_(&TableOf(options_)),
      allocator_(MakeCpuAllocator(options_.memory_limit)),
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
  own_queue_.reset();  // tasks may still use everything else
  timer_.reset();
}

Result<std::shared_ptr<Environment>> Environment::Create(EnvironmentOptions options,
                                                         Registries registries) {
  RETURN_IF_ERROR(options.Validate());
  if (registries.ops == nullptr || registries.kernels == nullptr) {
    return InvalidArgument("an environment needs a registry of operations and one of kernels");
  }
  const std::vector<DeviceFactory> factories = registries.devices;
  const auto made =
      std::make_shared<Environment>(Token{}, std::move(options), std::move(registries));
  const DeviceRequest request{.job = made->options_.job,
                              .task = made->options_.task,
                              .cpu_devices = made->options_.cpu_devices,
                              .incarnation = RandomSeed() | 1,
                              .host_allocator = made->allocator_};
  for (const DeviceFactory factory : factories) {
    ASSIGN_OR_RETURN(auto devices, factory(request));
    for (auto& device : devices) made->devices_.push_back(std::move(device));
  }
  if (made->devices_.empty()) return InvalidArgument("an environment needs at least one device");
  return made;
}

Device* Environment::FindDevice(std::string_view full_name) const {
  for (const auto& device : devices_) {
    if (device->full_name() == full_name) return device.get();
  }
  return nullptr;
}

void Environment::ResetContainers(const std::vector<std::string>& containers) {
  if (containers.empty()) resources_.ResetAll();
  for (const std::string& container : containers) resources_.ResetContainer(container);
  reset_count_.fetch_add(1, std::memory_order_release);
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
