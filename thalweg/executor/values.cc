// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/values.h"

#include <algorithm>
#include <map>
#include <utility>

namespace thalweg {
namespace {

// Readers of a value other than units.
constexpr int kFetchReader = -1;
int SectionReader(int node) { return -(node + 2); }

class ValuePlanner {
 public:
  ValuePlanner(const Lowered& lowered, const Units& units) : lowered_(lowered), units_(units) {}

  Values Run() {
    const size_t n = lowered_.nodes.size();
    out_.emissions.resize(n);
    out_.targets.resize(n);
    out_.switch_number.assign(n, -1);
    int values = 0;
    for (size_t i = 0; i < n; ++i) {
      out_.first.push_back(values);
      values += lowered_.nodes[i].num_outputs;
      if (lowered_.nodes[i].kind == LoweredKind::kSwitch) {
        out_.switch_number[i] = static_cast<int>(out_.side_targets.size());
        out_.side_targets.emplace_back();
      }
    }
    out_.info.resize(static_cast<size_t>(values));
    out_.num_slots.assign(lowered_.frames.size(), 0);
    for (size_t f = 0; f < lowered_.frames.size(); ++f) {
      out_.pending.emplace_back(units_.units[f].size());
      out_.invariant_units.emplace_back(lowered_.frames[f].invariants.size());
    }
    for (size_t i = 0; i < n; ++i) {
      if (units_.inside[lowered_.nodes[i].frame] || units_.absent[i]) continue;
      ReadInputs(static_cast<int>(i));
    }
    for (const LoweredValue& fetch : lowered_.fetches) {
      if (fetch.is_node()) Read(Resolve(lowered_, units_, fetch), kFetchReader);
    }
    PlaceAll();
    for (size_t f = 0; f < lowered_.frames.size(); ++f) CarrySignals(static_cast<int>(f));
    CountSignals();
    return std::move(out_);
  }

 private:
  void Read(const LoweredValue& value, int reader) {
    if (!value.is_node()) return;
    reads_.emplace_back(out_.first[value.node] + value.index, reader);
    if (reader == kFetchReader) out_.info[out_.first[value.node] + value.index].fetched = true;
  }

  void Emit(const LoweredValue& value, Opcode opcode, std::vector<uint32_t> words) {
    out_.emissions[value.node].push_back({value.index, opcode, std::move(words)});
    Read(value, OwnerOf(value.node));
  }

  int OwnerOf(int node) const {
    return units_.unit_of[node] >= 0 ? units_.unit_of[node] : SectionReader(node);
  }

  void ReadInputs(int n) {
    const LoweredNode& node = lowered_.nodes[n];
    const int unit = units_.unit_of[n];
    if (unit >= 0) {
      const bool lenient_all = node.kind == LoweredKind::kLoop && !units_.structured[node.child];
      for (const LoweredValue& input : node.inputs) {
        const LoweredValue value = Resolve(lowered_, units_, input);
        Read(value, unit);
        if (value.is_node()) Signal(value, n, lenient_all, true);
      }
      for (const int before : node.controls) {
        const LoweredValue at{.node = ResolveControl(lowered_, units_, before), .index = 0};
        Signal(Resolve(lowered_, units_, at), n, lenient_all || node.lenient_controls, false);
      }
      return;
    }
    if (node.kind == LoweredKind::kMerge) {
      for (size_t i = 0; i < node.merge_inputs.size(); ++i) {
        const MergeInput& input = node.merge_inputs[i];
        if (!input.value.is_node()) continue;
        const LoweredValue value = Resolve(lowered_, units_, input.value);
        std::vector<uint32_t> words = {static_cast<uint32_t>(node.number),
                                       static_cast<uint32_t>(i)};
        if (input.next >= 0) words.push_back(static_cast<uint32_t>(input.next));
        Emit(value, input.next >= 0 ? Opcode::kSendNext : Opcode::kSendMerge, std::move(words));
      }
    }
    if (node.kind == LoweredKind::kExit && !units_.structured[node.child]) {
      Emit(Resolve(lowered_, units_, node.leaving), Opcode::kSendExit,
           {static_cast<uint32_t>(node.number)});
    }
  }

