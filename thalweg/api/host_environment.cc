// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/host_environment.h"

#include <algorithm>
#include <memory>
#include <string>

#include "thalweg/kernel/host_call.h"

namespace thalweg::api {

void HostQueue::Schedule(Task task) {
  auto boxed = std::make_unique<Task>(task);
  schedule_(
      host_,
      [](void* arg) {
        const std::unique_ptr<Task> owned(static_cast<Task*>(arg));
        owned->run(owned->object, owned->argument);
      },
      boxed.release());
}

void HostLogSink::Write(LogLevel level, std::string_view message) {
  const std::string line(message);
  const int severity =
      std::clamp(static_cast<int>(level) - static_cast<int>(LogLevel::kInfo), 0, 2);
  const HostCall host_call;
  log_(arg_, severity, line.c_str());
}

}  // namespace thalweg::api
