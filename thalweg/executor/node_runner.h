// SPDX-License-Identifier: Apache-2.0
// NodeRunner: one thread's work in one step: takes units that are ready and runs their code.
//
// Four instantiations: one thread or several, with a trace or without. Registers belong to the
// runner, so a step that a kernel runs inside of a step has its own.
// Ownership: points at the step and at its thread's scratch, which outlive it.
// Threads: the one whose number it has.
// Errors: go to the step (StepState::Fail), the first one wins; Internal for a kernel that leaves
// an output empty.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "thalweg/base/helper_listener.h"
#include "thalweg/executor/frames.h"
#include "thalweg/executor/node_error.h"
#include "thalweg/executor/propagation.h"
#include "thalweg/executor/value_record.h"
#include "thalweg/kernel/caught_exception.h"
#include "thalweg/kernel/waiting_kernel.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/traced_allocator.h"
#include "thalweg/tensor/uncounted_bytes.h"

namespace thalweg {

template <bool kParallel, bool kTrace>
class NodeRunner : public Propagation<kParallel> {
  using Base = Propagation<kParallel>;
  using Base::current_, Base::gained_, Base::kept_, Base::plan_, Base::ready_, Base::registers_,
      Base::step_;

 public:
  NodeRunner(StepState& step, Scratch& scratch, int thread) : Base(step, scratch), thread_(thread) {
    context_.SetBase(kConstants, const_cast<Tensor*>(plan_.constants.data()));
    context_.SetBase(kRegisters, registers_);
    if constexpr (!kTrace) ThreadSwitches::Rest();
  }

  void StartRoot() {
    Iteration& root = step_.root();
    current_ = &root;
    gained_ = 0;
    this->StartIteration(root);
    EndUnit(1);
  }

  // Runs until this thread has nothing of its own left.
  void RunReady() {
    for (;;) {
      Activation next;
      if (!ready_.empty()) {
        next = ready_.back();
        ready_.pop_back();
      } else if (kept_.iteration != nullptr) {
        next = std::exchange(kept_, {});
      } else {
        return;
      }
      RunUnit(next);
    }
  }

  void RunUnit(const Activation& activation) {
    Iteration& iteration = *activation.iteration;
    const Unit& unit = iteration.code->units[activation.unit];
    Enter(iteration, unit);
    const HelperScope helped(helpers_);
    bool suspended = false;
    if (step_.Stopped()) {
      step_.MarkSkipped();
    } else {
      unit_ = activation.unit;
      const bool dead = (iteration.pending[activation.unit] & kDeadMark) != 0;
      suspended = Run(unit, unit.begin, dead);
    }
    // A suspended unit may have ended already, on another thread.
    if (suspended) {
      current_ = nullptr;
      return;
    }
    EndUnit(1);
  }

  // The rest of a unit whose kernel has ended.
  void Resume(Ended ended) {
    AsyncState& state = *ended.state;
    Iteration& iteration = *state.iteration;
    const Unit& unit = iteration.code->units[state.unit];
    const Instr& instr = plan_.code[state.instr];
    Enter(iteration, unit);
    const HelperScope helped(helpers_);
    unit_ = state.unit;
    const Operand* operands = OperandsOf(instr);
    context_.SetOperands(operands, static_cast<int>(instr.inputs), static_cast<int>(instr.outputs));
    if constexpr (kTrace) Record(instr, state.start, true);
    if (!ended.status.ok()) {
      Fail(instr, ended.status);
    } else if (!AcceptOutputs(instr, context_.num_outputs()) ||
               (MakesTexts(instr) && !ChargeTexts(instr, operands))) {
      // The step has failed.
    } else if (step_.Stopped()) {
      step_.MarkSkipped();
    } else {
      const bool dead = instr.outputs > 0 && context_.output(0).empty();  // where it may be
      Run(unit, state.instr + 1, dead);
    }
    EndUnit(1);
  }

 private:
  enum class Outcome { kDone, kFailed, kSuspended };
  static constexpr int64_t kNoTime = INT64_MIN;

  void Enter(Iteration& iteration, const Unit& unit) {
    current_ = &iteration;
    gained_ = 0;
    step_context_ = step_.args().contexts[static_cast<size_t>(unit.device)];
    // Not before there is a unit: a helper may come when the step, and what it was given, is over.
    if (CalledNodes* const called = step_.args().called; called != nullptr) {
      called_ = &called->of(thread_);
    }
    if constexpr (kTrace) EnterTraced();
    tag_ = iteration.tag;
    context_.Bind(step_context_, tag_);
    context_.SetBase(kSlots, iteration.bases[kSlots]);
    context_.SetBase(kInvariants, iteration.bases[kInvariants]);
  }

