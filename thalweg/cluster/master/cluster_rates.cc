// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/cluster_rates.h"

#include <memory>
#include <utility>

#include "thalweg/cluster/peers/task_rates.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

constexpr std::chrono::nanoseconds kPatience = 2 * kMeasuringTime;  // with a task's answer

// What the tasks have answered so far; kept by the calls that are open.
struct Answers {
  Mutex mutex;
  CondVar changed;
  size_t open GUARDED_BY(mutex) = 0;
  std::map<std::string, TaskRates> rates GUARDED_BY(mutex);  // by task
};

// To which tasks each one that can be asked measures its link: of two tasks of ours either as often
// as the other, of two that differ ours.
std::map<std::string, std::vector<std::string>> ShareOut(const std::vector<std::string>& tasks,
                                                         const std::vector<bool>& is_ours) {
  std::map<std::string, std::vector<std::string>> shares;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (is_ours[i]) shares[tasks[i]];
    for (size_t j = 0; j < i; ++j) {
      if (!is_ours[i] && !is_ours[j]) continue;
      const bool is_first = is_ours[i] && is_ours[j] ? (i + j) % 2 == 0 : is_ours[i];
      shares[tasks[is_first ? i : j]].push_back(tasks[is_first ? j : i]);
    }
  }
  return shares;
}

void Ask(WorkerClients& peers, const std::string& task, const std::vector<std::string>& others,
         const std::shared_ptr<Answers>& answers) {
  const OwnedMessage ask(pb::GetStatusRequest::Descriptor());
  if (!AskForRates(others, ask.get()).ok()) return;
  {
    MutexLock lock(answers->mutex);
    ++answers->open;
  }
  peers.CallAside(task, "GetStatus", *ask, pb::GetStatusResponse::Descriptor(),
                  {.timeout = kPatience}, [answers, task](const Result<OwnedMessage>& answer) {
                    Result<TaskRates> told = answer.status();
                    if (answer.ok()) told = FindRates(**answer);
                    MutexLock lock(answers->mutex);
                    if (told.ok()) answers->rates[task] = *std::move(told);
                    if (--answers->open == 0) answers->changed.NotifyAll();
                  });
}

// Adds what all have answered, once they have or their time is over.
void Await(Answers& answers, const WorkerClients& peers, MeasuredRates* rates) {
  MutexLock lock(answers.mutex);
  while (answers.open > 0) answers.changed.Wait(answers.mutex);
  for (const auto& [task, told] : answers.rates) {
    for (const auto& [other, link] : told.links) {
      if (other != peers.self()) rates->AddTasks(task, other, link);
    }
    // A task speaks for its own devices.
    for (const auto& [name, processor] : told.devices.processors) {
      if (TaskOf(name) == task) rates->processors[name] = processor;
    }
    for (const auto& [name, bus] : told.devices.buses) {
      if (TaskOf(name) == task) rates->buses[name] = bus;
    }
  }
}

}  // namespace

MeasuredRates MeasureCluster(WorkerClients& peers, TaskLinks& links,
                             const std::vector<std::string>& tasks, Environment& environment) {
  std::vector<bool> is_ours;
  for (const std::string& task : tasks) {
    is_ours.push_back(peers.KnownVersion(task) == PeerVersion::kThalweg);
  }
  const auto shares = ShareOut(tasks, is_ours);
  // First the processors: on one host they would disturb what is measured of links.
  MeasuredRates rates;
  const auto processors = std::make_shared<Answers>();
  for (const auto& [task, others] : shares) Ask(peers, task, {}, processors);
  environment.MeasureDevices(&rates);
  Await(*processors, peers, &rates);

  const auto answers = std::make_shared<Answers>();
  for (const auto& [task, others] : shares) {
    if (!others.empty()) Ask(peers, task, others, answers);
  }
  const Deadline end = Deadline::After(environment.clock(), kMeasuringTime);
  for (const std::string& task : tasks) {
    const std::optional<LinkModel> link = links.To(task, end);
    if (link.has_value()) rates.AddTasks(peers.self(), task, *link);
  }
  Await(*answers, peers, &rates);
  return rates;
}

}  // namespace thalweg
