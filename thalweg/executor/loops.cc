// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/loops.h"

#include <algorithm>
#include <unordered_map>

namespace thalweg {
namespace {

// Loop instructions call each other on the stack.
constexpr int kMostNested = 32;

enum Part : int8_t { kUnknown = -1, kCondition = 0, kBody = 1, kLeaving = 2 };

// Whether the heavy nodes of a frame run one after the other whatever the number of threads: each
// waits for the one before it, and the first for the last of the iteration before. Their cheap
// neighbors then are not worth a second thread, unless they are much work together. Loops inside
// count as heavy.
class SerialWork {
 public:
  SerialWork(const Lowered& lowered, int frame, const std::vector<int>& nodes)
      : lowered_(lowered), frame_(lowered.frames[frame]), nodes_(nodes) {}

  bool Holds() {
    for (const int n : nodes_) {
      const int before = Reached(n, &last_);
      last_[n] = before;
      if (!IsHeavy(n)) continue;
      if (before != num_heavy_ - 1) return false;
      last_[n] = num_heavy_++;
      if (num_heavy_ == 1) first_ = n;
    }
    return heavy_micros_ >= cheap_micros_ && FirstWaitsForLast();
  }

 private:
  using Numbers = std::unordered_map<int, int>;  // by node; those outside of the frame are left out

  bool IsHeavy(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    if (node.kind == LoweredKind::kLoop) return true;
    if (node.kind != LoweredKind::kKernel) return false;
    const ProgramNode& origin = lowered_.program->nodes[node.origin];
    (origin.heavy ? heavy_micros_ : cheap_micros_) += origin.micros;
    return origin.heavy;
  }
  // The greatest number among what `n` waits for in its iteration, -1 for none.
  int Reached(int n, Numbers* numbers) const {
    const LoweredNode& node = lowered_.nodes[n];
    int most = -1;
    const auto see = [&](int before) {
      const auto found = numbers->find(before);
      if (found != numbers->end()) most = std::max(most, found->second);
    };
    for (const LoweredValue& input : node.inputs) see(input.node);
    for (const int before : node.controls) see(before);
    for (const MergeInput& input : node.merge_inputs) {
      if (input.next < 0) see(input.value.node);
    }
    if (node.kind == LoweredKind::kExit) see(lowered_.frames[node.child].loop);
    return most;
  }
  bool FirstWaitsForLast() const {
    Numbers fed;
    for (const int merge : frame_.merges) {
      for (const MergeInput& input : lowered_.nodes[merge].merge_inputs) {
        const auto found = last_.find(input.value.node);
        if (input.next >= 0 && found != last_.end() && found->second == num_heavy_ - 1) {
          fed[merge] = 1;
        }
      }
    }
    for (const int n : nodes_) {
      if (Reached(n, &fed) == 1) fed[n] = 1;
      if (n == first_) return fed.contains(n);
    }
    return false;
  }

  const Lowered& lowered_;
  const LoweredFrame& frame_;
  const std::vector<int>& nodes_;
  Numbers last_;  // the heavy node that each waits for, counted in their order
  int num_heavy_ = 0, first_ = -1;
  float heavy_micros_ = 0, cheap_micros_ = 0;
};

class LoopFinder {
 public:
  LoopFinder(const Lowered& lowered, int threads) : lowered_(lowered), threads_(threads) {}

  std::vector<LoopShape> Run() {
    shapes_.resize(lowered_.frames.size());
    part_.assign(lowered_.nodes.size(), kUnknown);
    std::vector<std::vector<int>> nodes(lowered_.frames.size());
    for (const int node : lowered_.order) nodes[lowered_.nodes[node].frame].push_back(node);
    for (size_t f = lowered_.frames.size(); f-- > 1;) {
      LoopShape& shape = shapes_[f];
      shape.depth = 1;
      shape.structured = Examine(static_cast<int>(f), nodes[f], &shape);
      if (!shape.structured) shape = {};
    }
    return std::move(shapes_);
  }

 private:
  Part PartOf(const LoweredValue& value) const {
    if (!value.is_node()) return kCondition;
    const LoweredNode& node = lowered_.nodes[value.node];
    if (node.kind == LoweredKind::kSwitch) return value.index == 0 ? kLeaving : kBody;
    if (node.kind == LoweredKind::kMerge && value.index != 0 && node.cond < 0) return kUnknown;
    return static_cast<Part>(part_[value.node]);
  }

