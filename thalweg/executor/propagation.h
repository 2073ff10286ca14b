// SPDX-License-Identifier: Apache-2.0
// Propagation: how values and signals move between units, iterations and frames in one step, seen
// from one thread.
//
// The same source twice: with plain counters for a step that one thread runs, with atomics where
// several do. A unit that becomes ready goes on this thread's stack; the first heavy one is kept,
// further ones go to the ReadyQueue. A unit is counted in its iteration's `outstanding` before
// another thread can see it; units of the current iteration that stay here are counted in one go
// when the running unit ends.
// Ownership: values lie in the step's iterations and the thread's scratch, which outlive it.
// Threads: one for each object; of one step several, where kParallel.
// Errors: go to the step; InvalidArgument for an Exit that would come twice.
#pragma once

#include <utility>
#include <vector>

#include "thalweg/executor/step.h"

namespace thalweg {

template <bool kParallel>
class Propagation {
 public:
  Propagation(StepState& step, Scratch& scratch)
      : step_(step),
        plan_(step.plan()),
        registers_(scratch.registers.get()),
        ready_(scratch.ready),
        sections_(scratch.sections),
        variables_(scratch.variables),
        parked_(scratch.parked) {}

 protected:
  // One read-modify-write; returns the old value.
  template <class T>
  static T FetchSub(T& counter, T amount) {
    if constexpr (kParallel) {
      return std::atomic_ref<T>(counter).fetch_sub(amount, std::memory_order_acq_rel);
    } else {
      return std::exchange(counter, counter - amount);
    }
  }
  static uint32_t FetchOr(uint32_t& counter, uint32_t bits) {
    if constexpr (kParallel) {
      return std::atomic_ref<uint32_t>(counter).fetch_or(bits, std::memory_order_acq_rel);
    } else {
      return std::exchange(counter, counter | bits);
    }
  }
  static int64_t AddOutstanding(Iteration& iteration, int64_t amount) {
    if constexpr (kParallel) {
      return iteration.outstanding.fetch_add(amount, std::memory_order_acq_rel) + amount;
    } else {
      const int64_t now = iteration.outstanding.load(std::memory_order_relaxed) + amount;
      iteration.outstanding.store(now, std::memory_order_relaxed);
      return now;
    }
  }

  // --- Units

  void Ready(Iteration& iteration, uint32_t unit) {
    if constexpr (kParallel) {
      if (iteration.code->units[unit].cls == UnitClass::kHeavy) {
        if (kept_.iteration == nullptr) {
          Count(iteration);
          kept_ = {&iteration, unit};
        } else {
          AddOutstanding(iteration, 1);
          step_.queue().Push({&iteration, unit});
          step_.AskForHelp();
        }
        return;
      }
    }
    Count(iteration);
    ready_.push_back({&iteration, unit});
  }

  void Count(Iteration& iteration) {
    if (&iteration == current_) {
      ++gained_;
    } else {
      AddOutstanding(iteration, 1);
    }
  }

  void SignalUnit(Iteration& iteration, uint32_t unit, bool dead) {
    uint32_t& pending = iteration.pending[unit];
    // The mark comes first: the unit may run as soon as the count is down.
    if (dead) FetchOr(pending, kDeadMark);
    if ((FetchSub(pending, 1u) & ~kDeadMark) == 1) Ready(iteration, unit);
  }

  // --- Values

  // A reader of a shared slot has what it needs.
  void DropReader(Iteration& iteration, uint32_t slot) {
    if (FetchSub(iteration.readers[slot], 1u) == 1) Clear(iteration.slots()[slot]);
  }

  [[gnu::always_inline]] Tensor* PlaceOf(const Iteration& iteration, Operand operand) const {
    Tensor* base = operand.base() == kRegisters ? registers_ : iteration.bases[operand.base()];
    return base + operand.index();
  }

  // The value for a reader that keeps it: moved at its last use.
  [[gnu::always_inline]] Tensor Consume(Iteration& iteration, Operand operand) {
    Tensor* place = PlaceOf(iteration, operand);
    if (!operand.last()) return *place;
    if (!operand.shared()) return std::move(*place);
    Tensor value = *place;
    DropReader(iteration, operand.index());
    return value;
  }

  // The end of a use without the use.
  [[gnu::always_inline]] void Drop(Iteration& iteration, Operand operand) {
    if (!operand.last()) return;
    if (operand.shared()) {
      DropReader(iteration, operand.index());
    } else {
      Clear(*PlaceOf(iteration, operand));
    }
  }

  // --- Emitting instructions

