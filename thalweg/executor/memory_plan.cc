// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/memory_plan.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "thalweg/executor/plan.h"

namespace thalweg {
namespace {

constexpr int kNoBuffer = -1;

// One iteration of a frame.
struct FrameWalk {
  const FrameCode* code = nullptr;
  FrameWalk* parent = nullptr;
  std::vector<int> slots;  // buffers
  std::vector<int> invariants;
  std::vector<uint32_t> pending;
  std::vector<uint32_t> readers;
  std::vector<bool> merged;
  std::vector<bool> left;  // by Exit
};

class MemoryWalk {
 public:
  MemoryWalk(const Plan& plan, const OutputBytes& bytes)
      : plan_(plan), bytes_(bytes), registers_(plan.max_registers, kNoBuffer) {}

  MemoryPlan Run() {
    Start(0, nullptr);
    for (;;) {
      if (!ready_.empty()) {
        const Ready next = ready_.back();
        ready_.pop_back();
        RunUnit(next);
      } else if (!heavy_.empty()) {
        const Ready next = heavy_.front();
        heavy_.pop_front();
        RunUnit(next);
      } else {
        return out_;
      }
    }
  }

 private:
  struct Buffer {
    int64_t bytes;
    int uses;
  };
  struct Ready {
    FrameWalk* frame;
    uint32_t unit;
  };
  struct PendingSection {
    FrameWalk* frame;
    Section section;
  };

  FrameWalk& Start(uint32_t number, FrameWalk* parent) {
    FrameWalk& frame = *frames_.emplace_back(std::make_unique<FrameWalk>());
    frame.code = &plan_.frames[number];
    frame.parent = parent;
    frame.slots.assign(frame.code->num_slots, kNoBuffer);
    frame.invariants.assign(frame.code->num_invariants, kNoBuffer);
    frame.pending = frame.code->pending;
    frame.readers = frame.code->readers;
    frame.merged.resize(frame.code->merges.size());
    frame.left.resize(frame.code->exits.size());
    for (const uint32_t unit : frame.code->initial) MakeReady(frame, unit);
    return frame;
  }

  void MakeReady(FrameWalk& frame, uint32_t unit) {
    if (frame.code->units[unit].cls == UnitClass::kHeavy) {
      heavy_.push_back({&frame, unit});
    } else {
      ready_.push_back({&frame, unit});
    }
  }

  // --- Buffers

  int NewBuffer(const Instr& instr, uint32_t output) {
    const int64_t bytes = bytes_[instr.node][output];
    if (bytes == kUnknownBytes) ++out_.unknown_values;
    if (bytes <= 0) return kNoBuffer;
    live_ += bytes;
    if (live_ > out_.peak_bytes) {
      out_.peak_bytes = live_;
      out_.peak_node = static_cast<int>(instr.node);
    }
    buffers_.push_back({bytes, 0});
    return static_cast<int>(buffers_.size()) - 1;
  }

  void Put(int& place, int buffer) {
    if (buffer != kNoBuffer) ++buffers_[buffer].uses;
    if (place != kNoBuffer && --buffers_[place].uses == 0) live_ -= buffers_[place].bytes;
    place = buffer;
  }

  int* PlaceOf(FrameWalk& frame, Operand operand) {
    switch (operand.base()) {
      case kSlots:
        return &frame.slots[operand.index()];
      case kRegisters:
        return &registers_[window_ + operand.index()];
      case kInvariants:
        if (frame.parent != nullptr) return &frame.invariants[operand.index()];
        break;
      default:
        break;
    }
    return &nothing_;  // a constant or a feed
  }

  void Drop(FrameWalk& frame, Operand operand) {
    if (!operand.last()) return;
    if (operand.shared() && --frame.readers[operand.index()] != 0) return;
    Put(*PlaceOf(frame, operand), kNoBuffer);
  }

  void Move(FrameWalk& frame, Operand from, int* to) {
    Put(*to, *PlaceOf(frame, from));
    Drop(frame, from);
  }

  // --- Code

  void RunUnit(const Ready& ready) {
    const Unit& unit = ready.frame->code->units[ready.unit];
    window_ = 0;
    RunCode(*ready.frame, {unit.begin, unit.end});
    for (uint32_t r = 0; r < unit.registers; ++r) Put(registers_[r], kNoBuffer);
    while (!sections_.empty()) {
      const PendingSection next = sections_.back();
      sections_.pop_back();
      RunCode(*next.frame, next.section);
    }
  }

  void RunCode(FrameWalk& frame, Section section) {
    for (uint32_t pc = section.begin; pc < section.end; ++pc) {
      const Instr& instr = plan_.code[pc];
      const auto* operands = reinterpret_cast<const Operand*>(plan_.words.data() + instr.words);
      switch (instr.opcode) {
        case Opcode::kKernel:
        case Opcode::kKernelRelease:
        case Opcode::kKernelTexts:
        case Opcode::kKernelAlways:
        case Opcode::kAsync:
          RunKernel(frame, instr, operands);
          break;
        case Opcode::kForward:
          if (operands[1].v != kNone)
            Put(*PlaceOf(frame, operands[1]), *PlaceOf(frame, operands[0]));
          Drop(frame, operands[0]);
          break;
        case Opcode::kReadReference:
        case Opcode::kRelease:
          for (uint32_t i = 0; i < instr.inputs; ++i) Drop(frame, operands[i]);
          break;
        case Opcode::kSwitch:
          for (int side = 0; side < 2; ++side) {
            if (operands[2 + side].v == kNone) continue;
            Put(*PlaceOf(frame, operands[2 + side]), *PlaceOf(frame, operands[0]));
          }
          Drop(frame, operands[0]);
          break;
        case Opcode::kBranch: {
          Drop(frame, operands[0]);
          const auto other = static_cast<uint32_t>(instr.aux);
          const auto end = static_cast<uint32_t>(plan_.code[other - 1].aux);
          if (BytesMade({other, end}) > BytesMade({pc + 1, other - 1})) pc = other - 1;
          break;
        }
        case Opcode::kJump:
          pc = static_cast<uint32_t>(instr.aux) - 1;
          break;
        case Opcode::kLoop:
          RunLoop(frame, plan_.loops[instr.aux], operands);
          break;
        case Opcode::kStartFrame:
          StartFrame(frame, static_cast<uint32_t>(instr.aux), operands);
          break;
        default:
          Send(frame, instr, plan_.words.data() + instr.words);
          break;
      }
    }
  }

