// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/emit.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/executor/codegen.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {
namespace {

// What one piece of code knows about values.
struct Scope {
  explicit Scope(Plan* plan) : code(plan) {}
  CodeObject code;
  int unit = -1;  // -1: a section or the inside of a loop
  bool in_loop = false;
  bool is_async = false;
  int frame = 0;
  std::unordered_map<int, int> locals;  // by value number
  std::unordered_map<int, int> places;  // of values that are to be written to a given local
  struct LeaveFix {
    size_t loop;
    size_t exit;
    int local;  // of this scope
  };
  std::vector<LeaveFix> leaves;
};

class Emitter {
 public:
  Emitter(const Lowered& lowered, const std::vector<LoopShape>& loops, const Units& units,
          Values& values, Plan* plan)
      : lowered_(lowered), loops_(loops), units_(units), values_(values), plan_(*plan) {}

  void Run() {
    for (size_t f = 0; f < lowered_.frames.size(); ++f) {
      if (units_.inside[f]) continue;
      const int frame = static_cast<int>(f);
      for (size_t u = 0; u < units_.units[f].size(); ++u) EmitUnit(frame, static_cast<int>(u));
    }
    for (size_t n = 0; n < lowered_.nodes.size(); ++n) {
      const LoweredNode& node = lowered_.nodes[n];
      if (units_.inside[node.frame]) continue;
      const bool exit = node.kind == LoweredKind::kExit && !units_.structured[node.child];
      if (node.kind == LoweredKind::kMerge || exit) EmitSection(static_cast<int>(n));
    }
  }

 private:
  const ProgramNode& Origin(const LoweredNode& node) const {
    return lowered_.program->nodes[node.origin];
  }

  bool IsInline(int n, int output) const {
    const LoweredNode& node = lowered_.nodes[n];
    if (node.kind == LoweredKind::kCond) {
      if (output % 2 != 0) return true;  // a number of an input
      const CondShape::Join& join = lowered_.conditionals[node.number].joins[output / 2];
      return IsInline(join.from[0]) && IsInline(join.from[1]);
    }
    if (node.kind != LoweredKind::kKernel) return false;
    const std::vector<bool>& known = Origin(node).inline_outputs;
    return output < static_cast<int>(known.size()) && known[output];
  }

  bool IsInline(const LoweredValue& input) const {
    const LoweredValue value = Resolve(lowered_, units_, Source(input));
    if (value.node == LoweredValue::kConstant) {
      return lowered_.constants[value.index].kind() <= Tensor::Kind::kInline;
    }
    return value.is_node() && IsInline(value.node, value.index);
  }

  // What Forward nodes pass on.
  LoweredValue Source(LoweredValue value) const {
    while (value.is_node() && !value.read_reference &&
           lowered_.nodes[value.node].kind == LoweredKind::kForward) {
      value = lowered_.nodes[value.node].inputs[0];
    }
    return value;
  }

  // The node's code lies in that of a loop or a branch, its values in registers.
  bool IsWithin(const Scope& scope, int n) const { return scope.in_loop || units_.absent[n]; }

  void EmitUnit(int frame, int u) {
    const UnitNodes& nodes = units_.units[frame][u];
    Scope scope(&plan_);
    scope.unit = u;
    scope.frame = frame;
    scope.is_async = nodes.cls == UnitClass::kAsync;
    size_t values = 0;
    for (const int n : nodes.nodes) values += static_cast<size_t>(lowered_.nodes[n].num_outputs);
    scope.locals.reserve(values);
    for (const int n : nodes.nodes) {
      EmitNode(scope, n);
      if (lowered_.nodes[n].kind != LoweredKind::kSwitch) EmitSends(scope, n, -1);
      EmitSignals(scope, values_.targets[n]);
    }
    scope.code.Allocate();
    Unit unit{.device = lowered_.nodes[nodes.nodes.front()].device, .cls = nodes.cls};
    const Section section = scope.code.Write(0, scope.code.size());
    unit.begin = section.begin;
    unit.end = section.end;
    FinishLoops(scope);
    unit.registers = scope.code.all_registers();
    plan_.max_registers = std::max(plan_.max_registers, unit.registers);
    plan_.frames[frame].units.push_back(unit);
  }