  // Runs one instruction that tells others something. `dead`: what it tells is that nothing will
  // come.
  void Emit(Iteration& iteration, const Instr& instr, bool dead) {
    const uint32_t* words = plan_.words.data() + instr.words;
    switch (instr.opcode) {
      case Opcode::kSignal:
      case Opcode::kSignalLive:
        for (uint64_t i = 0; i < instr.aux; ++i) {
          SignalUnit(iteration, words[i], dead && instr.opcode == Opcode::kSignal);
        }
        break;
      case Opcode::kSendMerge:
        if (dead) {
          Drop(iteration, {words[0]});
          DeadToMerge(iteration, words[1]);
        } else {
          ToMerge(iteration, words[1], words[2], Consume(iteration, {words[0]}));
        }
        break;
      case Opcode::kSendNext:
        if (dead) {
          Drop(iteration, {words[0]});
        } else {
          ToNext(iteration, words[3], Consume(iteration, {words[0]}));
        }
        break;
      case Opcode::kSendExit:
        if (dead) {
          Drop(iteration, {words[0]});
        } else {
          ToExit(*iteration.frame, words[1], Consume(iteration, {words[0]}));
        }
        break;
      default:
        break;
    }
  }

  void EmitRange(Iteration& iteration, uint32_t begin, uint32_t end, bool dead) {
    for (uint32_t i = begin; i < end; ++i) Emit(iteration, plan_.code[i], dead);
  }

  // Sections wait here instead of on the stack: a chain of a million Merges must not recurse.
  void DrainSections() {
    while (!sections_.empty()) {
      const Scratch::PendingSection section = sections_.back();
      sections_.pop_back();
      EmitRange(*section.iteration, section.section.begin, section.section.end, section.dead);
    }
  }

  // --- Merges, Exits, iterations

  void ToMerge(Iteration& iteration, uint32_t merge, uint32_t input, Tensor value) {
    if ((FetchOr(iteration.merges[merge], kFiredMark) & kFiredMark) != 0) return;
    const MergeCode& code = iteration.code->merges[merge];
    if (code.slot != kNone) Put(iteration.slots()[code.slot], std::move(value));
    if (code.index_slot != kNone) {
      Put(iteration.slots()[code.index_slot], Tensor::Scalar(static_cast<int32_t>(input)));
    }
    sections_.push_back({&iteration, code.section, false});
  }

  void DeadToMerge(Iteration& iteration, uint32_t merge) {
    if (FetchSub(iteration.merges[merge], 1u) == 1) {
      sections_.push_back({&iteration, iteration.code->merges[merge].section, true});
    }
  }

  void ToExit(FrameRun& frame, uint32_t exit, Tensor value) {
    if (frame.exit_sent[exit].exchange(1, std::memory_order_acq_rel) != 0) {
      step_.Fail(InvalidArgument("an Exit of the loop '", frame.code->name,
                                 "' has a value in more than one iteration"));
      return;
    }
    const ExitCode& code = frame.code->exits[exit];
    if (code.slot != kNone) Put(frame.parent->slots()[code.slot], std::move(value));
    sections_.push_back({frame.parent, code.section, false});
  }

  void ToNext(Iteration& iteration, uint32_t next, Tensor value) {
    iteration.next_sent[next] = 1;
    Iteration* following = iteration.next.load(std::memory_order_acquire);
    if (following == nullptr) {
      FrameRun& frame = *iteration.frame;
      bool made = false;
      {
        StepLock<kParallel> lock(frame.mutex);
        following = iteration.next.load(std::memory_order_relaxed);
        if (following == nullptr) {
          if (frame.live >= frame.code->parallel_iterations) {
            frame.parked.push_back({next, std::move(value)});
            return;
          }
          following = step_.NewIteration(frame);
          iteration.next.store(following, std::memory_order_release);
          made = true;
        }
      }
      if (made) StartIteration(*following);
    }
    const NextCode& code = iteration.code->nexts[next];
    ToMerge(*following, code.merge, code.input, std::move(value));
  }

  // Units and merges that no signal of the iteration starts.
  void StartIteration(Iteration& iteration) {
    for (const uint32_t unit : iteration.code->initial) Ready(iteration, unit);
    if ((iteration.tag & 0xffffffffu) == 0) return;
    for (const uint32_t merge : iteration.code->never_later) {
      sections_.push_back({&iteration, iteration.code->merges[merge].section, true});
    }
  }

