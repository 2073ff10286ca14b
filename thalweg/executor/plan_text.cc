// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/plan_text.h"

namespace thalweg {
namespace {

bool RunsNode(Opcode opcode) {
  switch (opcode) {
    case Opcode::kKernel:
    case Opcode::kKernelRelease:
    case Opcode::kKernelTexts:
    case Opcode::kKernelAlways:
    case Opcode::kAsync:
    case Opcode::kForward:
    case Opcode::kSwitch:
      return true;
    default:
      return false;
  }
}

// "3: Mul 'a', Add 'b', loop 'while'" for a piece of code.
std::string CodeText(const Plan& plan, uint32_t begin, uint32_t end) {
  std::string text;
  int count = 0;
  uint32_t last = kNone;
  const auto add = [&](const std::string& what) {
    text += StrCat(count == 0 ? "" : ", ", what);
    ++count;
  };
  for (uint32_t i = begin; i < end; ++i) {
    const Instr& instr = plan.code[i];
    if (instr.opcode == Opcode::kLoop) {
      add(StrCat("loop '", plan.loops[instr.aux].name, "'"));
    } else if (instr.opcode == Opcode::kStartFrame) {
      add(StrCat("start of loop '", plan.frames[instr.aux].name, "'"));
    } else if (instr.opcode == Opcode::kBranch) {
      add(StrCat("one of two branches at ", plan.program.nodes[instr.node].Label()));
    } else if (RunsNode(instr.opcode) && instr.node != last) {
      last = instr.node;
      add(plan.program.nodes[instr.node].Label());
    }
  }
  return StrCat(count, text.empty() ? "" : ": ", text);
}

std::string UnitText(const Plan& plan, const Unit& unit) {
  const char* kind = unit.cls == UnitClass::kHeavy   ? "heavy"
                     : unit.cls == UnitClass::kAsync ? "asynchronous"
                                                     : "block";
  std::string text = StrCat("  ", kind, " of ", CodeText(plan, unit.begin, unit.end));
  if (unit.cls == UnitClass::kHeavy) {
    float micros = 0;
    uint32_t last = kNone;
    for (uint32_t i = unit.begin; i < unit.end; ++i) {
      if (!RunsNode(plan.code[i].opcode) || plan.code[i].node == last) continue;
      last = plan.code[i].node;
      micros += plan.program.nodes[last].micros;
    }
    text += StrCat(" (about ", micros, " us)");
  }
  if (plan.program.num_devices > 1) text += StrCat(" on device ", unit.device);
  return text + "\n";
}

}  // namespace

std::string PlanText(const Plan& plan) {
  std::string text;
  for (size_t f = 0; f < plan.frames.size(); ++f) {
    const FrameCode& frame = plan.frames[f];
    if (f > 0 && frame.units.empty()) continue;  // a structured loop's
    text += f == 0 ? std::string("root") : StrCat("loop '", frame.name, "'");
    text += StrCat(": ", frame.units.size(), " units, ", frame.num_slots, " values between them\n");
    for (const Unit& unit : frame.units) text += UnitText(plan, unit);
  }
  for (const LoopCode& loop : plan.loops) {
    text += StrCat("structured loop '", loop.name, "'\n  condition of ",
                   CodeText(plan, loop.condition.begin, loop.condition.end), "\n  body of ",
                   CodeText(plan, loop.body.begin, loop.body.end), "\n");
  }
  return text;
}

}  // namespace thalweg
