// SPDX-License-Identifier: Apache-2.0
// The options of an environment, a session and a run: plain structs whose defaults are what most
// users want. Each is checked once, where it is handed over.
//
//   auto environment = Environment::Create({.threads = 4, .cpu_devices = 2}, registries);
//   auto session = MakeLocalSession(*environment, graph, {.passes = "-cse"});
//   (*session)->Run({.timeout = std::chrono::seconds(5)}, signature, feeds, fetches);
//
// Ownership: queue, sink, clock and cancellation are the caller's and outlive whom they are given
// to; all else are values.
// Threads: values: one changes them, then reading from any.
// Errors: InvalidArgument that names the field.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/log.h"
#include "thalweg/base/status.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/compute/isa/isa.h"
#include "thalweg/passes/placement_rule.h"
#include "thalweg/placement/machine.h"

namespace thalweg {

// Threads and devices that a session asks for, beside those of its environment.
struct EnvironmentSize {
  std::optional<int> threads;      // as EnvironmentOptions::threads; none: the environment's
  std::optional<int> cpu_devices;  // as EnvironmentOptions::cpu_devices; none: the environment's
  bool spins = true;               // false: a thread without work sleeps at once
  bool own_threads = false;        // shared with no other session
  // By type other than CPU: at most so many of those that the environment has.
  std::map<std::string, int> device_count = {};
  std::vector<int> visible_gpus = {};  // as EnvironmentOptions::visible_gpus; empty: its own
  std::optional<double> gpu_memory_fraction = {};  // as EnvironmentOptions::gpu_memory_fraction
  friend bool operator==(const EnvironmentSize&, const EnvironmentSize&) = default;
};

struct EnvironmentOptions {
  // Threads beside those that call Run, which work too. -1: one fewer than the processors that this
  // process may use. 0: everything runs inline in the caller, and no thread is ever made but for
  // deadlines.
  int threads = -1;
  // The threads of an embedding program, in place of own ones. Must outlive the environment.
  WorkQueue* host_queue = nullptr;
  int spin_micros = 100;  // how long an idle thread looks for work before it sleeps
  bool pin_threads = false;
  // /job:JOB/replica:0/task:TASK/device:CPU:0 ... CPU:cpu_devices-1.
  int cpu_devices = 1;
  // How many of other types: {"FAKE", 1}; see the registries' factories.
  std::map<std::string, int> device_count = {};
  // Which cards GPU:0, GPU:1, ... are, by their numbers on this machine; empty: the first ones.
  std::vector<int> visible_gpus = {};
  // What part of its memory the tensors of a GPU may take.
  double gpu_memory_fraction = 1;
  // Where devices may keep what they have compiled, for the next process; empty: nowhere.
  std::string cache_directory = {};
  std::string job = "localhost";
  int task = 0;
  // Bytes of tensors; 0: the smaller of the control group's limit and the physical memory, less a
  // reserve.
  int64_t memory_limit = 0;
  // Null: standard error. Must outlive the environment.
  LogSink* log_sink = nullptr;
  LogLevel log_level = LogLevel::kWarning;
  // The highest instruction set to use; by default the best that the processor has.
  std::optional<compute::IsaLevel> isa;
  // Own code only: no component (oneDNN for convolutions) is loaded, and AVX2 and AVX-512 give the
  // same bits everywhere.
  bool strict_kernels = false;
  // Null: the system's. Must outlive the environment.
  Clock* clock = nullptr;

  // Leaves of the devices that are no CPUs what `size` lets be seen.
  void LimitDevices(const EnvironmentSize& size);
  Status Validate() const;
};

struct SessionOptions {
  // Passes of the step compiler to switch off and on: "-cse,-join_products", and how nodes are
  // placed: "place_by_cost" (passes/pass_table.h).
  std::string passes;
  // What the devices can do, in the session's order, for placement by cost; null: as measured.
  // Where it says that they differ, and `passes` says nothing, placement is by cost.
  std::shared_ptr<const Machine> machine;
  int64_t fold_limit_bytes = int64_t{10} << 20;  // of one tensor that fold_constants makes
  // What becomes of a node whose device is not here or cannot run it.
  PlacementRule placement = PlacementRule::kAcceleratorsToCpu;
  // Write where each node goes, once: "NAME: (OP): DEVICE", at any level of the log.
  bool log_placement = false;
  // A graph that grows after the first Run is an error; else it is one warning once it grows again
  // and again.
  bool strict_graph = false;
  // True: variables, queues and tables are the environment's, shared by container and name with
  // other such sessions. False: this session has its own, gone when it closes.
  bool share_resources = false;
  // float32 values go from task to task as bfloat16, rounded to nearest, ties to even: half the
  // bytes, a relative error of at most 2^-8, the same range but that what is within 2^-9 of the
  // largest float becomes infinite. Within a task, and to and from the client, they stay as they
  // are.
  bool bfloat16_transfers = false;
  // Steps run on the threads that call Run.
  bool inline_steps = false;
  // The timeout of every Run that does not set its own; 0: none.
  std::chrono::nanoseconds default_timeout{0};
  // How many RunOptions::inter_op_thread_pool may choose from, which are all one.
  int32_t inter_op_thread_pools = 1;
  // What a traced step may keep of each of these while it runs: executions of its nodes with their
  // outputs, blocks that came back, times without a processor. Its newest is kept, and the trace
  // says what was left out. 100 million nodes that only run take 3.2 GB.
  static constexpr int64_t kTraceBytes = int64_t{256} << 20;
  int64_t trace_bytes = kTraceBytes;
  // Compiled signatures kept; the least recently used goes first.
  int plan_cache_size = 256;

  Status Validate() const;
};

enum class TraceLevel : uint8_t { kNone = 0, kSoftware = 1, kHardware = 2, kFull = 3 };

struct RunOptions {
  // DeadlineExceeded when the step has not ended by then; 0: the session's default.
  std::chrono::nanoseconds timeout{0};
  // What is spent of the timeout before this call. Errors say the whole timeout.
  std::chrono::nanoseconds spent{0};
  // Above kNone: statistics of every node in RunMetadata::step_stats.
  TraceLevel trace = TraceLevel::kNone;
  // Somebody looks on: what was seen until an error is kept, and a trace that some task cannot
  // tell is no error.
  bool is_watched = false;
  // Placement by cost learns of a traced step; not where it is traced for who looks on alone.
  bool teaches_placement = true;
  // Fill RunMetadata::partition_graphs.
  bool partition_graphs = false;
  // Fill RunMetadata::memory. Infers all shapes anew from those of the feeds.
  bool memory_plan = false;
  // The step ends at its first value that is not finite, with the node, what it was given and the
  // iteration (passes/check_numerics.h). Runs a plan of its own, not rewritten otherwise, slower.
  bool check_numerics = false;
  // Cancelling it ends the step with its reason and leaves the session usable. Must outlive the
  // Run.
  CancellationManager* cancellation = nullptr;
  // Run the whole step on the calling thread.
  bool inline_in_caller = false;
  // The step is one of a row that a thread of its own runs without end: the thread sleeps at once
  // where there is nothing to do, and a kernel may do what the next steps of the row would, where
  // nobody can tell (Callable::Repeat).
  bool is_repeated = false;
  // A number of the session's, or -1, which is inline_in_caller.
  int32_t inter_op_thread_pool = 0;
  // Not 0: members of the step's collective operations may be in steps of other sessions of the
  // cluster that run with this key: the n-th of each join. One at a time for each task.
  int64_t collective_graph_key = 0;

  Status Validate() const;
};

}  // namespace thalweg
