// SPDX-License-Identifier: Apache-2.0
#include "thalweg/machine/findings.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

// Below these a machine is called slow. They are wide: what is found is worth somebody's time.
constexpr double kForeign = 0.25;      // processors of others while the roof was measured
constexpr double kStolen = 0.05;       // of all processors
constexpr double kGain = 0.6;          // of threads times one thread's products
constexpr double kLoopback = 100e-6;   // seconds there and back
constexpr double kLittleMemory = 0.1;  // of what the machine has
constexpr int64_t kFewFiles = 1024;    // a server takes some for each peer, a run for each shard
constexpr int64_t kFewTasks = 64;      // that may still be started
constexpr double kGiga = 1e9;

// With at most one digit behind the point.
std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), value < 10 ? "%.1f" : "%.0f", value);
  return text;
}

std::string Gigabytes(int64_t bytes) {
  return StrCat(Short(static_cast<double>(bytes) / kGiga), " GB");
}

class Findings {
 public:
  void Wrong(std::string what, std::string remedy) { Add(FindingKind::kWrong, what, remedy); }
  void Slow(std::string what, std::string remedy) { Add(FindingKind::kSlow, what, remedy); }
  void Note(std::string what, std::string remedy) { Add(FindingKind::kNote, what, remedy); }

  std::vector<Finding> Take() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Finding& a, const Finding& b) { return a.kind < b.kind; });
    return std::move(all_);
  }

 private:
  void Add(FindingKind kind, std::string& what, std::string& remedy) {
    all_.push_back({kind, std::move(what), std::move(remedy)});
  }
  std::vector<Finding> all_;
};

void ExamineProcessors(const MachineFacts& machine, Findings* found) {
  const ProcessLimits& limits = machine.limits;
  if (limits.processors > 0 && limits.processors < machine.processors) {
    found->Note(StrCat("the container may use ", Short(limits.processors), " of ",
                       machine.processors, " processors; sessions start ", machine.usable,
                       machine.usable == 1 ? " thread" : " threads"),
                "raise its limit (docker run --cpus, resources.limits.cpu) for more");
  } else if (machine.usable < machine.processors) {
    found->Note(StrCat("this process may run on ", machine.usable, " of ", machine.processors,
                       " processors"),
                "start it with taskset or numactl that allow more, if it should have them");
  }
  if (limits.throttled > 0) {
    found->Slow(
        StrCat("the container had used up its processor time ", limits.throttled,
               " times, and stood still for ", Short(limits.throttled_seconds), " s in all"),
        "raise its limit, or make it a whole number of processors and give sessions as "
        "many threads");
  }
  if (machine.governor == "powersave" || machine.governor == "conservative") {
    found->Slow(StrCat("frequencies are governed by '", machine.governor, "'"),
                "cpupower frequency-set -g performance");
  }
  for (const char* slow : {"hpet", "acpi_pm", "jiffies", "refined-jiffies"}) {
    if (machine.clock_source != slow) continue;
    found->Slow(StrCat("the clock is '", slow, "', which takes about a microsecond to read"),
                "boot with clocksource=tsc where the processor's own clock is steady; traced steps "
                "cost more until then");
  }
}

