// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/conditionals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "thalweg/executor/cond_order.h"

namespace thalweg {
namespace {

// Code is written for conditionals in each other by a recursion.
constexpr int kMostNested = 32;

// With threads, branches with more work than this keep basic blocks that can be shared.
constexpr float kBranchMicros = 20;

// Region 0 is outside of any; side s of group g is 1 + 2 * g + s.
constexpr int kOutside = 0;

// The Switches of one predicate in one region.
struct Group {
  int parent = kOutside;  // region
  int depth = 1;
  std::vector<int> switches;
  std::vector<int> merges;   // that join both sides
  std::vector<int> members;  // of both regions
};

// Every node has two places in the union of what is connected: as a part of the region it lies in,
// and, a Switch or Merge, as an edge of the conditional that it opens or ends.
class CondFinder {
 public:
  CondFinder(int threads, Lowered* lowered)
      : threads_(threads), lowered_(*lowered), count_(static_cast<int>(lowered->nodes.size())) {}

  void Run() {
    const auto is_switch = [](const LoweredNode& node) {
      return node.kind == LoweredKind::kSwitch;
    };
    if (std::none_of(lowered_.nodes.begin(), lowered_.nodes.end(), is_switch)) return;
    region_.assign(count_, kOutside);
    group_.assign(count_, -1);
    united_.resize(2 * static_cast<size_t>(count_));
    std::iota(united_.begin(), united_.end(), 0);
    refused_.assign(united_.size(), false);
    opens_.assign(count_, -1);
    for (const int n : lowered_.order) Place(n);
    LeaveRegions();
    for (int g = static_cast<int>(groups_.size()); g-- > 0;) FormParts(g);
    if (!parts_.empty()) Describe();
  }

 private:
  // --- Regions

  int Edge(int node) const { return count_ + node; }

  int Find(int element) {
    while (united_[element] != element) {
      united_[element] = united_[united_[element]];
      element = united_[element];
    }
    return element;
  }
  void Unite(int a, int b) { united_[Find(a)] = Find(b); }

  int RegionOf(const LoweredValue& value) const {
    if (!value.is_node()) return kOutside;
    if (lowered_.nodes[value.node].kind != LoweredKind::kSwitch) return region_[value.node];
    return group_[value.node] < 0 ? kOutside : 1 + 2 * group_[value.node] + value.index;
  }
  int ElementOf(const LoweredValue& value) const {
    return lowered_.nodes[value.node].kind == LoweredKind::kSwitch ? Edge(value.node) : value.node;
  }

  int DepthOf(int region) const { return region == kOutside ? 0 : groups_[(region - 1) / 2].depth; }
  // `outer` is `inner` or around it.
  bool Contains(int outer, int inner) const {
    while (DepthOf(inner) > DepthOf(outer)) inner = groups_[(inner - 1) / 2].parent;
    return inner == outer;
  }

  // Something reads the value that is none of its region's business.
  void Refuse(const LoweredValue& value) {
    if (RegionOf(value) != kOutside) refused_[ElementOf(value)] = true;
  }
  void RefuseSources(const LoweredNode& node) {
    for (const LoweredValue& input : node.inputs) Refuse(input);
    for (const int before : node.controls) refused_[before] = true;
    for (const MergeInput& input : node.merge_inputs) Refuse(input.value);
  }

  void Place(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    switch (node.kind) {
      case LoweredKind::kMerge:
        return PlaceMerge(n);
      case LoweredKind::kExit:
        region_[n] = region_[lowered_.frames[node.child].loop];
        Unite(n, lowered_.frames[node.child].loop);
        break;
      case LoweredKind::kLoop:
        return PlaceLoop(n);
      case LoweredKind::kInvariant:
      case LoweredKind::kCond:
        return;
      case LoweredKind::kSwitch:
      case LoweredKind::kKernel:
      case LoweredKind::kForward:
        PlacePlain(n);
        break;
    }
    Enlist(n);
    if (node.kind == LoweredKind::kSwitch) OpenGroup(n);
  }

  void Enlist(int n) {
    if (region_[n] != kOutside) groups_[(region_[n] - 1) / 2].members.push_back(n);
  }

  // The innermost region of what a node reads is its own; the others must lie around that.
  void PlacePlain(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    int region = kOutside;
    const auto deepen = [&](int other) {
      if (DepthOf(other) > DepthOf(region)) region = other;
    };
    for (const LoweredValue& input : node.inputs) deepen(RegionOf(input));
    for (const int before : node.controls) {
      if (!node.lenient_controls) deepen(region_[before]);
    }
    bool nested = true;
    for (const LoweredValue& input : node.inputs) nested &= Contains(RegionOf(input), region);
    for (const int before : node.controls) nested &= Contains(region_[before], region);
    if (!nested) {
      // Dead on its own, or alive when what it waits for is dead.
      RefuseSources(node);
      return;
    }
    region_[n] = region;
    if (region == kOutside) return;
    for (const LoweredValue& input : node.inputs) {
      if (RegionOf(input) == region) Unite(n, ElementOf(input));
    }
    for (const int before : node.controls) {
      if (region_[before] == region) Unite(n, before);
    }
    if (!IsCheap(node)) refused_[n] = true;
  }