  // The unit of `reader` waits for `source`.
  void Signal(const LoweredValue& source, int reader, bool lenient, bool is_data) {
    const LoweredNode& from = lowered_.nodes[source.node];
    const int frame = lowered_.nodes[reader].frame;
    const int unit = units_.unit_of[reader];
    if (from.kind == LoweredKind::kInvariant) {
      if (!lenient) out_.invariant_units[frame][from.number].push_back(static_cast<uint32_t>(unit));
      return;
    }
    if (units_.unit_of[source.node] == unit) return;
    const Target target{unit, lenient};
    if (from.kind == LoweredKind::kSwitch && is_data) {
      out_.side_targets[out_.switch_number[source.node]][source.index].push_back(target);
    } else {
      out_.targets[source.node].push_back(target);
    }
  }

  template <class T>
  static void Unique(std::vector<T>* list) {
    if (!std::is_sorted(list->begin(), list->end())) std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }

  void PlaceAll() {
    Unique(&reads_);
    size_t next = 0;
    for (size_t n = 0; n < lowered_.nodes.size(); ++n) {
      const LoweredNode& node = lowered_.nodes[n];
      if (units_.inside[node.frame]) continue;
      const int unit = units_.unit_of[n];
      const bool has_registers =
          unit >= 0 && units_.units[node.frame][unit].cls != UnitClass::kAsync;
      for (int o = 0; o < node.num_outputs; ++o) {
        const int value = out_.first[n] + o;
        ValueInfo& info = out_.info[value];
        bool elsewhere = !has_registers;
        while (next < reads_.size() && reads_[next].first < value) ++next;
        for (; next < reads_.size() && reads_[next].first == value; ++next) {
          ++info.readers;
          elsewhere |= reads_[next].second != unit;
        }
        const bool async = unit >= 0 && !has_registers;
        if (node.kind == LoweredKind::kInvariant || (info.readers == 0 && !async)) {
          info.in_register = info.readers == 0;
        } else if (elsewhere) {
          info.slot = out_.num_slots[node.frame]++;
        } else {
          info.in_register = true;
        }
      }
    }
  }

  // Among the nodes of a unit that have the same target, the last one in the code keeps it.
  void CarrySignals(int frame) {
    for (const UnitNodes& unit : units_.units[frame]) {
      std::map<Target, int> carrier;
      for (const int n : unit.nodes) {
        for (const Target& target : out_.targets[n]) carrier[target] = n;
      }
      for (const int n : unit.nodes) {
        std::erase_if(out_.targets[n], [&](const Target& target) { return carrier[target] != n; });
      }
    }
  }

  void CountSignals() {
    for (size_t n = 0; n < lowered_.nodes.size(); ++n) {
      std::vector<uint32_t>& pending = out_.pending[lowered_.nodes[n].frame];
      const auto count = [&](std::vector<Target>* targets) {
        Unique(targets);
        for (const Target& target : *targets) ++pending[target.unit];
      };
      count(&out_.targets[n]);
      if (out_.switch_number[n] < 0) continue;
      for (std::vector<Target>& side : out_.side_targets[out_.switch_number[n]]) count(&side);
    }
    for (auto& frame : out_.invariant_units) {
      for (std::vector<uint32_t>& units : frame) Unique(&units);
    }
  }

  const Lowered& lowered_;
  const Units& units_;
  Values out_;
  std::vector<std::pair<int, int>> reads_;  // value and reader
};

}  // namespace

LoweredValue Resolve(const Lowered& lowered, const Units& units, LoweredValue value) {
  if (!value.is_node()) return value;
  const LoweredNode& node = lowered.nodes[value.node];
  if (node.cond_output >= 0 && units.branches[lowered.nodes[node.cond].number]) {
    value.node = node.cond;
    value.index += node.cond_output;
    return value;
  }
  if (node.kind != LoweredKind::kExit || !units.structured[node.child]) return value;
  value.node = lowered.frames[node.child].loop;
  value.index = node.number;
  return value;
}

Values PlaceValues(const Lowered& lowered, const Units& units) {
  return ValuePlanner(lowered, units).Run();
}

}  // namespace thalweg
