// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/units.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "thalweg/executor/gate_sets.h"

namespace thalweg {
namespace {

struct Arrival {
  int ready = GateSets::kEmpty;
  int dead = GateSets::kEmpty;
  int depth = 0;
  bool operator==(const Arrival&) const = default;
};

// The units of one frame.
class FrameUnits {
 public:
  FrameUnits(const Lowered& lowered, const std::vector<LoopShape>& loops,
             const CompileOptions& options, int frame, Units* out)
      : lowered_(lowered), loops_(loops), options_(options), frame_(frame), out_(*out) {}

  void Form(const std::vector<int>& nodes, std::vector<Arrival>* arrivals) {
    arrivals_ = arrivals;
    for (const int node : nodes) {
      const int cond = lowered_.nodes[node].cond;
      out_.absent[node] = cond >= 0 && IsBranch(cond);
      if (out_.absent[node]) {
        // In a branch, all conditionals are such.
        if (lowered_.nodes[node].kind == LoweredKind::kCond && IsBranch(cond)) SetBranch(node);
        continue;
      }
      Arrive(node);
    }
    // With too many gates for sets of them, every node stands alone; loops then take the general
    // path.
    const bool basic_blocks = options_.basic_blocks && !sets_.overflown();
    std::map<std::array<int, 4>, int> strip_of;
    std::vector<UnitNodes>& units = out_.units[frame_];
    for (const int n : nodes) {
      const LoweredNode& node = lowered_.nodes[n];
      if (out_.absent[n] || IsGateSource(node)) continue;
      const UnitClass cls = ClassOf(node);
      const bool starts_frame = node.kind == LoweredKind::kLoop && !out_.structured[node.child];
      const Arrival& a = (*arrivals_)[n];
      int unit = static_cast<int>(units.size());
      if (basic_blocks && cls == UnitClass::kBasicBlock && !starts_frame) {
        unit = strip_of.try_emplace({node.device, a.depth, a.ready, a.dead}, unit).first->second;
      }
      if (unit == static_cast<int>(units.size())) units.push_back({.cls = cls, .nodes = {}});
      units[unit].nodes.push_back(n);
      out_.unit_of[n] = unit;
    }
  }

 private:
  // Arrives on its own: no code of the frame makes it.
  bool IsGateSource(const LoweredNode& node) const {
    if (node.kind == LoweredKind::kExit) return true;
    return node.kind == LoweredKind::kMerge || node.kind == LoweredKind::kInvariant;
  }

  bool IsBranch(int cond) const { return out_.branches[lowered_.nodes[cond].number]; }
  void SetBranch(int cond) { out_.branches[lowered_.nodes[cond].number] = true; }

  UnitClass ClassOf(const LoweredNode& node) const {
    if (node.kind == LoweredKind::kLoop && out_.structured[node.child]) {
      return frame_ == 0 && options_.threads > 0 ? UnitClass::kHeavy : UnitClass::kBasicBlock;
    }
    if (node.kind != LoweredKind::kKernel) return UnitClass::kBasicBlock;
    const ProgramNode& origin = lowered_.program->nodes[node.origin];
    if (origin.kernel->AsAsync() != nullptr) return UnitClass::kAsync;
    return origin.heavy && options_.threads > 0 ? UnitClass::kHeavy : UnitClass::kBasicBlock;
  }

  int Gate(std::array<int, 3> key) {
    return gates_.try_emplace(key, static_cast<int>(gates_.size())).first->second;
  }
  int GateOfNode(int node) { return Gate({0, node, 0}); }

  Arrival With(Arrival arrival, int gate, bool ready, bool dead) {
    if (ready) arrival.ready = sets_.With(arrival.ready, gate);
    if (dead) arrival.dead = sets_.With(arrival.dead, gate);
    return arrival;
  }

  // How output `index` of a node arrives.
  Arrival ArrivalOf(int n, int index) {
    n = ResolveControl(lowered_, out_, n);
    const LoweredNode& node = lowered_.nodes[n];
    const Arrival& own = (*arrivals_)[n];
    switch (node.kind) {
      case LoweredKind::kSwitch: {
        const LoweredValue& predicate = node.inputs[1];
        const int gate = Gate({1 + index, predicate.node, predicate.index});
        return With(own, gate, true, true);
      }
      case LoweredKind::kMerge:
      case LoweredKind::kInvariant:
        return own;
      case LoweredKind::kExit: {
        const int loop = lowered_.frames[node.child].loop;
        Arrival arrival = (*arrivals_)[loop];
        if (out_.structured[node.child]) {
          const bool heavy = ClassOf(lowered_.nodes[loop]) == UnitClass::kHeavy;
          return heavy ? With(arrival, GateOfNode(loop), true, false) : arrival;
        }
        arrival.dead = GateSets::kEmpty;
        return With(arrival, GateOfNode(n), true, true);
      }
      default:
        break;
    }
    if (ClassOf(node) == UnitClass::kBasicBlock) return own;
    const bool may_be_dead =
        node.kind == LoweredKind::kKernel && lowered_.program->nodes[node.origin].may_be_dead;
    return With(own, GateOfNode(n), true, may_be_dead);
  }

