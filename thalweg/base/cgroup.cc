// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/cgroup.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "thalweg/base/system_file.h"

namespace thalweg {
namespace {

// What version 1 writes for "none": the largest multiple of a page.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// The number behind a word at the start of a line; 0 where there is none.
int64_t NumberNamed(const std::string& text, std::string_view name) {
  std::istringstream words(text);
  std::string word;
  int64_t number = 0;
  while (words >> word >> number) {
    if (word == name) return number;
  }
  return 0;
}

void LimitMemory(int64_t bytes, ProcessLimits* limits) {
  if (bytes <= 0 || bytes >= kNoLimit) return;
  limits->memory = limits->memory == 0 ? bytes : std::min(limits->memory, bytes);
}

void LimitProcessors(double micros, double of_micros, const std::string& statistics,
                     std::string_view throttled, double seconds, ProcessLimits* limits) {
  if (micros <= 0 || of_micros <= 0) return;
  const double processors = micros / of_micros;
  if (limits->processors > 0 && limits->processors <= processors) return;
  limits->processors = processors;
  limits->throttled = NumberNamed(statistics, "nr_throttled");
  limits->throttled_seconds = static_cast<double>(NumberNamed(statistics, throttled)) * seconds;
}

// Calls look(folder) for the group and all above it. A container sees its own group as the top,
// under a path that may be its host's: folders that are not there limit nothing.
template <class Look>
void LookUpwards(const std::string& mount, std::string group, const Look& look) {
  while (!group.empty() && group != "/") {
    look(mount + group);
    group.resize(group.find_last_of('/'));
  }
  look(mount);
}

void ReadUnified(const std::string& folder, ProcessLimits* limits) {
  LimitMemory(SystemNumber(folder + "/memory.max").value_or(0), limits);
  std::istringstream quota(SystemText(folder + "/cpu.max"));
  double micros = 0, of_micros = 0;
  if (quota >> micros >> of_micros) {  // "max 100000" is no number
    LimitProcessors(micros, of_micros, SystemText(folder + "/cpu.stat"), "throttled_usec", 1e-6,
                    limits);
  }
}

void ReadMemoryController(const std::string& folder, ProcessLimits* limits) {
  LimitMemory(SystemNumber(folder + "/memory.limit_in_bytes").value_or(0), limits);
}

void ReadProcessorController(const std::string& folder, ProcessLimits* limits) {
  LimitProcessors(static_cast<double>(SystemNumber(folder + "/cpu.cfs_quota_us").value_or(0)),
                  static_cast<double>(SystemNumber(folder + "/cpu.cfs_period_us").value_or(0)),
                  SystemText(folder + "/cpu.stat"), "throttled_time", 1e-9, limits);
}

bool HasController(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

ProcessLimits ReadProcessLimits(const std::string& root) {
  ProcessLimits limits;
  const std::string mount = root + "/sys/fs/cgroup";
  std::istringstream groups(SystemText(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/docker/ab"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') continue;
    if (controllers.empty()) {
      LookUpwards(mount, group, [&](const std::string& folder) { ReadUnified(folder, &limits); });
    }
    if (HasController(controllers, "memory")) {
      LookUpwards(mount + "/memory", group,
                  [&](const std::string& folder) { ReadMemoryController(folder, &limits); });
    }
    if (HasController(controllers, "cpu")) {
      LookUpwards(mount + "/cpu", group,
                  [&](const std::string& folder) { ReadProcessorController(folder, &limits); });
    }
  }
  return limits;
}

int64_t UsableMemory() {
  const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const int64_t limit = ReadProcessLimits().memory;
  return limit > 0 ? std::min(machine, limit) : machine;
}

int UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
  const double limit = ReadProcessLimits().processors;
  if (limit <= 0 || limit >= allowed) return allowed;
  return std::max(1, static_cast<int>(std::ceil(limit)));
}

}  // namespace thalweg
