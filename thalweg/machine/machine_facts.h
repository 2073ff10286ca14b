// SPDX-License-Identifier: Apache-2.0
// MachineFacts: what the system says of itself, as far as steps depend on it.
//
//   const MachineFacts machine = ReadMachineFacts();
//   if (machine.swap_used > 0) Use(machine.swap_total);
//
// Ownership: values.
// Threads: any.
// Errors: none; what cannot be read is empty or 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/cgroup.h"

namespace thalweg {

struct MachineFacts {
  std::string processor;  // its maker's name for it
  int processors = 0;     // that the system runs on
  int usable = 0;         // of them, by this process: UsableProcessors
  int threads_a_core = 1;
  std::string governor;      // of frequencies: "powersave"; "": the machine has none
  std::string clock_source;  // "tsc", "kvm-clock", "hpet"

  int64_t memory = 0, available = 0;  // bytes; available is what programs can get without swapping
  int64_t swap_total = 0, swap_used = 0;
  std::string huge_pages;  // "always", "madvise", "never"
  int overcommit = 0;      // 2: the system promises no more memory than it has
  ProcessLimits limits;

  int64_t open_files = 0, most_open_files = 0;  // limits of this process: now, and at most
  int64_t tasks = 0, task_limit = 0;            // of its group: threads now, and at most; 0: any
  double load = 0;                              // tasks that ran or waited in the last minute
  std::vector<std::string> cards;               // device files of accelerators
};

// `root` stands before /proc, /sys and /dev: "" but in tests. Limits of the process itself are
// those of the caller.
MachineFacts ReadMachineFacts(const std::string& root = "");

// Processors that the system kept busy, in seconds of their time since it started: all of them,
// and what a host of virtual machines took from this one.
struct ProcessorTimes {
  double busy = 0, stolen = 0;
};
ProcessorTimes ReadProcessorTimes(const std::string& root = "");

}  // namespace thalweg
