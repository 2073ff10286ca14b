// SPDX-License-Identifier: Apache-2.0
// What the system tells of a process: of this one for heartbeats, of another one on this machine to
// say why it is silent.
//
//   const ProcessIdentity& self = OwnIdentity();
//   const std::string why = DescribeProcess(peer);
//       // "its process 4711 is stopped (by a signal or a debugger)"
//
// Ownership: values; OwnIdentity is static.
// Threads: any.
// Errors: none; what cannot be read is 0 or "".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg {

// Which process, also after its number has been given to another one.
struct ProcessIdentity {
  std::string machine;  // the boot id: equal on one machine, until it starts again
  uint64_t pid = 0;
  uint64_t start = 0;  // in ticks after the machine's start
};
const ProcessIdentity& OwnIdentity();

uint64_t ReadProcessStart(uint64_t pid);  // 0: there is no such process

struct ProcessMemory {
  uint64_t resident_bytes = 0;
  uint64_t peak_bytes = 0;
};
ProcessMemory ReadProcessMemory();

struct ProcessUse {
  uint64_t threads = 0;
  double processor_seconds = 0;  // of all its threads so far
};
ProcessUse ReadProcessUse();

// The file that counts what was killed for want of memory in the memory group (cgroup, version 1 or
// 2) of a process; "" where there is none that can be read.
std::string FindKillCounter(uint64_t pid);
uint64_t ReadKillCounter(const std::string& file);

// How many processes of this machine the kernel has killed for want of memory so far.
uint64_t CountKilledForMemory();

// Whether it was a process of this machine and runs no more.
bool HasEnded(const ProcessIdentity& process);
// For people; "" when the process is not of this machine. Where its parent has not asked yet how it
// ended, that is told, too: the signal or the status.
std::string DescribeProcess(const ProcessIdentity& process);

// The parts of the texts of /proc, for tests.
struct ProcStat {
  char state = 0;        // 'R', 'S', 'T', 'Z' ...; 0: malformed
  bool exiting = false;  // its end has begun
  uint64_t start = 0;
  int ending = 0;  // as waitpid gives it, once it has ended; 0 where the system does not tell
};
ProcStat ParseProcStat(std::string_view text);
// The number behind `name` at the begin of a line: "oom_kill 3", "VmHWM:   120 kB".
uint64_t ParseProcNumber(std::string_view text, std::string_view name);
// `text` is /proc/PID/cgroup; given is the group's file, below the folder where groups are mounted.
std::string ParseMemoryGroup(std::string_view text);

}  // namespace thalweg
