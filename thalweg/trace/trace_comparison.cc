// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace_comparison.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "thalweg/base/str_cat.h"
#include "thalweg/trace/told_part.h"
#include "thalweg/trace/trace_summary.h"
#include "thalweg/trace/transfers.h"

namespace thalweg {
namespace {

// Texts by their numbers in the comparison.
struct ComparedNode {
  uint32_t device = 0, name = 0, op = 0;
  SpanKind kind = SpanKind::kNode;
  bool operator==(const ComparedNode&) const = default;
};

struct ComparedNodeHash {
  size_t operator()(const ComparedNode& node) const {
    const uint64_t place = uint64_t{node.device} << 32 | node.name;
    const uint64_t what = uint64_t{node.op} << 2 | static_cast<uint64_t>(node.kind);
    return static_cast<size_t>((place * 0x9e3779b97f4a7c15 + what) * 0xd6e8feb86659fd93 >> 16);
  }
};

// What each step of a side has of something; a side that has none of it is empty.
struct StepSums {
  std::array<std::vector<int64_t>, 2> sides;
  void Add(size_t side, size_t steps, uint32_t step, int64_t value) {
    sides[side].resize(steps);
    sides[side][step] += value;
  }
};

struct NodeSums {
  StepSums time, path, calls;
  bool IsIn(size_t side) const { return !calls.sides[side].empty(); }
};

struct StallSums {
  StepSums lost;
  std::array<size_t, 2> steps{};
  std::array<Stall, 2> worst;
};

class Comparing {
 public:
  Comparing(const Trace& before, const Trace& after) : traces_{&before, &after} {}

  TraceComparison Run() {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      AddSpans(side);
      for (uint32_t step = 0; step < traces_[side]->steps.size(); ++step) AddStep(side, step);
    }
    TraceComparison comparison{.time = ChangeOf(times_)};
    for (size_t i = 0; i < where_.size(); ++i) comparison.where[i] = ChangeOf(where_[i]);
    CompareStalls(&comparison);
    CompareNodes(&comparison);
    comparison.sentence = PartsWords() + SentenceOf(comparison);
    return comparison;
  }

 private:
  size_t StepsOf(size_t side) const { return traces_[side]->steps.size(); }

  // The number in texts_ of a text of a trace.
  uint32_t Joined(size_t side, uint32_t text) {
    std::vector<uint32_t>& known = joined_[side];
    if (known.size() <= text) known.resize(traces_[side]->texts.size(), UINT32_MAX);
    if (known[text] == UINT32_MAX) known[text] = texts_.Add(traces_[side]->texts[text]);
    return known[text];
  }

  ComparedNode NodeOf(size_t side, const TraceSpan& span) {
    const Trace& trace = *traces_[side];
    ComparedNode node{.op = Joined(side, span.op), .kind = span.kind};
    node.device = texts_.Add(trace.devices[span.device].name);
    node.name = span.kind == SpanKind::kTransfer && span.edge != 0
                    ? texts_.Add(EdgeWithoutNumber(trace.texts[span.edge]))
                    : Joined(side, span.name);
    return node;
  }

  void AddSpans(size_t side) {
    for (const TraceSpan& span : traces_[side]->spans) {
      NodeSums& sums = nodes_[NodeOf(side, span)];
      sums.time.Add(side, StepsOf(side), span.step, span.end - span.start);
      sums.calls.Add(side, StepsOf(side), span.step, 1);
    }
  }

  void AddStep(size_t side, uint32_t number) {
    const Trace& trace = *traces_[side];
    const TraceStep& step = trace.steps[number];
    times_.Add(side, StepsOf(side), number, step.end - step.begin);
    const std::vector<PathPart> path = CriticalPath(trace, number);
    for (const PathPart& part : path) {
      const int64_t time = part.end - part.begin;
      where_[static_cast<size_t>(part.kind)].Add(side, StepsOf(side), number, time);
      if (part.span < 0 || part.kind == PathKind::kQueue || part.kind == PathKind::kStart) continue;
      nodes_[NodeOf(side, trace.spans[static_cast<size_t>(part.span)])].path.Add(
          side, StepsOf(side), number, time);
    }
    AddStalls(side, number, FindStalls(trace, number, path));
  }