  bool IsCheap(const LoweredNode& node) const {
    if (node.kind != LoweredKind::kKernel) return true;
    const ProgramNode& origin = lowered_.program->nodes[node.origin];
    return (threads_ == 0 || !origin.heavy) && origin.kernel->AsAsync() == nullptr &&
           !origin.runs_when_dead && !origin.may_be_dead;
  }

  // All that enters a loop must live and die together.
  void PlaceLoop(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const int region = RegionOf(node.inputs.front());
    for (const LoweredValue& input : node.inputs) {
      if (RegionOf(input) == region) continue;
      return RefuseSources(node);
    }
    region_[n] = region;
    if (region == kOutside) return;
    for (const LoweredValue& input : node.inputs) Unite(n, ElementOf(input));
    Enlist(n);
  }

  // What decides for a Switch, seen through Identity: the front ends hang the literals of a branch
  // on Switch(p, p) and what it reads on Switch(x, Identity(p)).
  LoweredValue Predicate(const LoweredNode& node) const {
    LoweredValue value = node.inputs[1];
    while (value.is_node() && !value.read_reference) {
      const LoweredNode& source = lowered_.nodes[value.node];
      if (source.kind != LoweredKind::kKernel || source.frame != node.frame ||
          !source.controls.empty() || lowered_.program->nodes[source.origin].op != "Identity" ||
          !source.inputs.front().is_node() || source.inputs.front().read_reference) {
        break;
      }
      value = source.inputs.front();
    }
    return value;
  }

  void OpenGroup(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const LoweredValue predicate = Predicate(node);
    if (predicate.read_reference || DepthOf(region_[n]) >= kMostNested) {
      refused_[n] = true;
      return;
    }
    const auto [at, is_new] =
        group_of_.try_emplace({node.frame, region_[n], predicate.node, predicate.index},
                              static_cast<int>(groups_.size()));
    if (is_new) groups_.push_back({.parent = region_[n], .depth = DepthOf(region_[n]) + 1});
    group_[n] = at->second;
    groups_[at->second].switches.push_back(n);
  }

  void PlaceMerge(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const std::vector<MergeInput>& inputs = node.merge_inputs;
    const auto plain = [](const MergeInput& input) {
      return input.value.is_node() && input.next < 0 && !input.value.read_reference;
    };
    if (inputs.size() == 2 && plain(inputs[0]) && plain(inputs[1])) {
      const int first = RegionOf(inputs[0].value), second = RegionOf(inputs[1].value);
      // Both sides of a group: 1 + 2 * g and 2 + 2 * g.
      if (first != kOutside && second != kOutside && first != second &&
          (first - 1) / 2 == (second - 1) / 2) {
        Group& group = groups_[(first - 1) / 2];
        region_[n] = group.parent;
        group.merges.push_back(n);
        for (const MergeInput& input : inputs) Unite(Edge(n), ElementOf(input.value));
        return Enlist(n);
      }
    }
    for (const MergeInput& input : inputs) {
      if (input.next < 0) Refuse(input.value);
    }
  }

  // What leaves a frame or goes on to the next iteration is read outside of any region.
  void LeaveRegions() {
    for (const LoweredNode& node : lowered_.nodes) {
      for (const MergeInput& input : node.merge_inputs) {
        if (input.next >= 0) Refuse(input.value);
      }
      if (node.kind == LoweredKind::kExit) Refuse(node.leaving);
    }
    for (const LoweredValue& fetch : lowered_.fetches) Refuse(fetch);
  }

  // --- Conditionals

  int SideOf(int node) const { return (region_[node] - 1) % 2; }

  // What is connected in the regions of group `g`. Groups inside have been here before.
  void FormParts(int g) {
    const Group& group = groups_[g];
    std::map<int, CondPart> parts;
    std::map<int, bool> refused;
    const auto part_of = [&](int element) -> CondPart& {
      const int root = Find(element);
      refused[root] = refused[root] || refused_[element];
      return parts[root];
    };
    for (const int n : group.switches) part_of(Edge(n)).switches.push_back(n);
    for (const int n : group.members) part_of(n).members.push_back(n);
    for (const int n : group.merges) part_of(Edge(n)).merges.push_back(n);
    for (auto& [root, part] : parts) {
      const bool whole = !refused[root] && IsWhole(&part);
      FindReads(g, part, whole);
      if (whole) {
        Adopt(std::move(part), group.parent);
        continue;
      }
      for (const int n : part.switches) refused_[n] = true;
      for (const int n : part.merges) refused_[n] = true;
    }
  }