  void FinishLoops(Scope& scope) {
    scope.code.SetWindows();
    for (const Scope::LeaveFix& fix : scope.leaves) {
      plan_.loops[fix.loop].exits[fix.exit].to = scope.code.OperandOf(fix.local, false);
    }
  }

  void EmitSection(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    Scope scope(&plan_);
    scope.frame = node.frame;
    EmitSends(scope, n, -1);
    EmitSignals(scope, values_.targets[n]);
    scope.code.Allocate();
    const Section section = scope.code.Write(0, scope.code.size());
    if (node.kind == LoweredKind::kMerge) {
      MergeCode& merge = plan_.frames[node.frame].merges[node.number];
      merge = {
          .slot = values_.Of(n, 0).slot, .index_slot = values_.Of(n, 1).slot, .section = section};
    } else {
      plan_.frames[node.child].exits[node.number] = {.slot = values_.Of(n, 0).slot,
                                                     .section = section};
    }
  }

  int NewTemporary(Scope& scope, bool is_inline) {
    if (!scope.is_async) return scope.code.Register(is_inline);
    return scope.code.Fixed(kSlots, values_.num_slots[scope.frame]++, true);
  }

  // The local from which this code reads a value.
  int Read(Scope& scope, const LoweredValue& input, int reader) {
    const LoweredValue value = Resolve(lowered_, units_, input);
    int local = ReadPlain(scope, value, reader);
    if (!value.read_reference) return local;
    const int held = NewTemporary(scope, false);
    scope.code.Add({.opcode = Opcode::kReadReference,
                    .node = lowered_.nodes[reader].origin,
                    .reads = {local},
                    .writes = {held}});
    return held;
  }

  int ReadPlain(Scope& scope, const LoweredValue& value, int reader) {
    if (value.node == LoweredValue::kConstant) {
      return scope.code.Fixed(kConstants, static_cast<uint32_t>(value.index), false);
    }
    if (value.node == LoweredValue::kFeed) {
      return scope.code.Fixed(kInvariants, static_cast<uint32_t>(value.index), false);
    }
    const int number = values_.first[value.node] + value.index;
    if (const auto at = scope.locals.find(number); at != scope.locals.end()) return at->second;
    const LoweredNode& source = lowered_.nodes[value.node];
    int local;
    if (source.kind == LoweredKind::kInvariant) {
      local = scope.code.Fixed(kInvariants, static_cast<uint32_t>(source.number), false);
    } else {
      const ValueInfo& info = values_.info[number];
      local = scope.code.Fixed(kSlots, info.slot, true, info.readers > 1);
      const bool own = scope.unit < 0 || units_.unit_of[value.node] == scope.unit;
      if (info.readers > 1 && !own) {
        // A handle of its own, so that the last reader may work in place.
        const int held = NewTemporary(scope, IsInline(value.node, value.index));
        scope.code.Add({.opcode = Opcode::kForward,
                        .node = lowered_.nodes[reader].origin,
                        .reads = {local},
                        .writes = {held}});
        local = held;
      }
    }
    scope.locals.emplace(number, local);
    return local;
  }

  // The local that output `o` of a node is written to; -1 when nobody reads it.
  int Write(Scope& scope, int n, int o, bool needs_place) {
    const int number = values_.first[n] + o;
    const ValueInfo& info = values_.info[number];
    int local;
    if (const auto at = scope.places.find(number); at != scope.places.end()) {
      local = at->second;
    } else if (IsWithin(scope, n)) {
      local = scope.code.Register(IsInline(n, o));
    } else if (info.slot != kNone) {
      local = scope.code.Fixed(kSlots, info.slot, true, info.readers > 1);
    } else if (info.readers == 0 && !needs_place) {
      return -1;
    } else {
      local = scope.code.Register(IsInline(n, o));
    }
    scope.locals.emplace(number, local);
    return local;
  }

  void EmitNode(Scope& scope, int n) {
    const LoweredNode& node = lowered_.nodes[n];
    switch (node.kind) {
      case LoweredKind::kKernel:
        return EmitKernel(scope, n);
      case LoweredKind::kForward:
        return EmitForward(scope, n);
      case LoweredKind::kSwitch:
        return EmitSwitch(scope, n);
      case LoweredKind::kLoop:
        return EmitLoopNode(scope, n);
      case LoweredKind::kCond:
        return EmitCond(scope, n);
      case LoweredKind::kMerge:
      case LoweredKind::kExit:
      case LoweredKind::kInvariant:
        break;
    }
  }