  bool Examine(int frame, const std::vector<int>& nodes, LoopShape* shape) {
    const LoweredFrame& f = lowered_.frames[frame];
    if (f.has_stray_enters || f.exits.empty()) return false;
    const int device = lowered_.nodes[f.loop].device;
    bool has_predicate = false;
    for (const int n : nodes) {
      const LoweredNode& node = lowered_.nodes[n];
      if (node.device != device) return false;
      shape->heavy |= IsHeavy(node);
      if (node.cond >= 0) {
        // Code of the conditional.
        part_[n] = part_[node.cond];
        continue;
      }
      Part part = kCondition;
      switch (node.kind) {
        case LoweredKind::kInvariant:
          break;
        case LoweredKind::kMerge:
          if (!IsHeader(node)) return false;
          break;
        case LoweredKind::kSwitch:
          if (!has_predicate) shape->predicate = node.inputs[1];
          has_predicate = true;
          if (!IsLoopSwitch(node, shape->predicate)) return false;
          break;
        case LoweredKind::kExit:
          part = static_cast<Part>(part_[lowered_.frames[node.child].loop]);
          break;
        case LoweredKind::kKernel:
        case LoweredKind::kForward:
        case LoweredKind::kLoop:
          part = Classify(node);
          if (part == kUnknown) return false;
          break;
        case LoweredKind::kCond:
          part = ClassifyCond(node, shape);
          if (part == kUnknown) return false;
          break;
      }
      if (node.kind == LoweredKind::kLoop) {
        shape->depth = std::max(shape->depth, shapes_[node.child].depth + 1);
      }
      part_[n] = part;
      if (node.kind == LoweredKind::kMerge || node.kind == LoweredKind::kInvariant ||
          node.kind == LoweredKind::kExit) {
        continue;
      }
      (part == kBody ? shape->body : shape->condition).push_back(n);
    }
    return has_predicate && shape->depth <= kMostNested && shape->predicate.is_node() &&
           PartOf(shape->predicate) == kCondition && EndsFit(f) &&
           (!shape->heavy || SerialWork(lowered_, frame, nodes).Holds());
  }

  bool IsHeavy(const LoweredNode& node) const {
    if (threads_ == 0) return false;
    if (node.kind == LoweredKind::kLoop) return shapes_[node.child].heavy;
    return node.kind == LoweredKind::kKernel && lowered_.program->nodes[node.origin].heavy;
  }

  bool IsHeader(const LoweredNode& merge) const {
    const std::vector<MergeInput>& inputs = merge.merge_inputs;
    if (merge.is_synthetic || inputs.size() != 2) return false;
    const int next = inputs[0].next >= 0 ? 0 : 1;
    return inputs[next].next >= 0 && inputs[1 - next].value.node == LoweredValue::kEntering;
  }

  bool IsLoopSwitch(const LoweredNode& node, const LoweredValue& predicate) const {
    if (node.lenient_controls) return false;
    for (const LoweredValue& input : node.inputs) {
      if (PartOf(input) != kCondition || input.read_reference) return false;
    }
    for (const int before : node.controls) {
      if (part_[before] != kCondition) return false;
    }
    return node.inputs[1].node == predicate.node && node.inputs[1].index == predicate.index;
  }

  // kUnknown where the node does not fit into a structured loop.
  Part Classify(const LoweredNode& node) const {
    const ProgramNode& origin = lowered_.program->nodes[node.origin];
    if (node.kind == LoweredKind::kKernel) {
      if (origin.kernel->AsAsync() != nullptr || origin.runs_when_dead || origin.may_be_dead) {
        return kUnknown;
      }
    }
    if (node.lenient_controls) return kUnknown;
    Part part = kCondition;
    bool in_condition = false;
    const auto see = [&](Part source) {
      if (source == kUnknown || source == kLeaving) return false;
      in_condition |= source == kCondition;
      part = std::max(part, source);
      return true;
    };
    for (const LoweredValue& input : node.inputs) {
      if (!see(PartOf(input))) return kUnknown;
    }
    for (const int before : node.controls) {
      if (!see(static_cast<Part>(part_[before]))) return kUnknown;
    }
    if (node.kind == LoweredKind::kLoop) {
      // Started from both parts it would be half dead in the last iteration.
      const bool half_dead = part == kBody && in_condition;
      if (!shapes_[node.child].structured || half_dead) return kUnknown;
    }
    return part;
  }

  // The part of all its Switches; everything else that it reads is there when they run.
  Part ClassifyCond(const LoweredNode& node, LoopShape* shape) const {
    const CondShape& cond = lowered_.conditionals[node.number];
    Part part = kUnknown;
    const auto fits = [&](Part source) {
      return source != kUnknown && source != kLeaving && source <= part;
    };
    for (const int n : cond.switches) {
      const Part own = Classify(lowered_.nodes[n]);
      if (own == kUnknown || (part != kUnknown && own != part)) return kUnknown;
      part = own;
    }
    for (const LoweredValue& input : node.inputs) {
      if (!fits(PartOf(input))) return kUnknown;
    }
    for (const int before : node.controls) {
      if (!fits(static_cast<Part>(part_[before]))) return kUnknown;
    }
    for (const int frame : cond.loops) {
      if (!shapes_[frame].structured) return kUnknown;
      shape->depth = std::max(shape->depth, shapes_[frame].depth + 1);
    }
    return part;
  }

  bool EndsFit(const LoweredFrame& f) const {
    std::vector<bool> entered(f.enter_invariant.size());
    for (const int merge : f.merges) {
      for (const MergeInput& input : lowered_.nodes[merge].merge_inputs) {
        if (input.value.node != LoweredValue::kEntering) continue;
        if (entered[input.value.index]) return false;  // one Enter for two variables
        entered[input.value.index] = true;
      }
    }
    for (const int exit : f.exits) {
      if (PartOf(lowered_.nodes[exit].leaving) != kLeaving) return false;
    }
    for (const int merge : f.merges) {
      for (const MergeInput& input : lowered_.nodes[merge].merge_inputs) {
        if (input.next >= 0 && PartOf(input.value) != kBody) return false;
      }
    }
    return true;
  }

  const Lowered& lowered_;
  const int threads_;
  std::vector<LoopShape> shapes_;
  std::vector<int8_t> part_;
};

}  // namespace

std::vector<LoopShape> FindLoops(const Lowered& lowered, int threads) {
  return LoopFinder(lowered, threads).Run();
}

}  // namespace thalweg