  void EndUnit(int64_t ended) {
    called_->store(CalledNodes::kNone, std::memory_order_relaxed);
    this->DrainSections();
    if constexpr (kTrace) {
      // Behind Leave() the step, and with it the trace, may be over, unless this thread has more.
      if (ready_.empty() && kept_.iteration == nullptr) {
        HandOver();
      } else {
        HandOverSwitches();
      }
    }
    Iteration& iteration = *std::exchange(current_, nullptr);
    this->Leave(iteration, ended - gained_);
  }

  // True when the unit waits for an asynchronous kernel.
  bool Run(const Unit& unit, uint32_t from, bool dead) {
    Outcome outcome = Outcome::kDone;
    if (dead) {
      outcome = RunDead(from, unit.end);
    } else {
      try {
        outcome = RunCode(from, unit.end);
      } catch (...) {
        Fail(*instr_, CaughtException());
      }
      SetRegisters(unit_registers_);
    }
    Sweep(registers_, unit.registers);
    return outcome == Outcome::kSuspended;
  }

  static void Sweep(Tensor* values, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      // An inline scalar owns nothing.
      if (values[i].kind() > Tensor::Kind::kInline) values[i] = Tensor();
    }
  }

  void SetRegisters(Tensor* registers) {
    if (registers == nullptr || registers == registers_) return;
    registers_ = registers;
    context_.SetBase(kRegisters, registers);
  }

  const Operand* OperandsOf(const Instr& instr) const {
    return reinterpret_cast<const Operand*>(plan_.words.data() + instr.words);
  }
  [[gnu::always_inline]] Tensor* At(Operand operand) const {
    return this->PlaceOf(*current_, operand);
  }

  Outcome RunCode(uint32_t from, uint32_t to) {
    const Instr* const code = plan_.code.data();
    for (uint32_t pc = from; pc < to; ++pc) {
      const Instr& instr = code[pc];
      const Operand* operands = OperandsOf(instr);
      switch (instr.opcode) {
        case Opcode::kKernel:
          if (!CallKernel(instr, operands)) return Outcome::kFailed;
          continue;  // nothing lies between it and what follows
        case Opcode::kKernelRelease:
        case Opcode::kKernelAlways:
          if (!CallKernel(instr, operands)) return Outcome::kFailed;
          DropAll(instr, operands);
          break;
        case Opcode::kKernelTexts:
          if (!CallKernel(instr, operands) || !ChargeTexts(instr, operands)) {
            return Outcome::kFailed;
          }
          DropAll(instr, operands);
          break;
        case Opcode::kAsync: {
          const Outcome outcome = TryAsync(instr, operands);
          if (outcome == Outcome::kFailed) return outcome;
          if (outcome == Outcome::kDone) break;
          StartAsync(instr, operands, pc);
          return outcome;
        }
        case Opcode::kForward: {
          Tensor value = this->Consume(*current_, operands[0]);
          if (operands[1].v != kNone) Put(*At(operands[1]), std::move(value));
          break;
        }
        case Opcode::kReadReference: {
          Result<Tensor> value = ReadReference(*At(operands[0]));
          if (!value.ok()) return Fail(instr, value.status());
          this->Drop(*current_, operands[0]);
          Put(*At(operands[1]), *std::move(value));
          break;
        }
        case Opcode::kRelease:
          for (uint32_t i = 0; i < instr.inputs; ++i) this->Drop(*current_, operands[i]);
          break;
        case Opcode::kSwitch:
          if (!RunSwitch(instr, operands, &pc)) return Outcome::kFailed;
          break;
        case Opcode::kLoop:
          if (const Outcome outcome = RunLoop(instr, operands); outcome != Outcome::kDone) {
            return outcome;
          }
          break;
        case Opcode::kBranch:
          if (!RunBranch(instr, operands, &pc)) return Outcome::kFailed;
          break;
        case Opcode::kJump:
          pc = static_cast<uint32_t>(instr.aux) - 1;
          break;
        case Opcode::kStartFrame:
          this->StartFrame(*current_, static_cast<uint32_t>(instr.aux),
                           plan_.words.data() + instr.words);
          break;
        default:
          this->Emit(*current_, instr, false);
          break;
      }
      if constexpr (kTrace) last_end_ = kNoTime;
    }
    return Outcome::kDone;
  }