  // All that enters has arrived, alive or dead: operands `words` of a unit of `iteration`.
  void StartFrame(Iteration& iteration, uint32_t number, const uint32_t* words) {
    FrameRun& frame = *step_.NewFrame(number, &iteration);
    const FrameCode& code = *frame.code;
    AddOutstanding(iteration, 1);
    variables_.resize(code.enters.size());
    for (size_t e = 0; e < code.enters.size(); ++e) {
      Tensor value = Consume(iteration, {words[e]});
      if (!code.enters[e].is_constant) {
        variables_[e] = std::move(value);
        continue;
      }
      frame.has_dead_invariant |= value.empty();
      frame.invariants[code.enters[e].invariant] = std::move(value);
    }
    Iteration* first;
    {
      StepLock<kParallel> lock(frame.mutex);
      first = step_.NewIteration(frame);
    }
    StartIteration(*first);
    for (size_t e = 0; e < code.enters.size(); ++e) {
      for (const EnterCode::Target& target : code.enters[e].targets) {
        if (variables_[e].empty()) {
          DeadToMerge(*first, target.merge);
        } else {
          ToMerge(*first, target.merge, target.input, variables_[e]);
        }
      }
    }
    variables_.clear();
    DrainSections();
    Leave(*first, 1);
  }

  // `amount` things of the iteration have ended. Ends it and what ends with it.
  void Leave(Iteration& iteration, int64_t amount) {
    if (amount == 0 || AddOutstanding(iteration, -amount) != 0) return;
    Iteration* ended = &iteration;
    while (ended != nullptr) {
      if (ended->frame == nullptr) {
        return kParallel ? step_.queue().Finish() : step_.queue().FinishAlone();
      }
      ended = EndIteration(*ended);
    }
  }

 private:
  // Nobody else touches `ended` any more. Returns what has ended with it: the next iteration, or
  // the parent's.
  Iteration* EndIteration(Iteration& ended) {
    FrameRun& frame = *ended.frame;
    const bool stopped = step_.Stopped();
    Iteration* made = nullptr;
    {
      StepLock<kParallel> lock(frame.mutex);
      parked_.swap(frame.parked);
      if (!parked_.empty() && !stopped) {
        Iteration* newest = frame.newest;
        made = step_.NewIteration(frame);
        newest->next.store(made, std::memory_order_release);
      }
      --frame.live;
    }
    if (made != nullptr) {
      StartIteration(*made);
      for (FrameRun::Parked& value : parked_) {
        const NextCode& code = frame.code->nexts[value.next];
        ToMerge(*made, code.merge, code.input, std::move(value.value));
      }
    } else if (!parked_.empty()) {
      step_.MarkSkipped();
    }
    parked_.clear();
    Iteration* following = ended.next.load(std::memory_order_acquire);
    if (following == nullptr) return EndFrame(ended);
    // So that every node of an iteration that exists runs or is dead.
    for (size_t next = 0; next < frame.code->nexts.size() && !stopped; ++next) {
      if (ended.next_sent[next] == 0) DeadToMerge(*following, frame.code->nexts[next].merge);
    }
    DrainSections();
    NoteHeld(ended);
    StepState::Sweep(ended);
    {
      StepLock<kParallel> lock(frame.mutex);
      frame.free.emplace_back(&ended);
    }
    return AddOutstanding(*following, -1) == 0 ? following : nullptr;
  }

  // What is left in an iteration of a step that found no room is said.
  void NoteHeld(const Iteration& ended) {
    if (!step_.held().wanted()) return;
    step_.held().AddSlots(plan_, ended.frame_number, ended.slots());
  }

  Iteration* EndFrame(Iteration& last) {
    FrameRun& frame = *last.frame;
    Iteration& parent = *frame.parent;
    for (size_t exit = 0; exit < frame.code->exits.size() && !step_.Stopped(); ++exit) {
      if (frame.exit_sent[exit].load(std::memory_order_acquire) != 0) continue;
      sections_.push_back({&parent, frame.code->exits[exit].section, true});
    }
    DrainSections();
    NoteHeld(last);
    StepState::Sweep(last);
    {
      StepLock<kParallel> lock(frame.mutex);
      frame.free.emplace_back(&last);
    }
    step_.Recycle(&frame);
    return AddOutstanding(parent, -1) == 0 ? &parent : nullptr;
  }

 protected:
  StepState& step_;
  const Plan& plan_;
  Tensor* registers_;
  Iteration* current_ = nullptr;  // of the unit that runs
  int64_t gained_ = 0;            // units of it that became ready and stay on this thread
  std::vector<Activation>& ready_;
  Activation kept_;

 private:
  std::vector<Scratch::PendingSection>& sections_;
  std::vector<Tensor>& variables_;
  std::vector<FrameRun::Parked>& parked_;
};

}  // namespace thalweg