  // In a conditional the branch that makes more counts.
  int64_t BytesMade(Section section) const {
    int64_t bytes = 0;
    for (uint32_t pc = section.begin; pc < section.end; ++pc) {
      const Instr& instr = plan_.code[pc];
      if (instr.opcode == Opcode::kLoop) {
        bytes += BytesMade(plan_.loops[instr.aux].condition);
        bytes += BytesMade(plan_.loops[instr.aux].body);
      }
      if (instr.opcode != Opcode::kKernel && instr.opcode != Opcode::kKernelRelease &&
          instr.opcode != Opcode::kKernelTexts) {
        continue;
      }
      for (uint32_t o = 0; o < instr.outputs; ++o) {
        bytes += std::max<int64_t>(bytes_[instr.node][o], 0);
      }
    }
    return bytes;
  }

  void RunKernel(FrameWalk& frame, const Instr& instr, const Operand* operands) {
    for (uint32_t o = 0; o < instr.outputs; ++o) {
      const bool shared = bytes_[instr.node][o] == kFirstInputsBytes && instr.inputs > 0;
      Put(*PlaceOf(frame, operands[instr.inputs + o]),
          shared ? *PlaceOf(frame, operands[0]) : NewBuffer(instr, o));
    }
    if (instr.opcode == Opcode::kAsync) return;  // a kRelease follows
    for (uint32_t i = 0; i < instr.inputs + instr.outputs; ++i) Drop(frame, operands[i]);
  }

  void RunLoop(FrameWalk& frame, const LoopCode& loop, const Operand* operands) {
    const uint32_t outer = window_, inner = outer + loop.window;
    for (uint32_t e = 0; e < loop.num_enters; ++e) {
      Move(frame, operands[e], &registers_[inner + e]);
    }
    window_ = inner;
    RunCode(frame, loop.condition);
    std::vector<int> leaving;
    for (const LoopCode::Leave& leave : loop.exits)
      leaving.push_back(*PlaceOf(frame, {leave.from}));
    // What leaves is held by a register until the sweep, or else by its new place.
    for (size_t e = 0; e < leaving.size(); ++e) {
      if (loop.exits[e].to == kNone) continue;
      window_ = outer;
      Put(*PlaceOf(frame, {loop.exits[e].to}), leaving[e]);
      window_ = inner;
    }
    RunCode(frame, loop.body);
    for (uint32_t r = 0; r < loop.all_registers; ++r) Put(registers_[inner + r], kNoBuffer);
    window_ = outer;
  }

  void StartFrame(FrameWalk& parent, uint32_t number, const Operand* operands) {
    FrameWalk& frame = Start(number, &parent);
    const std::vector<EnterCode>& enters = frame.code->enters;
    for (size_t e = 0; e < enters.size(); ++e) {
      const int buffer = *PlaceOf(parent, operands[e]);
      if (enters[e].is_constant) Put(frame.invariants[enters[e].invariant], buffer);
      for (const EnterCode::Target& target : enters[e].targets) Merge(frame, target.merge, buffer);
      Drop(parent, operands[e]);
    }
  }

  void Merge(FrameWalk& frame, uint32_t merge, int buffer) {
    if (frame.merged[merge]) return;
    frame.merged[merge] = true;
    const MergeCode& code = frame.code->merges[merge];
    if (code.slot != kNone) Put(frame.slots[code.slot], buffer);
    sections_.push_back({&frame, code.section});
  }

  void Send(FrameWalk& frame, const Instr& instr, const uint32_t* words) {
    if (instr.opcode == Opcode::kSignal || instr.opcode == Opcode::kSignalLive) {
      for (uint64_t i = 0; i < instr.aux; ++i) {
        if (--frame.pending[words[i]] == 0) MakeReady(frame, words[i]);
      }
      return;
    }
    const Operand value{words[0]};
    const int buffer = *PlaceOf(frame, value);
    if (instr.opcode == Opcode::kSendMerge) {
      Merge(frame, words[1], buffer);
    } else if (instr.opcode == Opcode::kSendExit && !frame.left[words[1]]) {
      frame.left[words[1]] = true;
      const ExitCode& exit = frame.code->exits[words[1]];
      if (exit.slot != kNone) Put(frame.parent->slots[exit.slot], buffer);
      sections_.push_back({frame.parent, exit.section});
    }
    Drop(frame, value);
  }

  const Plan& plan_;
  const OutputBytes& bytes_;
  MemoryPlan out_;
  int64_t live_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<int> registers_;
  uint32_t window_ = 0;
  int nothing_ = kNoBuffer;
  std::vector<std::unique_ptr<FrameWalk>> frames_;
  std::vector<Ready> ready_;
  std::deque<Ready> heavy_;
  std::vector<PendingSection> sections_;
};

}  // namespace

MemoryPlan PlanMemory(const Plan& plan, const OutputBytes& bytes) {
  return MemoryWalk(plan, bytes).Run();
}

}  // namespace thalweg