  void EmitKernel(Scope& scope, int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const ProgramNode& origin = Origin(node);
    AbstractInstr instr{
        .opcode = Opcode::kKernel, .node = node.origin, .kernel = origin.kernel.get()};
    for (const LoweredValue& input : node.inputs) instr.reads.push_back(Read(scope, input, n));
    for (int o = 0; o < node.num_outputs; ++o) instr.writes.push_back(Write(scope, n, o, true));
    if (origin.makes_texts) instr.opcode = Opcode::kKernelTexts;
    if (origin.runs_when_dead) instr.opcode = Opcode::kKernelAlways;
    if (scope.is_async) {
      instr.opcode = Opcode::kAsync;
      instr.extra.push_back(plan_.frames[scope.frame].num_async++);
      const bool is_tried =
          !origin.may_be_dead && dynamic_cast<const WaitingKernel*>(instr.kernel) != nullptr;
      instr.extra.push_back(is_tried ? 1 : 0);
    }
    scope.code.Add(std::move(instr));
  }

  void EmitForward(Scope& scope, int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const int from = Read(scope, node.inputs[0], n);
    const int number = values_.first[n];
    // Within one piece of code a value needs no second place.
    if (IsWithin(scope, n) ||
        (values_.info[number].in_register && values_.info[number].readers > 0)) {
      scope.locals.emplace(number, from);
      return;
    }
    const int to = Write(scope, n, 0, false);
    scope.code.Add(
        {.opcode = Opcode::kForward, .node = node.origin, .reads = {from}, .writes = {to}});
  }

  void EmitSwitch(Scope& scope, int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const int data = Read(scope, node.inputs[0], n);
    if (scope.in_loop) {
      for (int side = 0; side < 2; ++side) scope.locals.emplace(values_.first[n] + side, data);
      return;
    }
    const int predicate = Read(scope, node.inputs[1], n);
    AbstractInstr instr{.opcode = Opcode::kSwitch, .node = node.origin, .reads = {data, predicate}};
    const auto& sides = values_.side_targets[values_.switch_number[n]];
    for (int side = 0; side < 2; ++side) {
      instr.writes.push_back(Write(scope, n, side, false));
      uint32_t length = 0;
      for (const Emission& emission : values_.emissions[n]) length += emission.output == side;
      for (const bool lenient : {false, true}) {
        length += std::any_of(sides[side].begin(), sides[side].end(),
                              [&](const Target& target) { return target.lenient == lenient; });
      }
      instr.extra.push_back(length);
    }
    scope.code.Add(std::move(instr));
    for (int side = 0; side < 2; ++side) {
      EmitSends(scope, n, side);
      EmitSignals(scope, sides[side]);
    }
  }

  // All sends of a node, or those of one side of a Switch.
  void EmitSends(Scope& scope, int n, int output) {
    for (const Emission& emission : values_.emissions[n]) {
      if (output >= 0 && emission.output != output) continue;
      const int from = ReadPlain(scope, {.node = n, .index = emission.output}, n);
      scope.code.Add({.opcode = emission.opcode,
                      .node = lowered_.nodes[n].origin,
                      .reads = {from},
                      .extra = emission.words});
    }
  }

  void EmitSignals(Scope& scope, const std::vector<Target>& targets) {
    for (const bool lenient : {false, true}) {
      AbstractInstr instr{.opcode = lenient ? Opcode::kSignalLive : Opcode::kSignal};
      for (const Target& target : targets) {
        if (target.lenient == lenient) instr.extra.push_back(static_cast<uint32_t>(target.unit));
      }
      instr.aux = instr.extra.size();
      if (!instr.extra.empty()) scope.code.Add(std::move(instr));
    }
  }

