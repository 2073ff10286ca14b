// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/step_reports.h"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <utility>

namespace thalweg {
namespace {

int64_t CpuMicros() {
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto micros = [](const timeval& time) {
    return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

void Append(std::string_view what, const std::vector<std::string>& names, std::string* text) {
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i > 0 ? ", " : text->empty() ? "" : "; ";
    *text += StrCat(before, i == 0 ? what : "", names[i]);
  }
}

}  // namespace

// Rises while the process uses at least a tenth of a processor: more than heartbeats cost.
uint64_t StepReports::Computed() {
  const Clock::TimePoint now = environment_.clock().Now();
  const int64_t cpu = CpuMicros();
  MutexLock lock(mutex_);
  const int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now - sampled_).count();
  constexpr int64_t kShortest = 50'000;  // many masters may ask at once
  if (micros < kShortest) return computed_;
  if ((cpu - cpu_micros_) * 10 >= micros) ++computed_;
  sampled_ = now;
  cpu_micros_ = cpu;
  return computed_;
}

std::vector<StepSnapshot> StepReports::Look(const std::vector<std::string>* sessions,
                                            uint64_t* all) {
  std::vector<StepSnapshot> seen = DescribeSteps(steps_, channels_, environment_.clock().Now());
  for (const StepSnapshot& step : seen) *all += step.events;
  if (sessions == nullptr) return seen;
  std::erase_if(seen, [&](const StepSnapshot& step) {
    return std::ranges::count(*sessions, step.session) == 0;
  });
  return seen;
}

std::vector<StepReport> StepReports::List(const std::vector<std::string>* sessions, uint64_t* all) {
  const uint64_t computed = Computed();
  std::map<int64_t, std::vector<OpenStep>> running;  // a step may have several parts
  *all = computed;
  for (OpenStep& step : environment_.open_steps().List()) {
    *all += step.events + static_cast<uint64_t>(step.id) % 1'000'003;
    running[step.id].push_back(std::move(step));
  }
  std::vector<StepReport> reports;
  for (const StepSnapshot& step : Look(sessions, all)) {
    StepReport& report = reports.emplace_back();
    report.id = step.id;
    report.progress = step.events;
    bool computes = false;
    std::vector<std::string> called;
    for (const OpenStep& part : running[step.id]) {
      report.progress += part.events + 1;
      report.waits_outside |= std::ranges::any_of(part.waiting, [](const std::string& name) {
        return name.find(" for ") != std::string::npos;
      });
      computes |= part.computes();
      called.insert(called.end(), part.running.begin(), part.running.end());
      Append("waiting: ", part.waiting, &report.text);
    }
    if (computes && called.empty()) Append("", {"computing"}, &report.text);
    Append("computing ", called, &report.text);
    report.progress += computed;
    Append("asked for ", step.asked, &report.text);
    Append("values: ", step.values, &report.text);
  }
  return reports;
}

}  // namespace thalweg