  void NoteCall(const Instr& instr) {
    instr_ = &instr;
    called_->store(CalledNodes::Mark(instr.node), std::memory_order_relaxed);
  }

  bool CallKernel(const Instr& instr, const Operand* operands) {
    NoteCall(instr);
    context_.SetOperands(operands, static_cast<int>(instr.inputs), static_cast<int>(instr.outputs));
    const int outputs = static_cast<int>(instr.outputs);
    for (int o = 0; o < outputs; ++o) Clear(context_.output(o));
    int64_t start = 0;
    if constexpr (kTrace) start = StartTime(instr);
    {
      const CallScope called(instr);
      const Status status = instr.kernel->Compute(context_);
      if constexpr (kTrace) Record(instr, start);
      if (!status.ok()) [[unlikely]] {
        Fail(instr, status);
        return false;
      }
    }
    return AcceptOutputs(instr, outputs);
  }

  void DropAll(const Instr& instr, const Operand* operands) {
    for (uint32_t i = 0; i < instr.inputs + instr.outputs; ++i) this->Drop(*current_, operands[i]);
  }

  Allocator& HostAllocator() const {
    return step_context_->host_addressable ? *step_context_->allocator
                                           : step_context_->device->host_allocator();
  }
  // What the strings of its outputs hold counts as the step's memory, as the tensors do.
  bool ChargeTexts(const Instr& instr, const Operand* operands) {
    for (uint32_t o = 0; o < instr.outputs; ++o) {
      const Status status = ChargeTextHeap(HostAllocator(), *At(operands[instr.inputs + o]));
      if (status.ok()) continue;
      Fail(instr, status);
      return false;
    }
    return true;
  }
  // What the kernel has made, which context_ has the operands of. False: the step has failed.
  [[gnu::always_inline]] bool AcceptOutputs(const Instr& instr, int outputs) {
    for (int o = 0; o < outputs; ++o) {
      const Tensor& output = context_.output(o);
      // Calls come last: for one in the loop, every node would save more registers.
      if (output.empty() || HasHostBlock(output)) [[unlikely]]
        return AcceptRareOutputs(instr);
    }
    return true;
  }
  // One that is not there may be dead. What a kernel has made in memory of the host counts, too,
  // not what it hands on. A node without inputs hands on a constant or an argument.
  [[gnu::noinline, gnu::cold]] bool AcceptRareOutputs(const Instr& instr) {
    for (int o = 0; o < context_.num_outputs(); ++o) {
      const Tensor& output = context_.output(o);
      Status status;
      if (output.empty()) {
        if (plan_.program.nodes[instr.node].may_be_dead) continue;
        status = Internal("the kernel did not set output ", o);
      } else if (HasHostBlock(output) && context_.num_inputs() > 0 && !IsHandedOn(output)) {
        status = ChargeHostBlock(HostAllocator(), output);
      }
      if (!status.ok()) {
        Fail(instr, status);
        return false;
      }
    }
    return true;
  }
  bool IsHandedOn(const Tensor& output) const {
    for (int i = 0; i < context_.num_inputs(); ++i) {
      if (context_.input(i).SharesBufferWith(output)) return true;
    }
    return false;
  }
  bool MakesTexts(const Instr& instr) const { return plan_.program.nodes[instr.node].makes_texts; }

  // kSuspended: it must wait, or cannot be tried.
  Outcome TryAsync(const Instr& instr, const Operand* operands) {
    if (operands[instr.inputs + instr.outputs + 1].v == 0) return Outcome::kSuspended;
    NoteCall(instr);
    context_.SetOperands(operands, static_cast<int>(instr.inputs), static_cast<int>(instr.outputs));
    int64_t start = 0;
    if constexpr (kTrace) start = StartTime(instr);
    auto* const kernel = static_cast<WaitingKernel*>(instr.kernel);
    const CallScope called(instr);
    const std::optional<Status> status =
        step_.args().is_repeated ? kernel->TryRepeated(context_) : kernel->TryCompute(context_);
    if (!status.has_value()) return Outcome::kSuspended;
    if constexpr (kTrace) Record(instr, start);
    if (!status->ok()) return Fail(instr, *status);
    if (!AcceptOutputs(instr, context_.num_outputs()) ||
        (MakesTexts(instr) && !ChargeTexts(instr, operands))) {
      return Outcome::kFailed;
    }
    return Outcome::kDone;
  }

