// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "thalweg/executor/conditionals.h"
#include "thalweg/executor/emit.h"
#include "thalweg/executor/plan.h"

namespace thalweg {
namespace {

// What a frame needs besides code.
FrameCode MakeFrame(const Lowered& lowered, const Values& values, int number) {
  const FrameInfo& info = lowered.tree.frames[number];
  const LoweredFrame& frame = lowered.frames[number];
  FrameCode out;
  out.name = info.name;
  out.parallel_iterations = static_cast<uint32_t>(info.parallel_iterations);
  out.num_invariants = static_cast<uint32_t>(frame.invariants.size());
  out.merges.resize(frame.merges.size());
  out.exits.resize(frame.exits.size());
  out.nexts.resize(static_cast<size_t>(frame.num_nexts));
  out.invariant_units = values.invariant_units[number];
  for (const int invariant : frame.enter_invariant) {
    EnterCode enter;
    enter.is_constant = invariant >= 0;
    if (enter.is_constant) enter.invariant = static_cast<uint32_t>(lowered.nodes[invariant].number);
    out.enters.push_back(std::move(enter));
  }
  for (const int m : frame.merges) {
    const LoweredNode& merge = lowered.nodes[m];
    const uint32_t merge_number = static_cast<uint32_t>(merge.number);
    uint32_t first = 0, later = 0;
    for (size_t i = 0; i < merge.merge_inputs.size(); ++i) {
      const MergeInput& input = merge.merge_inputs[i];
      const uint32_t place = static_cast<uint32_t>(i);
      const bool enters = input.value.node == LoweredValue::kEntering;
      if (enters) out.enters[input.value.index].targets.push_back({merge_number, place});
      if (input.next >= 0) out.nexts[input.next] = {merge_number, place};
      first += input.next < 0;
      later += !enters;
    }
    out.first_arrivals.push_back(first);
    out.later_arrivals.push_back(later);
    if (later == 0) out.never_later.push_back(merge_number);
  }
  out.pending = values.pending[number];
  for (size_t u = 0; u < out.pending.size(); ++u) {
    if (out.pending[u] == 0) out.initial.push_back(static_cast<uint32_t>(u));
  }
  return out;
}

void CountReaders(const Lowered& lowered, const Values& values, Plan* plan) {
  for (size_t f = 0; f < plan->frames.size(); ++f) {
    plan->frames[f].num_slots = values.num_slots[f];
    plan->frames[f].readers.assign(values.num_slots[f], 1);
  }
  for (size_t n = 0; n < lowered.nodes.size(); ++n) {
    for (int o = 0; o < lowered.nodes[n].num_outputs; ++o) {
      const ValueInfo& info = values.Of(static_cast<int>(n), o);
      if (info.slot != kNone)
        plan->frames[lowered.nodes[n].frame].readers[info.slot] = info.readers;
    }
  }
}

void AddFetches(const Lowered& lowered, const Units& units, const Values& values, Plan* plan) {
  std::vector<int> last_fetch(values.info.size(), -1);
  plan->fetches.reserve(lowered.fetches.size());
  for (const LoweredValue& fetch : lowered.fetches) {
    const LoweredValue value = Resolve(lowered, units, fetch);
    FetchCode code;
    if (value.node == LoweredValue::kConstant) {
      code.operand = Operand::Make(kConstants, static_cast<uint32_t>(value.index)).v;
    } else if (value.node == LoweredValue::kFeed) {
      code.operand = Operand::Make(kInvariants, static_cast<uint32_t>(value.index)).v;
    } else {
      const int number = values.first[value.node] + value.index;
      if (last_fetch[number] >= 0) plan->fetches[last_fetch[number]].last = false;
      last_fetch[number] = static_cast<int>(plan->fetches.size());
      code.from_slot = true;
      code.last = true;
      code.operand = Operand::Make(kSlots, values.info[number].slot).v;
    }
    plan->fetches.push_back(code);
  }
}

}  // namespace

Result<Plan> Compile(Program program, const CompileOptions& options) {
  Plan plan;
  plan.program = std::move(program);
  // Each of these goes over the whole program a few times.
  const auto visit = [&](size_t nodes) {
    return options.work == nullptr ? OkStatus() : options.work->Visit(static_cast<int64_t>(nodes));
  };
  RETURN_IF_ERROR(visit(plan.program.nodes.size()));
  ASSIGN_OR_RETURN(Lowered lowered, Lower(plan.program));
  RETURN_IF_ERROR(visit(lowered.nodes.size()));
  if (options.structured_loops) FindConditionals(options.threads, &lowered);
  const std::vector<LoopShape> loops = FindLoops(lowered, options.threads);
  RETURN_IF_ERROR(visit(lowered.nodes.size()));
  const Units units = FormUnits(lowered, loops, options);
  RETURN_IF_ERROR(visit(lowered.nodes.size()));
  Values values = PlaceValues(lowered, units);
  RETURN_IF_ERROR(visit(lowered.nodes.size()));
  for (size_t f = 0; f < lowered.frames.size(); ++f) {
    plan.frames.push_back(units.inside[f] ? FrameCode{}
                                          : MakeFrame(lowered, values, static_cast<int>(f)));
    for (const UnitNodes& unit : units.units[f]) plan.is_parallel |= unit.cls == UnitClass::kHeavy;
  }
  EmitCode(lowered, loops, units, values, &plan);
  CountReaders(lowered, values, &plan);
  AddFetches(lowered, units, values, &plan);
  plan.constants = std::move(lowered.constants);
  return plan;
}

}  // namespace thalweg