  // What the part reads of the regions around it belongs together with it there, or else, being
  // read by something that keeps its Switches, to no conditional.
  void FindReads(int g, const CondPart& part, bool whole) {
    std::vector<Read> reads;
    const auto see = [&](const Read& read) {
      if (read.region == kOutside || (read.region - 1) / 2 == g) return;
      if (!whole) {
        refused_[read.element] = true;
      } else if (read.region == groups_[g].parent) {
        Unite(read.element, part.switches.front());
      } else {
        reads.push_back(read);
      }
    };
    for (const int n : part.members) {
      const LoweredNode& node = lowered_.nodes[n];
      for (const LoweredValue& input : node.inputs) {
        if (input.is_node()) see({ElementOf(input), RegionOf(input)});
      }
      for (const int before : node.controls) see({before, region_[before]});
      const int inner = node.kind == LoweredKind::kSwitch ? opens_[n] : -1;
      if (inner < 0) continue;
      for (const Read& read : reads_[inner]) see(read);
    }
    if (whole) reads_.push_back(std::move(reads));
  }

  bool IsWhole(CondPart* part) const {
    if (part->switches.empty() || (part->members.empty() && part->merges.empty())) return false;
    const int device = lowered_.nodes[part->switches.front()].device;
    std::array<float, 2> micros = {};
    for (const int n : part->members) {
      const LoweredNode& node = lowered_.nodes[n];
      if (node.device != device) return false;
      if (node.kind == LoweredKind::kKernel) {
        micros[SideOf(n)] += lowered_.program->nodes[node.origin].micros;
      } else if (node.kind == LoweredKind::kSwitch && parts_[opens_[n]].switches.front() == n) {
        micros[SideOf(n)] += parts_[opens_[n]].micros;
      }
    }
    const auto elsewhere = [&](int n) { return lowered_.nodes[n].device != device; };
    part->micros = std::max(micros[0], micros[1]);
    return std::none_of(part->switches.begin(), part->switches.end(), elsewhere) &&
           std::none_of(part->merges.begin(), part->merges.end(), elsewhere) &&
           (threads_ == 0 || part->micros <= kBranchMicros);
  }

  void Adopt(CondPart part, int parent) {
    const int number = static_cast<int>(parts_.size());
    for (const int n : part.members) {
      if (lowered_.nodes[n].kind == LoweredKind::kSwitch) parts_[opens_[n]].outer = number;
    }
    for (const int n : part.switches) opens_[n] = number;
    // Its edges are parts of the region around it, and belong together there.
    if (parent != kOutside) {
      for (const int n : part.switches) Unite(n, part.switches.front());
      for (const int n : part.merges) Unite(n, part.switches.front());
    }
    parts_.push_back(std::move(part));
  }

  // --- The result

  void Describe() {
    std::vector<int> order = OrderAroundParts(lowered_, parts_);
    for (int& at : order) {
      if (at >= count_) at = NewCond(parts_[at - count_]);
    }
    lowered_.order = std::move(order);
    lowered_.first_index = static_cast<int>(lowered_.constants.size());
    for (const int32_t i : {0, 1}) lowered_.constants.push_back(Tensor::Scalar(i));
    for (const CondPart& part : parts_) {
      if (part.node < 0) continue;
      for (const std::vector<int>* nodes : {&part.switches, &part.members, &part.merges}) {
        for (const int n : *nodes) {
          // A Switch or Merge of a conditional inside belongs to that.
          int& cond = lowered_.nodes[n].cond;
          if (nodes != &part.members || cond < 0) cond = part.node;
        }
      }
    }
    std::vector<std::array<bool, 2>> is_read = FindReadMerges();
    for (const CondPart& part : parts_) {
      if (part.node >= 0) AddJoins(part, is_read);
    }
    for (const int n : lowered_.order) AddToSide(n);
    for (int n = 0; n < static_cast<int>(lowered_.nodes.size()); ++n) AddOutside(n);
    for (const CondShape& shape : lowered_.conditionals) Finish(shape);
  }

  int NewCond(CondPart& part) {
    part.node = static_cast<int>(lowered_.nodes.size());
    const LoweredNode& first = lowered_.nodes[part.switches.front()];
    LoweredNode node;
    node.kind = LoweredKind::kCond;
    node.origin = first.origin;
    node.frame = first.frame;
    node.device = first.device;
    node.is_synthetic = true;
    node.num_outputs = 2 * static_cast<int>(part.merges.size());
    node.number = static_cast<int>(lowered_.conditionals.size());
    node.cond = part.outer < 0 ? -1 : parts_[part.outer].node;
    lowered_.conditionals.push_back({.node = part.node,
                                     .predicate = first.inputs[1],
                                     .switches = part.switches,
                                     .sides = {},
                                     .joins = {},
                                     .loops = {},
                                     .micros = part.micros});
    lowered_.nodes.push_back(std::move(node));
    return part.node;
  }

