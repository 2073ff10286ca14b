// SPDX-License-Identifier: Apache-2.0
// What an embedding program lends to an environment through the C ABI: its threads and its log.
// Ownership: `host` and `arg` are the embedding program's, which keeps them as long as the
// environment.
// Threads: every member from any; so the host's functions are called.
// Errors: none; a host that drops a task leaves its step waiting.
#pragma once

#include "thalweg/api/c_api.h"
#include "thalweg/base/log.h"
#include "thalweg/base/work_queue.h"

namespace thalweg::api {

// Runs tasks on the host's threads.
class HostQueue : public WorkQueue {
 public:
  HostQueue(void (*schedule)(void* host, void (*task)(void* arg), void* arg), void* host,
            int parallelism)
      : schedule_(schedule), host_(host), parallelism_(parallelism) {}
  void Schedule(Task task) override;
  int Parallelism() const override { return parallelism_; }
  int CurrentThreadIndex() const override { return -1; }

 private:
  void (*const schedule_)(void* host, void (*task)(void* arg), void* arg);
  void* const host_;
  const int parallelism_;
};

// Hands log lines to the host.
class HostLogSink : public LogSink {
 public:
  HostLogSink(void (*log)(void* arg, int32_t severity, const char* line), void* arg)
      : log_(log), arg_(arg) {}
  void Write(LogLevel level, std::string_view message) override;

 private:
  void (*const log_)(void* arg, int32_t severity, const char* line);
  void* const arg_;
};

}  // namespace thalweg::api
