// SPDX-License-Identifier: Apache-2.0

#include "thalweg/api/cache_directory.h"
#include "thalweg/api/device_count.h"
#include "thalweg/api/handles.h"
#include "thalweg/api/host_environment.h"
#include "thalweg/api/registries.h"
#include "thalweg/api/user_library.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

// The host's queue and log must outlive the environment, which sessions may hold longest: they live
// beside it.
struct HostedEnvironment {
  std::unique_ptr<HostQueue> queue;
  std::unique_ptr<HostLogSink> log;
  std::shared_ptr<Environment> environment;  // declared last: goes first
};

LogLevel LevelOfStandardError(int least_severity) {
  if (least_severity <= 1) return LogLevel::kWarning;
  return least_severity == 2 ? LogLevel::kError : LogLevel::kNothing;
}

Result<std::shared_ptr<Environment>> MakeEnvironment(const TwEnvironmentOptions& given) {
  auto hosted = std::make_shared<HostedEnvironment>();
  EnvironmentOptions options;
  options.threads = given.threads;
  options.cpu_devices = given.cpu_devices;
  ASSIGN_OR_RETURN(options.device_count, DeviceCountAskedFor());
  options.cache_directory = CacheDirectory();
  options.memory_limit = given.memory_limit;
  if (given.isa_level >= 0) {
    if (given.isa_level > 2)
      return InvalidArgument("isa_level is -1, 0, 1 or 2, got ", given.isa_level);
    options.isa = static_cast<compute::IsaLevel>(given.isa_level);
  }
  options.strict_kernels = given.strict_kernels != 0;
  if (given.schedule != nullptr) {
    hosted->queue = std::make_unique<HostQueue>(given.schedule, given.host, given.host_parallelism);
    options.host_queue = hosted->queue.get();
  }
  if (given.log != nullptr) {
    hosted->log = std::make_unique<HostLogSink>(given.log, given.log_arg);
    options.log_sink = hosted->log.get();
    options.log_level = LogLevel::kInfo;
  } else {
    options.log_level = LevelOfStandardError(given.least_severity);
  }
  ASSIGN_OR_RETURN(hosted->environment, Environment::Create(options, MakeRegistries()));
  return std::shared_ptr<Environment>(hosted, hosted->environment.get());
}

}  // namespace

extern "C" {

void tw_environment_options_init(TwEnvironmentOptions* options) {
  if (options == nullptr) return;
  *options = TwEnvironmentOptions{};
  options->struct_size = sizeof(TwEnvironmentOptions);
  options->threads = -1;
  options->cpu_devices = 1;
  options->isa_level = -1;
}

TwEnvironment* tw_environment_new(const TwEnvironmentOptions* options, TwStatus* status) {
  return GuardPointer<TwEnvironment>(status, [&]() -> Result<TwEnvironment*> {
    TwEnvironmentOptions defaults;
    tw_environment_options_init(&defaults);
    ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment,
                     MakeEnvironment(CopyOptions(options, defaults)));
    return std::make_unique<TwEnvironment>(TwEnvironment{std::move(environment)}).release();
  });
}

void tw_environment_free(TwEnvironment* environment) { delete environment; }

int32_t tw_environment_num_devices(const TwEnvironment* environment) {
  return environment == nullptr ? 0
                                : static_cast<int32_t>(environment->environment->devices().size());
}

const char* tw_environment_device_name(const TwEnvironment* environment, int32_t i) {
  if (i < 0 || i >= tw_environment_num_devices(environment)) return nullptr;
  return environment->environment->devices()[static_cast<size_t>(i)]->full_name().c_str();
}

const char* tw_environment_device_type(const TwEnvironment* environment, int32_t i) {
  if (i < 0 || i >= tw_environment_num_devices(environment)) return nullptr;
  return environment->environment->devices()[static_cast<size_t>(i)]->type().c_str();
}

int64_t tw_environment_memory_in_use(const TwEnvironment* environment) {
  return environment == nullptr ? 0 : environment->environment->allocator()->Stats().bytes_in_use;
}

int64_t tw_environment_memory_peak(const TwEnvironment* environment) {
  return environment == nullptr ? 0
                                : environment->environment->allocator()->Stats().peak_bytes_in_use;
}

int64_t tw_environment_memory_limit(const TwEnvironment* environment) {
  return environment == nullptr ? 0 : environment->environment->allocator()->Stats().limit;
}

TwCode tw_environment_reset(TwEnvironment* environment, const char* const* containers, int32_t n,
                            TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"environment", environment}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, UnwrapTexts(containers, n, "container"));
    environment->environment->ResetContainers(names);
    return OkStatus();
  });
}

TwCode tw_environment_load_library(TwEnvironment* environment, const char* path, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"environment", environment}, {"path", path}}));
    return LoadUserLibrary(*environment->environment, path);
  });
}

TwGraph* tw_graph_new(TwEnvironment* environment, TwStatus* status) {
  return GuardPointer<TwGraph>(status, [&]() -> Result<TwGraph*> {
    RETURN_IF_ERROR(RequireAll({{"environment", environment}}));
    const std::shared_ptr<Environment>& shared = environment->environment;
    return std::make_unique<TwGraph>(TwGraph{shared, std::make_shared<Graph>(shared->shared_ops())})
        .release();
  });
}

}  // extern "C"
