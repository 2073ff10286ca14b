// SPDX-License-Identifier: Apache-2.0
// ProcessLimits: what control groups leave to this process, as containers are limited, and how many
// processors that is. Both versions of Linux's control groups; the least of a group and all above.
//
//   const ProcessLimits limits = ReadProcessLimits();
//   if (limits.memory > 0) Use(limits.memory);
//
// Ownership: values.
// Threads: any.
// Errors: none; what cannot be read limits nothing.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg {

struct ProcessLimits {
  int64_t memory = 0;     // bytes; 0: no limit
  double processors = 0;  // of time, on the average: 1.5 are 150 ms in every 100; 0: no limit
  // How often, and for how many seconds in all, the group had to wait for its next share of time.
  int64_t throttled = 0;
  double throttled_seconds = 0;
};

// `root` stands before /proc and /sys: "" but in tests.
ProcessLimits ReadProcessLimits(const std::string& root = "");

// Bytes of the machine, or of its group where that has less.
int64_t UsableMemory();

// Those that this process may run on, and no more than its group has time for, rounded up: as many
// threads as can run at once. At least 1.
int UsableProcessors();

}  // namespace thalweg