  // As a control edge: a Switch has done its work when it has run, whatever the side.
  Arrival ArrivalOfControl(int n) {
    n = ResolveControl(lowered_, out_, n);
    return lowered_.nodes[n].kind == LoweredKind::kSwitch ? (*arrivals_)[n] : ArrivalOf(n, 0);
  }

  void Join(Arrival* into, const Arrival& from, bool with_dead) {
    into->ready = sets_.Union(into->ready, from.ready);
    if (with_dead) into->dead = sets_.Union(into->dead, from.dead);
    into->depth = std::max(into->depth, from.depth);
  }

  void Arrive(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    Arrival arrival;
    switch (node.kind) {
      case LoweredKind::kMerge:
        arrival = ArriveMerge(n);
        break;
      case LoweredKind::kInvariant:
        arrival = With({}, GateOfNode(n), false, true);
        break;
      case LoweredKind::kExit:
        break;
      case LoweredKind::kLoop:
        arrival = ArriveLoop(node);
        break;
      case LoweredKind::kCond:
        arrival = ArriveCond(n);
        break;
      default:
        arrival = ArrivePlain(node);
        // Alive behind the dead: what waits for it too must not join what comes before.
        if (node.lenient_controls) arrival = With(arrival, GateOfNode(n), true, false);
        break;
    }
    (*arrivals_)[n] = arrival;
  }

  Arrival ArrivePlain(const LoweredNode& node) {
    Arrival arrival;
    for (const LoweredValue& input : node.inputs) {
      if (input.is_node()) Join(&arrival, ArrivalOf(input.node, input.index), true);
    }
    for (const int before : node.controls) {
      Join(&arrival, ArrivalOfControl(before), !node.lenient_controls);
    }
    return arrival;
  }

  Arrival ArriveMerge(int n) {
    Arrival arrival;
    std::optional<int> shared;
    for (const MergeInput& input : lowered_.nodes[n].merge_inputs) {
      const bool forward = input.value.is_node() && input.next < 0;
      const Arrival from = forward ? ArrivalOf(input.value.node, input.value.index) : Arrival{};
      shared = shared.has_value() ? sets_.Intersection(*shared, from.ready) : from.ready;
      arrival.depth = std::max(arrival.depth, from.depth);
    }
    arrival.ready = shared.value_or(GateSets::kEmpty);
    ++arrival.depth;
    return With(arrival, GateOfNode(n), true, true);
  }

  // Decides whether the loop is one instruction: its shape allows it and what enters lives and dies
  // together.
  Arrival ArriveLoop(const LoweredNode& node) {
    Arrival arrival;
    std::optional<int> dead;
    bool together = true;
    for (const LoweredValue& input : node.inputs) {
      const Arrival from = input.is_node() ? ArrivalOf(input.node, input.index) : Arrival{};
      if (dead.has_value() && *dead != from.dead) together = false;
      dead = from.dead;
      Join(&arrival, from, true);
    }
    const bool structured = options_.structured_loops && together &&
                            loops_[node.child].structured && !sets_.overflown();
    out_.structured[node.child] = structured;
    if (!structured) arrival.dead = GateSets::kEmpty;
    return arrival;
  }

  // Decides whether the conditional is a jump: all its Switches run and die together, and nothing
  // else that its branches read is later than they, or can be dead when they live.
  Arrival ArriveCond(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const CondShape& cond = lowered_.conditionals[node.number];
    const Arrival own = ArrivePlain(lowered_.nodes[cond.switches.front()]);
    bool together = !sets_.overflown();
    for (const int s : cond.switches) together &= ArrivePlain(lowered_.nodes[s]) == own;
    Arrival all = own;
    for (const LoweredValue& input : node.inputs) {
      if (input.is_node()) Join(&all, ArrivalOf(input.node, input.index), true);
    }
    for (const int before : node.controls) Join(&all, ArrivalOfControl(before), true);
    together &= all == own && !sets_.overflown();
    for (const int frame : cond.loops) {
      // In the root frame a loop is worth a thread.
      together &= loops_[frame].structured && (frame_ != 0 || options_.threads == 0);
    }
    out_.absent[n] = !together;
    if (!together) return {};
    SetBranch(n);
    for (const int frame : cond.loops) out_.structured[frame] = true;
    return own;
  }