  // Stalls are the same where they are of one kind, and, so far as it is a matter of one, of one
  // device and one value.
  void AddStalls(size_t side, uint32_t number, const std::vector<Stall>& stalls) {
    const Trace& trace = *traces_[side];
    std::map<StallSums*, bool> seen;
    for (const Stall& stall : stalls) {
      uint32_t device = 0, value = 0;
      if (stall.kind != StallKind::kParallelism)
        device = texts_.Add(trace.devices[stall.device].name);
      if (stall.transfer >= 0) {
        const TraceTransfer& transfer = trace.transfers[static_cast<size_t>(stall.transfer)];
        value = texts_.Add(EdgeWithoutNumber(trace.texts[transfer.edge]));
      }
      StallSums& sums = stalls_[{stall.kind, device, value}];
      sums.lost.Add(side, StepsOf(side), number, stall.lost);
      sums.steps[side] += seen.try_emplace(&sums, true).second ? 1 : 0;
      if (stall.lost > sums.worst[side].lost) sums.worst[side] = stall;
    }
  }

  TimeChange ChangeOf(const StepSums& sums) const {
    TimeChange change{.before = MiddleOf(sums.sides[0]), .after = MiddleOf(sums.sides[1])};
    if (change.difference() == 0) return change;
    const int64_t spread =
        std::max(change.before.high - change.before.low, change.after.high - change.after.low);
    change.size = StepsOf(0) < 2 && StepsOf(1) < 2          ? ChangeSize::kUnknown
                  : std::abs(change.difference()) <= spread ? ChangeSize::kNoise
                                                            : ChangeSize::kReal;
    return change;
  }

  void CompareStalls(TraceComparison* comparison) const {
    for (const auto& [key, sums] : stalls_) {
      const Stall& shown = sums.worst[sums.steps[1] > 0 ? 1 : 0];
      comparison->stalls.push_back({.kind = std::get<0>(key),
                                    .lost = ChangeOf(sums.lost),
                                    .steps_before = sums.steps[0],
                                    .steps_after = sums.steps[1],
                                    .sentence = shown.sentence,
                                    .remedy = shown.remedy});
    }
    std::stable_sort(comparison->stalls.begin(), comparison->stalls.end(),
                     [](const StallChange& a, const StallChange& b) {
                       return std::abs(a.lost.difference()) > std::abs(b.lost.difference());
                     });
  }

  NodeChange Made(const ComparedNode& node, const NodeSums& sums) const {
    return {.node = texts_[node.name],
            .op = texts_[node.op],
            .device = texts_[node.device],
            .kind = node.kind,
            .time = ChangeOf(sums.time),
            .path = ChangeOf(sums.path),
            .calls_before = MiddleOf(sums.calls.sides[0]).median,
            .calls_after = MiddleOf(sums.calls.sides[1]).median};
  }

  // What one side alone has, by all but the device.
  using Lonely = std::array<std::vector<const std::pair<const ComparedNode, NodeSums>*>, 2>;
  using WithoutDevice = std::tuple<uint32_t, uint32_t, SpanKind>;

  void CompareNodes(TraceComparison* comparison) const {
    std::map<WithoutDevice, Lonely> lonely;
    for (const auto& entry : nodes_) {
      const auto& [node, sums] = entry;
      if (sums.IsIn(0) && sums.IsIn(1)) {
        comparison->nodes.push_back(Made(node, sums));
      } else {
        lonely[{node.name, node.op, node.kind}][sums.IsIn(0) ? 0 : 1].push_back(&entry);
      }
    }
    for (const auto& [key, sides] : lonely) {
      if (sides[0].size() == 1 && sides[1].size() == 1) {
        AddMoved(*sides[0].front(), *sides[1].front(), comparison);
        continue;
      }
      for (const auto* entry : sides[0])
        comparison->only_before.push_back(Made(entry->first, entry->second));
      for (const auto* entry : sides[1])
        comparison->only_after.push_back(Made(entry->first, entry->second));
    }
    Sort(1, &comparison->nodes);
    Sort(-1, &comparison->only_before);
    Sort(1, &comparison->only_after);
  }