void ExamineMemory(const MachineFacts& machine, Findings* found) {
  const int64_t limit = machine.limits.memory;
  if (limit > 0 && limit < machine.memory) {
    found->Note(StrCat("the container may use ", Gigabytes(limit), " of the machine's ",
                       Gigabytes(machine.memory), "; steps that need more end with an error"),
                "raise its limit (docker run --memory, resources.limits.memory) for more");
  }
  if (machine.memory > 0 && static_cast<double>(machine.available) <
                                kLittleMemory * static_cast<double>(machine.memory)) {
    found->Slow(
        StrCat("other programs have left ", Gigabytes(machine.available), " of ",
               Gigabytes(machine.memory), machine.swap_used > 0 ? ", and the system swaps" : ""),
        "end what is not needed (ps aux --sort -rss shows the largest)");
  }
  if (machine.huge_pages == "never") {
    found->Slow("transparent huge pages are off, so large tensors take many small pages",
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (machine.overcommit == 2) {
    found->Note(
        "the system promises no memory that it has not (vm.overcommit_memory is 2), so "
        "large tensors are refused earlier than elsewhere",
        "sysctl vm.overcommit_memory=0 where that is not meant");
  }
}

void ExamineLimits(const MachineFacts& machine, Findings* found) {
  if (machine.open_files > 0 && machine.open_files < kFewFiles) {
    found->Wrong(StrCat("this process may open ", machine.open_files,
                        " files; a server of a cluster and checkpoints of many shards need more"),
                 machine.most_open_files < kFewFiles
                     ? "ulimit -n 65536, after root has raised ulimit -Hn to as much"
                     : StrCat("ulimit -n ", std::min<int64_t>(machine.most_open_files, 65536)));
  }
  if (machine.task_limit > 0 && machine.task_limit - machine.tasks < kFewTasks) {
    found->Wrong(StrCat("the container may have ", machine.task_limit, " threads and has ",
                        machine.tasks, "; sessions may fail to start theirs"),
                 "raise its limit (docker run --pids-limit)");
  }
}

void ExamineLibrary(const Examined& examined, Findings* found) {
  if (examined.hardware < compute::IsaLevel::kAvx2) {
    found->Slow(
        StrCat("the processor has no AVX2 (best is ", compute::IsaLevelName(examined.hardware),
               "), so products take four to eight times as long"),
        "use another machine; virtual ones may hide it: let them see the host's processor");
  } else if (examined.level < examined.hardware) {
    found->Slow(StrCat("the library uses ", compute::IsaLevelName(examined.level),
                       ", the processor has ", compute::IsaLevelName(examined.hardware)),
                "use a build that is not capped below it");
  }
  for (const std::string& name : examined.missing_components) {
    found->Wrong(StrCat(name, " is not beside libthalweg.so; what needs it fails or is slow"),
                 "install the package whole");
  }
  if (!examined.no_devices.empty()) {
    found->Wrong(StrCat("the devices that THALWEG_DEVICE_COUNT asks for cannot be had: ",
                        examined.no_devices),
                 "install their driver, or ask for fewer");
  }
  if (!examined.no_roof.empty()) {
    found->Wrong(StrCat("nothing could be measured: ", examined.no_roof),
                 "give programs more memory and threads here (ulimit -a shows the limits)");
  }
  const bool has_gpu = std::ranges::any_of(
      examined.devices, [](const ExaminedDevice& device) { return device.type == "GPU"; });
  if (!examined.machine.cards.empty() && !has_gpu) {
    found->Note(StrCat("there is a card, ", examined.machine.cards.front(),
                       ", and no device for it: no CUDA or OpenCL driver was found that runs it"),
                "install its maker's driver: of NVIDIA with NVRTC (pip install "
                "nvidia-cuda-nvrtc-cu12), of others OpenCL's and ocl-icd-libopencl1 (clinfo shows "
                "what is found)");
  }
}

void ExamineRoof(const MachineFacts& machine, const Roof& roof, Findings* found) {
  const int usable = std::max(machine.usable, 1);
  if (roof.foreign > kForeign) {
    found->Slow(StrCat("other programs kept ", Short(roof.foreign), " of ", machine.processors,
                       " processors busy while this was measured"),
                "end them, or give sessions fewer threads (top shows who they are)");
  }
  if (roof.stolen > kStolen * machine.processors) {
    found->Slow(
        StrCat("the host of this virtual machine gave ",
               Short(100 * roof.stolen / machine.processors), " % of its processor time to others"),
        "ask for processors of its own, or move it");
  }
  if (roof.threads > 1 && roof.product_all < kGain * roof.threads * roof.product_one) {
    const std::string ratio = Short(roof.product_all / roof.product_one);
    if (machine.threads_a_core > 1) {
      found->Note(StrCat(roof.threads, " threads make products ", ratio, " times as fast as one: ",
                         machine.threads_a_core, " of them share a core"),
                  StrCat("threads = ", std::max(usable / machine.threads_a_core, 1),
                         " may be as fast, and leaves the rest to others: measure your program"));
    } else {
      found->Slow(StrCat(roof.threads, " threads make products ", ratio, " times as fast as one"),
                  "see that nothing else runs, and that virtual processors are cores of their own");
    }
  }
  if (!roof.no_loopback.empty()) {
    found->Wrong(StrCat("servers of this machine do not reach each other: ", roof.no_loopback),
                 "ip link set lo up, and let nothing filter it");
  }
  if (roof.loopback > kLoopback) {
    found->Slow(
        StrCat("a byte over the loopback and back takes ", Short(roof.loopback * 1e6), " us"),
        "see what filters or traces the loopback (iptables -L, nft list ruleset), and that "
        "nothing else runs");
  }
}

}  // namespace

std::vector<Finding> Examine(const Examined& examined) {
  Findings found;
  ExamineLibrary(examined, &found);
  ExamineLimits(examined.machine, &found);
  ExamineProcessors(examined.machine, &found);
  ExamineMemory(examined.machine, &found);
  if (examined.roof.has_value()) ExamineRoof(examined.machine, *examined.roof, &found);
  return found.Take();
}

const char* FindingKindName(FindingKind kind) {
  if (kind == FindingKind::kWrong) return "wrong";
  return kind == FindingKind::kSlow ? "slow" : "note";
}

}  // namespace thalweg