  const Lowered& lowered_;
  const std::vector<LoopShape>& loops_;
  const CompileOptions& options_;
  const int frame_;
  Units& out_;
  std::vector<Arrival>* arrivals_ = nullptr;
  GateSets sets_;
  std::map<std::array<int, 3>, int> gates_;
};

// Nodes that lead out of their unit come first, so that others start early. What leads to them
// leads out too, so the order stays one in which sources come first.
void PutLeadingNodesFirst(const Lowered& lowered, Units* units) {
  std::vector<bool> leads(lowered.nodes.size());
  const auto stands_for = [&](int node) { return ResolveControl(lowered, *units, node); };
  for (size_t n = 0; n < lowered.nodes.size(); ++n) {
    if (units->absent[n]) continue;
    const LoweredNode& node = lowered.nodes[n];
    for (const MergeInput& input : node.merge_inputs) {
      if (input.value.is_node()) leads[stands_for(input.value.node)] = true;
    }
    if (node.leaving.is_node()) leads[stands_for(node.leaving.node)] = true;
    if (node.kind == LoweredKind::kExit) leads[lowered.frames[node.child].loop] = true;
  }
  for (size_t i = lowered.order.size(); i-- > 0;) {
    const int reader = lowered.order[i];
    if (units->absent[reader]) continue;
    const auto see = [&](int node) {
      const int source = stands_for(node);
      if (leads[reader] || units->unit_of[source] != units->unit_of[reader]) leads[source] = true;
    };
    for (const LoweredValue& input : lowered.nodes[reader].inputs) {
      if (input.is_node()) see(input.node);
    }
    for (const int before : lowered.nodes[reader].controls) see(before);
  }
  for (std::vector<UnitNodes>& frame : units->units) {
    for (UnitNodes& unit : frame) {
      std::stable_partition(unit.nodes.begin(), unit.nodes.end(),
                            [&](int node) { return leads[node]; });
    }
  }
}

// A basic block with more work than this is cut along its order, so that other threads can have a
// part of it.
constexpr float kBlockMicros = 20;
// What is left of a basic block is worth a thread only above this.
constexpr float kShareMicros = 5;

void CutLongStrips(const Lowered& lowered, Units* units) {
  for (std::vector<UnitNodes>& frame : units->units) {
    for (size_t u = 0; u < frame.size(); ++u) {
      if (frame[u].cls != UnitClass::kBasicBlock) continue;
      float micros = 0;
      size_t keep = 0;
      for (const int node : frame[u].nodes) {
        const LoweredNode& n = lowered.nodes[node];
        if (n.kind == LoweredKind::kKernel) micros += lowered.program->nodes[n.origin].micros;
        if (n.kind == LoweredKind::kCond) micros += lowered.conditionals[n.number].micros;
        if (micros > kBlockMicros && keep > 0) break;
        ++keep;
      }
      if (keep == frame[u].nodes.size()) {
        // The last piece of what was cut.
        if (frame[u].is_piece && micros > kShareMicros) frame[u].cls = UnitClass::kHeavy;
        continue;
      }
      UnitNodes rest{.is_piece = true};
      rest.nodes.assign(frame[u].nodes.begin() + static_cast<int64_t>(keep), frame[u].nodes.end());
      frame[u].nodes.resize(keep);
      frame[u].cls = UnitClass::kHeavy;
      for (const int node : rest.nodes) units->unit_of[node] = static_cast<int>(frame.size());
      frame.push_back(std::move(rest));
    }
  }
}

}  // namespace

int ResolveControl(const Lowered& lowered, const Units& units, int node) {
  const LoweredNode& from = lowered.nodes[node];
  const bool is_edge = from.kind == LoweredKind::kSwitch || from.kind == LoweredKind::kMerge;
  if (!is_edge || from.cond < 0) return node;
  return units.branches[lowered.nodes[from.cond].number] ? from.cond : node;
}

Units FormUnits(const Lowered& lowered, const std::vector<LoopShape>& loops,
                const CompileOptions& options) {
  Units units;
  const size_t frames = lowered.frames.size();
  units.structured.assign(frames, false);
  units.inside.assign(frames, false);
  units.branches.assign(lowered.conditionals.size(), false);
  units.absent.assign(lowered.nodes.size(), false);
  units.unit_of.assign(lowered.nodes.size(), -1);
  units.units.resize(frames);
  std::vector<std::vector<int>> nodes(frames);
  for (const int node : lowered.order) nodes[lowered.nodes[node].frame].push_back(node);
  std::vector<Arrival> arrivals(lowered.nodes.size());
  const auto jump_inside = [&](size_t frame) {
    for (const int node : nodes[frame]) {
      const LoweredNode& n = lowered.nodes[node];
      if (n.kind == LoweredKind::kCond) units.branches[n.number] = true;
    }
  };
  for (size_t f = 0; f < frames; ++f) {
    if (f > 0) {
      const int parent = lowered.tree.frames[f].parent;
      units.inside[f] = units.structured[f] || units.inside[parent];
      if (units.inside[f]) {
        units.structured[f] = true;
        jump_inside(f);
        continue;
      }
    }
    FrameUnits(lowered, loops, options, static_cast<int>(f), &units).Form(nodes[f], &arrivals);
  }
  PutLeadingNodesFirst(lowered, &units);
  if (options.threads > 0) CutLongStrips(lowered, &units);
  return units;
}

}  // namespace thalweg
