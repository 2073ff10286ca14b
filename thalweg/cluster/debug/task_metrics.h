// SPDX-License-Identifier: Apache-2.0
// TaskMetrics: what a task tells in numbers: steps, bytes, memory, and what its oldest step waits
// for. As JSON for `thalweg top`, as text for Prometheus.
//
//   const TaskMetrics metrics = ReadMetrics(sources);
//   call->Answer(MetricsJson(metrics));
//
// Ownership: a value; the sources are used during the call.
// Threads: any. Reading takes short locks only, one after another, so that it works while steps are
// stuck.
// Errors: none; what the system does not tell is 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/cluster/counters/step_counter.h"
#include "thalweg/cluster/debug/dump.h"
#include "thalweg/cluster/health/process_state.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

// The method that gives them as JSON, of a service of our own: other servers do not have it.
inline constexpr std::string_view kMetricsMethod = "/thalweg.Debug/Metrics";

// Beside what the dump is made of. Numbers are read by the caller, who has their locks.
struct MetricsSources {
  DumpSources now;
  const StepCounter& steps;  // as a master
  const StepCounter& parts;  // as a worker
  const WorkerClients& peers;
  uint64_t sessions = 0;
  uint64_t graphs = 0;
  Clock::TimePoint begun{};  // when the server was made
};

struct DeviceMetrics {
  std::string name;
  std::string type;
  AllocatorStats memory;  // devices of one memory tell the same
};
struct TaskAddress {
  std::string name;
  std::string address;
};
// An open step. Its number is 0 where it runs in this task alone.
struct StepMetrics {
  int64_t id = 0;
  double seconds = 0;
  std::string session;
  std::vector<std::string> runs;   // nodes whose kernels compute
  std::vector<std::string> waits;  // nodes and values, with what they wait for
};

// Which open step is told: the oldest of those that say what they do; where none does, the oldest.
// `rest`: what all those do that run in this task alone, as one step. Its age is that of the oldest
// step of this master, which may be another: so it comes after all others that say what they do.
std::optional<StepMetrics> ToldStep(std::vector<StepMetrics> steps,
                                    std::optional<StepMetrics> rest);

struct TaskMetrics {
  std::string task;
  uint64_t pid = 0;
  double uptime_seconds = 0;
  StepCounter::Values steps;
  StepCounter::Values parts;
  std::optional<double> oldest_seconds;  // since the oldest step or part began that is open
  std::optional<StepMetrics> told_step;  // of the open ones: see ToldStep
  uint64_t waiting_values = 0;           // that other tasks owe steps here
  uint64_t waiting_nodes = 0;
  uint64_t calls = 0;       // that came, so far
  uint64_t open_calls = 0;  // of them
  uint64_t channels = 0;    // open
  uint64_t channel_sent = 0, channel_received = 0;
  uint64_t call_sent = 0, call_received = 0;  // both of calls that came and of calls to other tasks
  AllocatorStats memory;                      // of tensors on the host
  ProcessMemory process_memory;
  ProcessUse process;
  uint64_t sessions = 0;
  uint64_t graphs = 0;  // that masters registered here
  std::vector<DeviceMetrics> devices;
  std::vector<TaskAddress> others;  // of the cluster
};
TaskMetrics ReadMetrics(const MetricsSources& from);

std::string MetricsJson(const TaskMetrics& metrics);
// In Prometheus's text format, version 0.0.4.
std::string MetricsText(const TaskMetrics& metrics);

}  // namespace thalweg