  void AddMoved(const std::pair<const ComparedNode, NodeSums>& from,
                const std::pair<const ComparedNode, NodeSums>& to,
                TraceComparison* comparison) const {
    NodeSums both = to.second;
    both.time.sides[0] = from.second.time.sides[0];
    both.path.sides[0] = from.second.path.sides[0];
    both.calls.sides[0] = from.second.calls.sides[0];
    comparison->nodes.push_back(Made(to.first, both));
    comparison->nodes.back().device_before = texts_[from.first.device];
  }

  // By the difference, largest first, or, with sign -1, smallest; then by what has an order.
  static void Sort(int64_t sign, std::vector<NodeChange>* changes) {
    std::sort(changes->begin(), changes->end(), [&](const NodeChange& a, const NodeChange& b) {
      const int64_t x = sign * a.time.difference(), y = sign * b.time.difference();
      return x != y ? x > y
                    : std::tie(a.node, a.device, a.op, a.kind) <
                          std::tie(b.node, b.device, b.op, b.kind);
    });
  }

  // Times and counts of steps that are not wholly there are not those of the steps.
  std::string PartsWords() const {
    std::string words;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      size_t cut = 0;
      for (uint32_t step = 0; step < StepsOf(side); ++step) {
        cut += LeftOutOf(*traces_[side], step) == nullptr ? 0 : 1;
      }
      if (cut == 0) continue;
      words += StrCat(words.empty() ? "Parts of steps are compared: the beginning is not there of "
                                    : " and of ",
                      cut, " of ", StepsOf(side), side == 0 ? " before" : " after");
    }
    return words.empty() ? words : words + ". ";
  }

  static std::string SentenceOf(const TraceComparison& comparison) {
    const TimeChange& time = comparison.time;
    const std::string both =
        StrCat(DurationWords(time.after.median), " instead of ", DurationWords(time.before.median));
    if (time.size == ChangeSize::kNone)
      return StrCat("A step takes as long as before: ", DurationWords(time.after.median), ".");
    if (time.size == ChangeSize::kNoise) {
      return StrCat("A step takes ", both, ", which is within the spread of the steps: noise.");
    }
    const int64_t sign = time.difference() < 0 ? -1 : 1;
    std::string sentence = StrCat("A step takes ", DurationWords(std::abs(time.difference())),
                                  sign > 0 ? " longer: " : " less: ", both, ".");
    // The node with most of it on the critical path.
    const NodeChange* most = nullptr;
    for (const auto* nodes : {&comparison.nodes, &comparison.only_before, &comparison.only_after}) {
      for (const NodeChange& node : *nodes) {
        if (node.path.size == ChangeSize::kNoise) continue;
        if (most == nullptr || sign * node.path.difference() > sign * most->path.difference())
          most = &node;
      }
    }
    if (most == nullptr || sign * most->path.difference() < sign * time.difference() / 10)
      return sentence;
    return StrCat(sentence, " Most of it: ", most->node, " (",
                  most->op.empty() ? "op not recorded" : most->op.c_str(), ") on ", most->device,
                  " has ", DurationWords(most->path.after.median),
                  " of the critical path instead of ", DurationWords(most->path.before.median),
                  ".");
  }

  const std::array<const Trace*, 2> traces_;
  TraceTexts texts_;
  std::array<std::vector<uint32_t>, 2> joined_;
  std::unordered_map<ComparedNode, NodeSums, ComparedNodeHash> nodes_;
  std::map<std::tuple<StallKind, uint32_t, uint32_t>, StallSums> stalls_;
  std::array<StepSums, 5> where_;
  StepSums times_;
};

}  // namespace

StepMiddle MiddleOf(std::vector<int64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t last = values.size() - 1, quarter = last / 4;
  const int64_t low = values[last / 2], high = values[last - last / 2];
  return {low + (high - low) / 2, values[quarter], values[last - quarter]};
}

TraceComparison Compare(const Trace& before, const Trace& after) {
  return Comparing(before, after).Run();
}

}  // namespace thalweg
