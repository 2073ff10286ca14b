// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/health/process_state.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string StatOf(uint64_t pid) { return ReadText(StrCat("/proc/", pid, "/stat")); }

bool IsOfThisMachine(const ProcessIdentity& process) {
  return process.pid != 0 && !process.machine.empty() && process.machine == OwnIdentity().machine;
}

bool HasEnded(const ProcessIdentity& process, const ProcStat& stat) {
  return stat.state == 0 || stat.start != process.start || stat.exiting || stat.state == 'Z' ||
         stat.state == 'X';
}

std::string HowEnded(const ProcessIdentity& process, const ProcStat& stat) {
  const bool tells = stat.state == 'Z' && stat.start == process.start;
  if (tells && WIFSIGNALED(stat.ending)) {
    const char* const name = sigdescr_np(WTERMSIG(stat.ending));
    return StrCat(" by signal ", WTERMSIG(stat.ending),
                  name == nullptr ? "" : StrCat(" (", name, ")"));
  }
  if (tells && WEXITSTATUS(stat.ending) != 0) {
    return StrCat(" with status ", WEXITSTATUS(stat.ending));
  }
  return "";
}

ProcessIdentity ReadThisProcess() {
  ProcessIdentity self;
  self.machine = ReadText("/proc/sys/kernel/random/boot_id");
  while (!self.machine.empty() && self.machine.back() == '\n') self.machine.pop_back();
  self.pid = static_cast<uint64_t>(::getpid());
  self.start = ReadProcessStart(self.pid);
  return self;
}

}  // namespace

ProcStat ParseProcStat(std::string_view text) {
  // "PID (NAME) STATE ...": the name may hold spaces and brackets, what follows has none.
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return {};
  std::istringstream fields(std::string(text.substr(name_end + 2)));
  ProcStat stat;
  std::string field;
  // Fields as proc(5) counts them; the state is the third.
  constexpr int kFlags = 9;
  constexpr int kStart = 22;
  constexpr int kExitCode = 52;
  constexpr uint64_t kExiting = 4;
  for (int i = 3; i <= kExitCode && fields >> field; ++i) {
    if (i == 3) stat.state = field.front();
    if (i != kFlags && i != kStart && i != kExitCode) continue;
    uint64_t value = 0;
    const char* const last = field.data() + field.size();
    if (const auto parsed = std::from_chars(field.data(), last, value);
        parsed.ec != std::errc() || parsed.ptr != last) {
      return {};
    }
    if (i == kFlags) stat.exiting = (value & kExiting) != 0;
    if (i == kStart) stat.start = value;
    if (i == kExitCode) stat.ending = static_cast<int>(value & 0xffff);
  }
  return stat.start == 0 ? ProcStat() : stat;
}

std::string ParseMemoryGroup(std::string_view text) {
  std::string unified;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view what = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    const std::string_view between = path == "/" ? "" : path;
    if (what == "memory") return StrCat("memory", between, "/memory.oom_control");
    if (what.empty() && path != "/") unified = StrCat(path.substr(1), "/memory.events");
  }
  return unified;
}

uint64_t ParseProcNumber(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const size_t digits = line.find_first_not_of(" \t");
    if (digits == std::string_view::npos) return 0;
    line.remove_prefix(digits);
    uint64_t value = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), value);
    return parsed.ec == std::errc() ? value : 0;
  }
  return 0;
}

uint64_t ReadProcessStart(uint64_t pid) { return ParseProcStat(StatOf(pid)).start; }

const ProcessIdentity& OwnIdentity() {
  static const ProcessIdentity self = ReadThisProcess();
  return self;
}

ProcessMemory ReadProcessMemory() {
  const std::string text = ReadText("/proc/self/status");
  return {ParseProcNumber(text, "VmRSS:") * 1024, ParseProcNumber(text, "VmHWM:") * 1024};
}

ProcessUse ReadProcessUse() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {.threads = ParseProcNumber(ReadText("/proc/self/status"), "Threads:"),
          .processor_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

uint64_t CountKilledForMemory() { return ParseProcNumber(ReadText("/proc/vmstat"), "oom_kill "); }

std::string FindKillCounter(uint64_t pid) {
  const std::string group = ParseMemoryGroup(ReadText(StrCat("/proc/", pid, "/cgroup")));
  if (group.empty()) return "";
  const std::string file = StrCat("/sys/fs/cgroup/", group);
  return ReadText(file).empty() ? "" : file;
}

uint64_t ReadKillCounter(const std::string& file) {
  return file.empty() ? 0 : ParseProcNumber(ReadText(file), "oom_kill ");
}

bool HasEnded(const ProcessIdentity& process) {
  return IsOfThisMachine(process) && HasEnded(process, ParseProcStat(StatOf(process.pid)));
}

std::string DescribeProcess(const ProcessIdentity& process) {
  if (!IsOfThisMachine(process)) return "";
  const ProcStat stat = ParseProcStat(StatOf(process.pid));
  const std::string name = StrCat("its process ", process.pid);
  if (HasEnded(process, stat)) return StrCat(name, " has ended", HowEnded(process, stat));
  if (stat.state == 'T' || stat.state == 't') {
    return StrCat(name, " is stopped (by a signal or a debugger)");
  }
  return StrCat(name, " is there and ", stat.state == 'R' ? "computes" : "waits",
                ": it is cut off, or stuck");
}

}  // namespace thalweg