  std::vector<std::array<bool, 2>> FindReadMerges() const {
    std::vector<std::array<bool, 2>> is_read(count_);
    const auto see = [&](const LoweredValue& value) {
      if (!value.is_node() || lowered_.nodes[value.node].kind != LoweredKind::kMerge) return;
      is_read[value.node][value.index] = true;
    };
    for (const LoweredNode& node : lowered_.nodes) {
      for (const LoweredValue& input : node.inputs) see(input);
      for (const MergeInput& input : node.merge_inputs) see(input.value);
      if (node.kind == LoweredKind::kExit) see(node.leaving);
    }
    for (const LoweredValue& fetch : lowered_.fetches) see(fetch);
    return is_read;
  }

  void AddJoins(const CondPart& part, const std::vector<std::array<bool, 2>>& is_read) {
    CondShape& shape = lowered_.conditionals[lowered_.nodes[part.node].number];
    for (const int n : part.merges) {
      LoweredNode& merge = lowered_.nodes[n];
      merge.cond_output = 2 * static_cast<int>(shape.joins.size());
      CondShape::Join join{.merge = n, .from = {}, .input = {}, .is_read = is_read[n]};
      for (int i = 0; i < 2; ++i) {
        const int side = (RegionOf(merge.merge_inputs[i].value) - 1) % 2;
        join.from[side] = merge.merge_inputs[i].value;
        join.input[side] = i;
      }
      shape.joins.push_back(join);
    }
  }

  // Switches and Merges need no code of their own, nor what a loop inside gives out.
  void AddToSide(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    if (node.cond < 0 || node.kind == LoweredKind::kSwitch || node.kind == LoweredKind::kMerge)
      return;
    const bool is_cond = node.kind == LoweredKind::kCond;
    const int part_of = is_cond ? lowered_.conditionals[node.number].switches.front() : n;
    if (node.kind == LoweredKind::kLoop) {
      for (int cond = node.cond; cond >= 0; cond = lowered_.nodes[cond].cond) {
        lowered_.conditionals[lowered_.nodes[cond].number].loops.push_back(node.child);
      }
    }
    if (node.kind == LoweredKind::kExit) return;
    lowered_.conditionals[lowered_.nodes[node.cond].number].sides[SideOf(part_of)].push_back(n);
  }

  bool IsPartOf(int node, int cond) const {
    while (node >= 0 && node != cond) node = lowered_.nodes[node].cond;
    return node == cond;
  }

  // What a conditional reads, and what it waits for, is what its parts do.
  void AddOutside(int n) {
    for (int cond = lowered_.nodes[n].cond; cond >= 0; cond = lowered_.nodes[cond].cond) {
      if (lowered_.nodes[n].kind == LoweredKind::kCond) return;
      LoweredNode& node = lowered_.nodes[cond];
      for (LoweredValue input : lowered_.nodes[n].inputs) {
        if (!input.is_node() || IsPartOf(input.node, cond)) continue;
        input.read_reference = false;
        node.inputs.push_back(input);
      }
      for (const int before : lowered_.nodes[n].controls) {
        if (!IsPartOf(before, cond)) node.controls.push_back(before);
      }
    }
  }

  void Finish(const CondShape& shape) {
    LoweredNode& node = lowered_.nodes[shape.node];
    const auto key = [](const LoweredValue& value) { return std::pair{value.node, value.index}; };
    std::set<std::pair<int, int>> seen;
    std::erase_if(node.inputs,
                  [&](const LoweredValue& value) { return !seen.insert(key(value)).second; });
    std::sort(node.controls.begin(), node.controls.end());
    node.controls.erase(std::unique(node.controls.begin(), node.controls.end()),
                        node.controls.end());
  }

  // A value of a region further out than the one around the part.
  struct Read {
    int element;
    int region;
  };

  const int threads_;
  Lowered& lowered_;
  const int count_;
  std::vector<int> region_;  // by node
  std::vector<int> group_;   // of a Switch
  std::vector<int> opens_;   // of a Switch: the part
  std::vector<Group> groups_;
  std::map<std::tuple<int, int, int, int>, int> group_of_;
  std::vector<int> united_;
  std::vector<bool> refused_;
  std::vector<CondPart> parts_;           // inner ones first
  std::vector<std::vector<Read>> reads_;  // by part
};

}  // namespace

void FindConditionals(int threads, Lowered* lowered) { CondFinder(threads, lowered).Run(); }

}  // namespace thalweg