  void EmitLoopNode(Scope& scope, int n) {
    const LoweredNode& node = lowered_.nodes[n];
    AbstractInstr instr{.node = node.origin};
    for (const LoweredValue& input : node.inputs) instr.reads.push_back(Read(scope, input, n));
    if (!units_.structured[node.child]) {
      instr.opcode = Opcode::kStartFrame;
      instr.aux = static_cast<uint64_t>(node.child);
      scope.code.Add(std::move(instr));
      return;
    }
    const size_t loop = EmitLoop(node.child);
    instr.opcode = Opcode::kLoop;
    instr.aux = loop;
    for (size_t e = 0; e < plan_.loops[loop].exits.size(); ++e) {
      // Inside of a loop readers are not counted.
      const bool is_read = IsWithin(scope, n) || values_.Of(n, static_cast<int>(e)).readers > 0;
      const int to = is_read ? Write(scope, n, static_cast<int>(e), true) : -1;
      instr.writes.push_back(to);
      if (to >= 0) scope.leaves.push_back({loop, e, to});
    }
    scope.code.Add(std::move(instr));
  }

  // Reads all that the branches read, then one branch, then the other; both write what leaves to
  // the same places.
  void EmitCond(Scope& scope, int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const CondShape& cond = lowered_.conditionals[node.number];
    std::vector<int> inputs, held;
    for (const LoweredValue& input : node.inputs) {
      inputs.push_back(ReadPlain(scope, Resolve(lowered_, units_, input), n));
    }
    for (const int s : cond.switches) {
      const int data = Read(scope, lowered_.nodes[s].inputs[0], s);
      for (int side = 0; side < 2; ++side) scope.locals[values_.first[s] + side] = data;
    }
    const int predicate = Read(scope, cond.predicate, n);
    std::vector<std::array<int, 2>> out;
    for (size_t j = 0; j < cond.joins.size(); ++j) {
      std::array<int, 2> places = {-1, -1};
      for (int o = 0; o < 2; ++o) {
        if (!cond.joins[j].is_read[o]) continue;
        places[o] = Write(scope, n, static_cast<int>(2 * j) + o, false);
        if (places[o] >= 0 && scope.code.local(places[o]).in_register) held.push_back(places[o]);
      }
      out.push_back(places);
    }
    scope.code.BeginBranch(node.origin, predicate);
    EmitBranch(scope, cond, out, 1);
    scope.code.Else(node.origin);
    EmitBranch(scope, cond, out, 0);
    for (const int local : inputs) {
      // What no branch reads ends all the same.
      if (scope.code.local(local).last_use < 0) held.push_back(local);
    }
    scope.code.EndBranch(node.origin, std::move(held));
  }

  void EmitBranch(Scope& scope, const CondShape& cond, const std::vector<std::array<int, 2>>& out,
                  int side) {
    for (size_t j = 0; j < out.size(); ++j) {
      // What leaves is made in its place, if a node of this branch makes it.
      const LoweredValue value = Resolve(lowered_, units_, Source(cond.joins[j].from[side]));
      if (out[j][0] < 0 || !scope.code.local(out[j][0]).in_register || !value.is_node()) continue;
      const LoweredNode& maker = lowered_.nodes[value.node];
      if (maker.cond != cond.node || maker.kind == LoweredKind::kSwitch || value.read_reference)
        continue;
      scope.places.try_emplace(values_.first[value.node] + value.index, out[j][0]);
    }
    for (const int n : cond.sides[side]) EmitNode(scope, n);
    for (size_t j = 0; j < out.size(); ++j) {
      const CondShape::Join& join = cond.joins[j];
      const int origin = lowered_.nodes[join.merge].origin;
      const auto move = [&](int from, int to) {
        if (to < 0 || from == to) return;
        scope.code.Add(
            {.opcode = Opcode::kForward, .node = origin, .reads = {from}, .writes = {to}});
      };
      if (out[j][0] >= 0) {
        move(ReadPlain(scope, Resolve(lowered_, units_, join.from[side]), cond.node), out[j][0]);
      }
      if (out[j][1] >= 0) {
        const int index = lowered_.first_index + join.input[side];
        move(scope.code.Fixed(kConstants, static_cast<uint32_t>(index), false), out[j][1]);
      }
    }
  }