  void StartAsync(const Instr& instr, const Operand* operands, uint32_t pc) {
    instr_ = &instr;
    // It waits; and once the kernel has started, the step may be over at any time.
    called_->store(CalledNodes::kNone, std::memory_order_relaxed);
    Iteration& iteration = *current_;
    const uint32_t index = operands[instr.inputs + instr.outputs].v;
    AsyncState& state = iteration.async[index];
    state.iteration = &iteration;
    state.unit = unit_;
    state.instr = pc;
    state.context = context_;
    state.context.SetBase(kRegisters, nullptr);
    state.context.SetOperands(operands, static_cast<int>(instr.inputs),
                              static_cast<int>(instr.outputs));
    if constexpr (kTrace) {
      HandOver();  // the step may be over before the kernel's call returns
      state.start = StartTime(instr);
    }
    // Once the kernel has started, the iteration is its own.
    if (gained_ != 0) this->AddOutstanding(iteration, std::exchange(gained_, 0));
    auto* kernel = static_cast<AsyncKernel*>(instr.kernel);
    Done done(&step_, reinterpret_cast<uint64_t>(&state));
    const CallScope called(instr);
    try {
      kernel->ComputeAsync(state.context, std::move(done));
    } catch (...) {
      // The Done that was lost on the way has told the step.
    }
  }

  // False: the step has failed.
  bool IsPredicate(const Instr& instr, const Tensor& predicate) {
    if (predicate.dtype() == DType::kBool && predicate.rank() == 0) [[likely]]
      return true;
    Fail(instr,
         InvalidArgument("The second input must be a scalar, but it has shape ", predicate.shape(),
                         "; a predicate is one bool, got ", predicate.dtype(), predicate.shape()));
    return false;
  }

  // False: failed. Goes on in one of the branches.
  bool RunBranch(const Instr& instr, const Operand* operands, uint32_t* pc) {
    const Tensor& predicate = *At(operands[0]);
    if (!IsPredicate(instr, predicate)) return false;
    if (!predicate.scalar<bool>()) *pc = static_cast<uint32_t>(instr.aux) - 1;
    this->Drop(*current_, operands[0]);
    return true;
  }

  // False: failed. Goes on behind the two sections.
  bool RunSwitch(const Instr& instr, const Operand* operands, uint32_t* pc) {
    const Tensor& predicate = *At(operands[1]);
    if (!IsPredicate(instr, predicate)) return false;
    const bool side = predicate.scalar<bool>();
    Tensor data = this->Consume(*current_, operands[0]);
    this->Drop(*current_, operands[1]);
    if (operands[2 + side].v != kNone) Put(*At(operands[2 + side]), std::move(data));
    EmitSides(operands, pc, side, !side);
    return true;
  }

  // The sections for side 0 and side 1 behind a Switch.
  void EmitSides(const Operand* operands, uint32_t* pc, bool first_dead, bool second_dead) {
    const uint32_t middle = *pc + 1 + operands[4].v;
    const uint32_t end = middle + operands[5].v;
    this->EmitRange(*current_, *pc + 1, middle, first_dead);
    this->EmitRange(*current_, middle, end, second_dead);
    *pc = end - 1;
  }

  // A unit that is dead: ends the uses of what it would have read and passes the news on.
  Outcome RunDead(uint32_t from, uint32_t to) {
    for (uint32_t pc = from; pc < to; ++pc) {
      const Instr& instr = plan_.code[pc];
      const Operand* operands = OperandsOf(instr);
      switch (instr.opcode) {
        case Opcode::kKernelAlways:
          if (!CallKernel(instr, operands + instr.inputs + instr.outputs)) return Outcome::kFailed;
          DropAll(instr, operands);
          break;
        case Opcode::kSwitch:
          this->Drop(*current_, operands[0]);
          this->Drop(*current_, operands[1]);
          EmitSides(operands, &pc, true, true);
          break;
        case Opcode::kAsync:
        case Opcode::kStartFrame:
          break;
        case Opcode::kJump:
          // One of two branches ends all uses of what both read.
          pc = static_cast<uint32_t>(instr.aux) - 1;
          break;
        case Opcode::kBranch:
        case Opcode::kKernel:
        case Opcode::kKernelRelease:
        case Opcode::kKernelTexts:
        case Opcode::kForward:
        case Opcode::kReadReference:
        case Opcode::kRelease:
        case Opcode::kLoop:
          for (uint32_t i = 0; i < instr.inputs; ++i) this->Drop(*current_, operands[i]);
          break;
        default:
          this->Emit(*current_, instr, true);
          break;
      }
      if constexpr (kTrace) last_end_ = kNoTime;
    }
    return Outcome::kDone;
  }

