// SPDX-License-Identifier: Apache-2.0
#include "thalweg/machine/machine_facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "thalweg/base/system_file.h"

namespace thalweg {
namespace {

constexpr int64_t kKilo = 1024;

std::string LineOf(const std::string& path) {
  const std::string text = SystemText(path);
  return text.substr(0, text.find('\n'));
}

// "always [madvise] never": the word in brackets.
std::string ChosenOf(const std::string& path) {
  const std::string line = LineOf(path);
  const size_t begin = line.find('['), end = line.find(']');
  return begin < end && end != std::string::npos ? line.substr(begin + 1, end - begin - 1) : "";
}

void ReadProcessors(const std::string& root, MachineFacts* machine) {
  std::ifstream file(root + "/proc/cpuinfo");
  int64_t siblings = 0, cores = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string value = colon + 2 < line.size() ? line.substr(colon + 2) : "";
    if (line.starts_with("processor")) ++machine->processors;
    if (line.starts_with("model name")) machine->processor = value;
    if (line.starts_with("siblings")) std::istringstream(value) >> siblings;
    if (line.starts_with("cpu cores")) std::istringstream(value) >> cores;
  }
  if (cores > 0) machine->threads_a_core = static_cast<int>(std::max<int64_t>(siblings / cores, 1));
  machine->usable = UsableProcessors();
  machine->governor = LineOf(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  machine->clock_source =
      LineOf(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

void ReadMemory(const std::string& root, MachineFacts* machine) {
  std::ifstream file(root + "/proc/meminfo");
  std::string name, unit;
  int64_t swap_free = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    int64_t kilobytes = 0;
    if (!(words >> name >> kilobytes)) continue;
    if (name == "MemTotal:") machine->memory = kilobytes * kKilo;
    if (name == "MemAvailable:") machine->available = kilobytes * kKilo;
    if (name == "SwapTotal:") machine->swap_total = kilobytes * kKilo;
    if (name == "SwapFree:") swap_free = kilobytes * kKilo;
  }
  machine->swap_used = machine->swap_total - swap_free;
  machine->huge_pages = ChosenOf(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  machine->overcommit =
      static_cast<int>(SystemNumber(root + "/proc/sys/vm/overcommit_memory").value_or(0));
}

void ReadLimits(const std::string& root, MachineFacts* machine) {
  machine->limits = ReadProcessLimits(root);
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    machine->open_files = static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, INT64_MAX));
    machine->most_open_files = static_cast<int64_t>(std::min<rlim_t>(files.rlim_max, INT64_MAX));
  }
  machine->task_limit =
      SystemNumber(root + "/sys/fs/cgroup/pids.max").value_or(0);  // "max" is none
  machine->tasks = SystemNumber(root + "/sys/fs/cgroup/pids.current").value_or(0);
  std::istringstream(LineOf(root + "/proc/loadavg")) >> machine->load;
}

void AddCards(const std::string& folder, const std::string& prefix, MachineFacts* machine) {
  std::error_code none;
  for (std::filesystem::directory_iterator i(folder, none), end; !none && i != end;
       i.increment(none)) {
    const std::string name = i->path().filename();
    const std::string rest = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
    if (!rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos)
      machine->cards.push_back(i->path());
  }
}

}  // namespace

MachineFacts ReadMachineFacts(const std::string& root) {
  MachineFacts machine;
  ReadProcessors(root, &machine);
  ReadMemory(root, &machine);
  ReadLimits(root, &machine);
  AddCards(root + "/dev", "nvidia", &machine);
  AddCards(root + "/dev/dri", "renderD", &machine);
  std::sort(machine.cards.begin(), machine.cards.end());
  return machine;
}

ProcessorTimes ReadProcessorTimes(const std::string& root) {
  // cpu user nice system idle iowait irq softirq steal
  std::istringstream words(LineOf(root + "/proc/stat"));
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupt = 0, soft = 0, stolen = 0;
  words >> name >> user >> nice >> system >> idle >> waiting >> interrupt >> soft >> stolen;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {.busy = (user + nice + system + interrupt + soft) / ticks, .stolen = stolen / ticks};
}

}  // namespace thalweg