  // The code of a structured loop; its number.
  size_t EmitLoop(int frame) {
    const LoopShape& shape = loops_[frame];
    const LoweredFrame& f = lowered_.frames[frame];
    Scope scope(&plan_);
    scope.in_loop = true;
    scope.frame = frame;
    LoopCode loop;
    loop.name = lowered_.tree.frames[frame].name;
    loop.num_enters = static_cast<uint32_t>(f.enter_invariant.size());
    std::vector<int> variables(f.enter_invariant.size(), -1);
    for (size_t e = 0; e < f.enter_invariant.size(); ++e) {
      if (f.enter_invariant[e] < 0) continue;
      scope.locals.emplace(values_.first[f.enter_invariant[e]],
                           scope.code.Pinned(static_cast<uint32_t>(e), false));
    }
    for (const int merge : f.merges) {
      const uint32_t place = EnterOf(merge);
      variables[place] = scope.code.Pinned(place, true);
      scope.locals.emplace(values_.first[merge], variables[place]);
    }
    for (const int n : shape.condition) EmitNode(scope, n);
    const int predicate = Read(scope, shape.predicate, f.loop);
    // The first instruction of the body releases what the condition left and nobody else reads.
    AbstractInstr test{.opcode = Opcode::kRelease, .reads = {predicate}};
    for (const int exit : f.exits) {
      test.reads.push_back(Read(scope, lowered_.nodes[exit].leaving, f.loop));
    }
    const int body = scope.code.Add(std::move(test));
    for (const int n : shape.body) EmitNode(scope, n);
    EmitMoves(scope, f, variables, body, predicate, &loop);
    const size_t number = plan_.loops.size();
    plan_.loops.push_back(std::move(loop));
    for (Scope::LeaveFix& fix : scope.leaves) {
      plan_.loops[fix.loop].exits[fix.exit].to = scope.code.OperandOf(fix.local, false);
    }
    return number;
  }

  uint32_t EnterOf(int merge) const {
    for (const MergeInput& input : lowered_.nodes[merge].merge_inputs) {
      if (input.value.node == LoweredValue::kEntering)
        return static_cast<uint32_t>(input.value.index);
    }
    return 0;
  }

  void EmitMoves(Scope& scope, const LoweredFrame& f, const std::vector<int>& variables, int body,
                 int predicate, LoopCode* loop) {
    AbstractInstr moves{.opcode = Opcode::kRelease};
    const std::unordered_set<int> held(variables.begin(), variables.end());
    std::vector<uint32_t> to;
    bool staged = false;
    for (const int merge : f.merges) {
      const uint32_t place = EnterOf(merge);
      for (const MergeInput& input : lowered_.nodes[merge].merge_inputs) {
        if (input.next < 0) continue;
        const int from = Read(scope, input.value, f.loop);
        if (from == variables[place]) {
          scope.code.Keep(from);  // goes on as it is
          continue;
        }
        staged |= held.contains(from);
        moves.reads.push_back(from);
        to.push_back(place);
      }
    }
    const std::vector<int> sources = moves.reads;
    const int end = scope.code.Add(std::move(moves));
    const uint32_t staging = staged ? static_cast<uint32_t>(to.size()) : 0;
    if (staged) loop->staging = loop->num_enters;
    scope.code.Allocate(loop->num_enters + staging);
    loop->condition = scope.code.Write(0, body);
    loop->body = scope.code.Write(body, end);
    loop->predicate = scope.code.OperandOf(predicate, false);
    const std::vector<bool> ends = scope.code.EndingReads(end);
    for (size_t m = 0; m < to.size(); ++m) {
      loop->moves.push_back({scope.code.OperandOf(sources[m], ends[m]), to[m]});
    }
    std::vector<int> leaving;
    std::unordered_map<int, size_t> last_exit;
    for (const int exit : f.exits) {
      leaving.push_back(Read(scope, lowered_.nodes[exit].leaving, f.loop));
      last_exit[leaving.back()] = leaving.size() - 1;
    }
    for (size_t e = 0; e < leaving.size(); ++e) {
      // Everything in the loop's registers ends with it, so the last Exit of a value may have it.
      const bool last = scope.code.local(leaving[e]).owned && last_exit[leaving[e]] == e;
      loop->exits.push_back({scope.code.OperandOf(leaving[e], last), kNone});
    }
    scope.code.SetWindows();
    loop->registers = scope.code.registers();
    loop->all_registers = scope.code.all_registers();
  }

  const Lowered& lowered_;
  const std::vector<LoopShape>& loops_;
  const Units& units_;
  Values& values_;
  Plan& plan_;
};

}  // namespace

void EmitCode(const Lowered& lowered, const std::vector<LoopShape>& loops, const Units& units,
              Values& values, Plan* plan) {
  Emitter(lowered, loops, units, values, plan).Run();
}

}  // namespace thalweg