  // --- Structured loops

  Outcome RunLoop(const Instr& instr, const Operand* operands) {
    const LoopCode& loop = plan_.loops[instr.aux];
    Tensor* const outer = registers_;
    Tensor* const inner = outer + loop.window;
    for (uint32_t e = 0; e < loop.num_enters; ++e) {
      Put(inner[e], this->Consume(*current_, operands[e]));
    }
    const uint64_t outer_tag = tag_;
    if (unit_registers_ == nullptr) unit_registers_ = outer;
    SetRegisters(inner);
    const Outcome outcome = Iterate(loop, instr, outer);
    // After an exception the unit's sweep does this.
    Sweep(inner, loop.registers);
    SetRegisters(outer);
    if (unit_registers_ == outer) unit_registers_ = nullptr;
    tag_ = outer_tag;
    context_.Bind(step_context_, tag_);
    return outcome;
  }

  Outcome Iterate(const LoopCode& loop, const Instr& instr, Tensor* outer) {
    const uint64_t frame_tag = FrameTag(tag_, loop.name);
    if (FrameObserver* frames = step_.args().frames; frames != nullptr) {
      frames->OnFrame(frame_tag, tag_, loop.name);
    }
    for (uint64_t iteration = 0;; ++iteration) {
      tag_ = frame_tag + (iteration & 0xffffffffu);
      context_.Bind(step_context_, tag_);
      Outcome outcome = RunCode(loop.condition.begin, loop.condition.end);
      if (outcome != Outcome::kDone) return outcome;
      const Tensor& predicate = *At({loop.predicate});
      if (!IsPredicate(instr, predicate)) return Outcome::kFailed;
      if (!predicate.scalar<bool>()) break;
      if (step_.Stopped()) [[unlikely]] {
        step_.MarkSkipped();
        return Outcome::kFailed;
      }
      outcome = RunCode(loop.body.begin, loop.body.end);
      if (outcome != Outcome::kDone) return outcome;
      MoveVariables(loop);
    }
    for (const LoopCode::Leave& leave : loop.exits) {
      if (leave.to == kNone) continue;
      Tensor value = this->Consume(*current_, {leave.from});
      const Operand to{leave.to};
      Put(*(to.base() == kRegisters ? outer + to.index() : At(to)), std::move(value));
    }
    return Outcome::kDone;
  }

  void MoveVariables(const LoopCode& loop) {
    if constexpr (kTrace) last_end_ = kNoTime;
    if (loop.staging == kNone) {
      for (const LoopCode::Move& move : loop.moves) {
        Put(registers_[move.to], this->Consume(*current_, {move.from}));
      }
      return;
    }
    Tensor* staged = registers_ + loop.staging;
    for (const LoopCode::Move& move : loop.moves) {
      Put(*staged++, this->Consume(*current_, {move.from}));
    }
    staged = registers_ + loop.staging;
    for (const LoopCode::Move& move : loop.moves) Put(registers_[move.to], std::move(*staged++));
  }

  // --- Errors and traces

  Outcome Fail(const Instr& instr, const Status& status) {
    if (RanOutOfMemory(status) && !NamesNode(status) && step_.held().Begin(*step_context_)) {
      Tensor* const registers = unit_registers_ != nullptr ? unit_registers_ : registers_;
      step_.held().AddRegisters(plan_, current_->code->units[unit_],
                                static_cast<uint32_t>(&instr - plan_.code.data()), registers);
    }
    const Operand* operands = OperandsOf(instr);
    std::vector<const Tensor*> inputs;
    const bool has_inputs = instr.opcode != Opcode::kSignal && instr.opcode != Opcode::kSignalLive;
    for (uint32_t i = 0; i < instr.inputs && has_inputs; ++i) inputs.push_back(At(operands[i]));
    step_.Fail(NodeError(status, plan_.program.nodes[instr.node], *step_context_, inputs));
    return Outcome::kFailed;
  }

  // What its kernel allocates is known to be the node's, where that is traced.
  struct NoNode {
    explicit NoNode(const Instr& /*instr*/) {}
  };
  struct TracedCall : TracedNode {
    explicit TracedCall(const Instr& instr) : TracedNode(static_cast<int>(instr.node)) {}
  };
  using CallScope = std::conditional_t<kTrace, TracedCall, NoNode>;

