// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/worker_step_state.h"

#include <utility>

#include "thalweg/base/first_error.h"

namespace thalweg {
namespace {

StepReaction Refuse(uint64_t step, Status why) {
  return {.kind = StepReaction::kAnswer, .step = step, .status = std::move(why), .derived = true};
}

}  // namespace

Status WorkerStepState::AddMaster(uint32_t master) {
  if (masters_.try_emplace(master).second) return OkStatus();
  return AlreadyExists("another session has the number ", master, " on this task");
}

std::vector<StepReaction> WorkerStepState::RemoveMaster(uint32_t master, const Status& why) {
  std::vector<StepReaction> todo;
  const auto found = masters_.find(master);
  if (found == masters_.end()) return todo;
  for (auto& [number, step] : found->second.steps) {
    const uint64_t id = MakeStep(master, number);
    if (step.state == State::kEarly) {
      todo.push_back(DropEarly(id, &step));
    } else if (step.state == State::kRunning) {
      todo.push_back({.kind = StepReaction::kAbort, .step = id, .status = why, .derived = true});
    }
  }
  masters_.erase(found);
  return todo;
}

std::vector<StepReaction> WorkerStepState::CancelAll(uint32_t master, const Status& why) {
  std::vector<StepReaction> todo;
  const auto found = masters_.find(master);
  if (found == masters_.end()) return todo;
  for (const auto& [number, step] : found->second.steps) {
    StepReaction reaction = Stop(MakeStep(master, number), why, true);
    if (reaction.kind != StepReaction::kNothing) todo.push_back(std::move(reaction));
  }
  return todo;
}

WorkerStepState::Step* WorkerStepState::Find(uint64_t step) {
  const auto master = masters_.find(MasterOfStep(step));
  if (master == masters_.end()) return nullptr;
  const auto found = master->second.steps.find(NumberOfStep(step));
  return found == master->second.steps.end() ? nullptr : &found->second;
}

void WorkerStepState::LeaveEarly(Step* step) {
  --early_steps_;
  early_bytes_ -= std::exchange(step->early_bytes, 0);
}

// Who dropped something of a step must refuse its START.
StepReaction WorkerStepState::DropEarly(uint64_t step, Step* entry) {
  LeaveEarly(entry);
  entry->state = State::kEnded;
  return {.kind = StepReaction::kDrop, .step = step, .status = {}};
}

StepReaction WorkerStepState::Start(const StartMessage& start, uint64_t incarnation, StepTime now) {
  const auto master = masters_.find(MasterOfStep(start.step));
  if (master == masters_.end()) {
    return Refuse(
        start.step,
        Aborted("this task does not know the session of the step: it may have restarted"));
  }
  const uint64_t number = NumberOfStep(start.step);
  if (number < master->second.lowest_open) {
    return Refuse(start.step, Aborted("the step is over: START comes after later steps"));
  }
  const auto [at, is_new] = master->second.steps.try_emplace(number);
  Step& step = at->second;
  if (!is_new && step.state == State::kEnded) {
    return Refuse(start.step, Aborted("the step has ended on this task before it was started"));
  }
  if (!is_new && step.state != State::kEarly) return {};  // a second START
  if (!is_new) LeaveEarly(&step);
  if (start.incarnation != incarnation) {
    step.state = State::kEnded;
    return Refuse(start.step, Aborted("this task has restarted since the graph was registered"));
  }
  step.state = State::kStarting;
  const StepTime room = StepTime::max() - now - limits_.grace;
  const StepTime left(start.time_left);
  step.end = left.count() == 0 || left > room ? StepTime::max() : now + left + limits_.grace;
  return {.kind = StepReaction::kPrepare, .step = start.step, .status = {}};
}

StepReaction WorkerStepState::Begin(uint64_t step) {
  Step* const entry = Find(step);
  if (entry == nullptr) return {.kind = StepReaction::kDrop, .step = step, .status = {}};
  if (entry->state != State::kStarting) return {};
  if (!entry->why.ok()) {
    entry->state = State::kEnded;
    return {.kind = StepReaction::kAnswer,
            .step = step,
            .status = entry->why,
            .derived = entry->derived};
  }
  entry->state = State::kRunning;
  return {.kind = StepReaction::kRun, .step = step, .status = {}};
}

StepReaction WorkerStepState::Tensor(uint64_t step, size_t bytes, StepTime now) {
  const StepReaction drop{.kind = StepReaction::kDrop, .step = step, .status = {}};
  const StepReaction keep{.kind = StepReaction::kKeep, .step = step, .status = {}};
  const auto master = masters_.find(MasterOfStep(step));
  if (master == masters_.end()) return drop;
  const uint64_t number = NumberOfStep(step);
  if (number < master->second.lowest_open) return drop;
  const auto [at, is_new] = master->second.steps.try_emplace(number);
  Step& entry = at->second;
  if (is_new) {
    entry.end = now + limits_.early_life;
    ++early_steps_;
  }
  if (entry.state != State::kEarly) {
    return entry.state == State::kStarting || entry.state == State::kRunning ? keep : drop;
  }
  entry.early_bytes += bytes;
  early_bytes_ += bytes;
  if (early_steps_ > limits_.most_early_steps || early_bytes_ > limits_.most_early_bytes) {
    return DropEarly(step, &entry);
  }
  return keep;
}

StepReaction WorkerStepState::Stop(uint64_t step, const Status& why, bool derived) {
  Step* const entry = Find(step);
  if (entry == nullptr) return {};
  switch (entry->state) {
    case State::kEarly:
      return DropEarly(step, entry);
    case State::kStarting:
      if (KeepFirstError(why, &entry->why)) entry->derived = derived;
      return {};
    case State::kRunning:
      entry->state = State::kEnding;
      entry->why = why;
      entry->derived = derived;
      return {.kind = StepReaction::kAbort, .step = step, .status = why, .derived = derived};
    case State::kEnding:
    case State::kEnded:
      return {};
  }
  return {};
}

StepReaction WorkerStepState::Cancel(uint64_t step, const Status& why) {
  const auto master = masters_.find(MasterOfStep(step));
  if (master == masters_.end()) return {};
  const uint64_t number = NumberOfStep(step);
  if (number < master->second.lowest_open) return {};
  // Before its START: that one must not run.
  const auto [at, is_new] = master->second.steps.try_emplace(number);
  if (is_new) {
    at->second.state = State::kEnded;
    return {};
  }
  return Stop(step, why, true);
}

StepReaction WorkerStepState::Fail(uint64_t step, const Status& why) {
  return Stop(step, why, false);
}

StepReaction WorkerStepState::Ended(uint64_t step, const Status& status) {
  StepReaction answer{.kind = StepReaction::kAnswer, .step = step, .status = status};
  const auto master = masters_.find(MasterOfStep(step));
  Step* const entry = Find(step);
  if (entry == nullptr) {  // its master was removed meanwhile: nobody listens
    answer.kind = StepReaction::kDrop;
    return answer;
  }
  // What stopped the part is its error, whatever the kernels made of it.
  if (entry->state == State::kEnding) {
    answer.status = entry->why;
    answer.derived = entry->derived;
  }
  entry->state = State::kEnded;
  entry->why = OkStatus();
  const uint64_t number = NumberOfStep(step);
  if (number < master->second.lowest_open) master->second.steps.erase(number);
  return answer;
}

std::vector<StepReaction> WorkerStepState::Forget(uint32_t master, uint64_t lowest_open) {
  std::vector<StepReaction> todo;
  const auto found = masters_.find(master);
  if (found == masters_.end() || lowest_open <= found->second.lowest_open) return todo;
  found->second.lowest_open = lowest_open;
  auto& steps = found->second.steps;
  for (auto at = steps.begin(); at != steps.end() && at->first < lowest_open;) {
    Step& step = at->second;
    if (step.state == State::kEarly) todo.push_back(DropEarly(MakeStep(master, at->first), &step));
    at = step.state == State::kEnded ? steps.erase(at) : std::next(at);
  }
  return todo;
}

std::vector<StepReaction> WorkerStepState::Expire(StepTime now) {
  std::vector<StepReaction> todo;
  for (auto& [id, master] : masters_) {
    for (auto& [number, step] : master.steps) {
      if (step.end > now) continue;
      const uint64_t whole = MakeStep(id, number);
      if (step.state == State::kEarly) {
        todo.push_back(DropEarly(whole, &step));
      } else if (step.state == State::kRunning || step.state == State::kStarting) {
        StepReaction reaction =
            Fail(whole, DeadlineExceeded("the step did not end in the time that it was given"));
        if (reaction.kind != StepReaction::kNothing) todo.push_back(std::move(reaction));
      }
    }
  }
  return todo;
}

size_t WorkerStepState::open_steps() const {
  size_t open = 0;
  for (const auto& [id, master] : masters_) {
    for (const auto& [number, step] : master.steps) open += step.state != State::kEnded ? 1 : 0;
  }
  return open;
}

size_t WorkerStepState::tombstones() const {
  size_t ended = 0;
  for (const auto& [id, master] : masters_) {
    for (const auto& [number, step] : master.steps) ended += step.state == State::kEnded ? 1 : 0;
  }
  return ended;
}

}  // namespace thalweg
