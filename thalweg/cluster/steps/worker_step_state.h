// SPDX-License-Identifier: Apache-2.0
// WorkerStepState: in which state the steps of a task are, and what is to be done about what
// happens to them. A state machine: it knows no thread, clock or channel; its owner carries out
// what it says.
//
//   StepReaction todo = state.Start({.step = step, .plan = 3}, own_incarnation, now);
//   HandleAllThatHasArrived();                 // for kPrepare: of every channel
//   todo = state.Begin(step);                  // kRun, or kAnswer when a CANCEL was among it
//   todo = state.Ended(step, status);          // the last kernel is back: kAnswer
//
// A tensor may come before START (kept for a while). A step of which anything was dropped never
// starts later: it leaves a tombstone until the master says that all steps up to it are over.
// Steps of a master that is not known, or whose number is below its lowest open one, are dropped.
// Ownership: keeps numbers and Statuses; tensors, parts and channels are its owner's.
// Threads: one at a time.
// Errors: AlreadyExists for the number of a master that another one has.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/steps/step_time.h"
#include "thalweg/cluster/transport/message.h"

namespace thalweg {

struct StepReaction {
  enum Kind {
    kNothing,
    kKeep,     // the tensor belongs to the step: hand it over or keep it
    kDrop,     // forget what is kept for the step; of a tensor: it as well
    kPrepare,  // handle what has arrived on all channels, then call Begin
    kRun,      // start the part
    kAbort,    // end the part that runs, with `status`; Ended follows
    kAnswer,   // tell the master: DONE when `status` is ok, else FAIL; forget what is kept
  };
  Kind kind = kNothing;
  uint64_t step = 0;
  Status status;
  bool derived = false;  // of a failure: somebody else reports its cause
};

struct WorkerStepLimits {
  StepTime early_life = std::chrono::seconds(30);  // of tensors whose START does not come
  StepTime grace{0};                               // for a part that is late to say why it is
  size_t most_early_steps = 10'000;                // of all masters
  size_t most_early_bytes = size_t{1} << 30;
};

class WorkerStepState {
 public:
  explicit WorkerStepState(WorkerStepLimits limits = {}) : limits_(limits) {}

  // AlreadyExists: choose another number.
  Status AddMaster(uint32_t master);
  // Ends its steps.
  std::vector<StepReaction> RemoveMaster(uint32_t master, const Status& why);
  // Ends its steps; it may start others.
  std::vector<StepReaction> CancelAll(uint32_t master, const Status& why);

  // START carries the lowest open step of its master: Forget comes first.
  StepReaction Start(const StartMessage& start, uint64_t incarnation, StepTime now);
  StepReaction Begin(uint64_t step);
  StepReaction Tensor(uint64_t step, size_t bytes, StepTime now);
  StepReaction Cancel(uint64_t step, const Status& why);
  // Something of the step's went wrong outside its kernels, such as a peer that is lost.
  StepReaction Fail(uint64_t step, const Status& why);
  StepReaction Ended(uint64_t step, const Status& status);
  // A master says which of its steps is the lowest that is open.
  std::vector<StepReaction> Forget(uint32_t master, uint64_t lowest_open);
  // What is late.
  std::vector<StepReaction> Expire(StepTime now);

  // Steps that are early or run, and what is kept of others.
  size_t open_steps() const;
  size_t tombstones() const;

 private:
  enum class State { kEarly, kStarting, kRunning, kEnding, kEnded };
  struct Step {
    State state = State::kEarly;
    StepTime end{};  // early: when its tensors are dropped; else the step's deadline
    size_t early_bytes = 0;
    Status why;  // starting, ending: why it does not go on
    bool derived = false;
  };
  struct Master {
    uint64_t lowest_open = 0;
    std::map<uint64_t, Step> steps;  // by number
  };
  Step* Find(uint64_t step);
  void LeaveEarly(Step* step);
  StepReaction DropEarly(uint64_t step, Step* entry);
  StepReaction Stop(uint64_t step, const Status& why, bool derived);

  const WorkerStepLimits limits_;
  std::unordered_map<uint32_t, Master> masters_;
  size_t early_steps_ = 0;
  size_t early_bytes_ = 0;
};

}  // namespace thalweg