  // Threads that help in loops of its kernels tell the trace, where that wants to know.
  class Helpers : public HelperListener {
   public:
    void Tell(StepTrace* trace, int thread) { trace_ = trace, thread_ = thread; }
    void AddSwitches(ThreadSwitches::Watch* watch) override {
      trace_->AddHelperSwitches(thread_, watch);
    }
    HelperListener* listener() { return trace_ == nullptr ? Current() : this; }

   private:
    StepTrace* trace_ = nullptr;
    int thread_ = 0;
  };
  struct NoHelpers {};
  struct NoScope {
    explicit NoScope(const NoHelpers& /*helpers*/) {}
  };
  struct TracedScope : HelperListener::Scope {
    explicit TracedScope(Helpers& helpers) : Scope(helpers.listener()) {}
  };
  using HelperScope = std::conditional_t<kTrace, TracedScope, NoScope>;

  void EnterTraced() {
    trace_ = step_.args().trace;
    traces_values_ = trace_->traces_values();
    last_end_ = kNoTime;
    if (watch_ || !trace_->traces_switches()) return;
    watch_.emplace();
    // What this thread may not ask, those that help may not.
    if (watch_->status().ok()) helpers_.Tell(trace_, thread_);
  }
  // When a call of the node begins; kNoTime where it is not timed. Where nothing but a record lies
  // between two kernels, one begins when the other has ended: one look at the time.
  int64_t StartTime(const Instr& instr) {
    const int64_t last_end = std::exchange(last_end_, kNoTime);
    if (!trace_->IsTimed(instr.node)) return kNoTime;
    return last_end != kNoTime ? last_end : trace_->ticks().Now();
  }
  // What the kernel has made, which context_ has the operands of.
  void Record(const Instr& instr, int64_t start, bool is_asynchronous = false) {
    if (start == kNoTime) return;
    const int64_t end = std::max(trace_->ticks().Now(), start);
    const bool has_room = next_record_ != records_end_;
    if (!has_room) [[unlikely]]
      MakeRoom();
    NodeRecord& record = *next_record_++;
    record = {.node = static_cast<int>(instr.node),
              .thread = thread_,
              .start_nanos = start,
              .end_nanos = end,
              .has_no_thread = is_asynchronous};
    if (traces_values_ && context_.num_outputs() > 0) {
      record.values = RecordValues(context_, &values_);
      if (static_cast<int64_t>(values_.size() * sizeof(ValueRecord)) >= StepTrace::kBatchBytes)
        HandOver();
    } else if (has_room) {
      last_end_ = end;
    }
  }
  // A unit may be a loop that runs for hours.
  [[gnu::noinline]] void MakeRoom() {
    constexpr size_t kFirst = 16, kMost = StepTrace::kBatchBytes / sizeof(NodeRecord);
    const size_t room = records_.size();
    if (room >= kMost) HandOver();
    const auto used = next_record_ - records_.data();
    records_.resize(std::min(std::max(2 * room, kFirst), kMost));
    next_record_ = records_.data() + used;
    records_end_ = records_.data() + records_.size();
  }
  // The kernel keeps few.
  void HandOverSwitches() {
    if (watch_) trace_->AddSwitches(thread_, &*watch_);
  }
  // What it hands over leaves no room.
  [[gnu::noinline]] void HandOver() {
    HandOverSwitches();
    if (next_record_ == records_.data()) return;
    records_.resize(static_cast<size_t>(next_record_ - records_.data()));
    trace_->Add(&records_, &values_);
    next_record_ = records_end_ = records_.data();
  }

  const int thread_;
  Context context_;
  StepContext* step_context_ = nullptr;
  uint64_t tag_ = 0;
  uint32_t unit_ = 0;
  const Instr* instr_ = nullptr;  // the last kernel called
  CalledNodes::Place nowhere_{0};
  CalledNodes::Place* called_ = &nowhere_;
  Tensor* unit_registers_ = nullptr;  // set while loops have windows of their own
  StepTrace* trace_ = nullptr;        // this and the rest: where steps are traced
  bool traces_values_ = false;
  int64_t last_end_ = kNoTime;  // of the last kernel, while nothing has come behind it
  // As long as there is room; those up to next_record_ are written.
  std::vector<NodeRecord> records_;
  NodeRecord* next_record_ = nullptr;
  NodeRecord* records_end_ = nullptr;
  std::vector<ValueRecord> values_;  // of those records
  std::optional<ThreadSwitches::Watch> watch_;
  [[no_unique_address]] std::conditional_t<kTrace, Helpers, NoHelpers> helpers_;
};

}  // namespace thalweg
