// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/cond_order.h"

#include <algorithm>

namespace thalweg {
namespace {

// Vertices: nodes, the beginnings of parts, their ends.
class PartOrder {
 public:
  PartOrder(const Lowered& lowered, const std::vector<CondPart>& parts)
      : lowered_(lowered),
        parts_(parts),
        nodes_(static_cast<int>(lowered.nodes.size())),
        count_(static_cast<int>(parts.size())),
        left_out_(parts.size()) {
    part_of_.assign(static_cast<size_t>(nodes_), -1);
    for (int p = 0; p < count_; ++p) {
      const CondPart& part = parts_[p];
      for (const std::vector<int>* list : {&part.switches, &part.members, &part.merges}) {
        for (const int n : *list) {
          // The inner ones come first.
          if (part_of_[n] < 0) part_of_[n] = p;
        }
      }
    }
  }

  std::vector<int> Run() {
    // What goes round in a circle is left out, with what lies around or behind it.
    while (!Sort()) {
      for (int p = 0; p < count_; ++p) left_out_[p] = left_out_[p] || waits_[End(p)] > 0;
    }
    return KeepOtherFrames();
  }

 private:
  int Begin(int part) const { return nodes_ + part; }
  int End(int part) const { return nodes_ + count_ + part; }

  int PartOf(int node) const { return Standing(part_of_[node]); }
  int OuterOf(int part) const { return Standing(parts_[part].outer); }
  int Standing(int part) const {
    while (part >= 0 && left_out_[part]) part = parts_[part].outer;
    return part;
  }
  bool Contains(int part, int inner) const {
    while (inner >= 0 && inner != part) inner = OuterOf(inner);
    return inner == part;
  }
  // The outermost part with `node` and without `other`.
  int OutermostWithout(int node, int other) const {
    int outermost = -1;
    for (int part = PartOf(node); part >= 0 && !Contains(part, PartOf(other));
         part = OuterOf(part)) {
      outermost = part;
    }
    return outermost;
  }

  template <class Visit>
  void ForEachEdge(const Visit& visit) const {
    const auto see = [&](int source, int reader) {
      const int left = OutermostWithout(source, reader);
      const int entered = OutermostWithout(reader, source);
      visit(left < 0 ? source : End(left), entered < 0 ? reader : Begin(entered));
    };
    for (int n = 0; n < nodes_; ++n) {
      const LoweredNode& node = lowered_.nodes[n];
      for (const LoweredValue& input : node.inputs) {
        if (input.is_node()) see(input.node, n);
      }
      for (const int before : node.controls) see(before, n);
      for (const MergeInput& input : node.merge_inputs) {
        if (input.value.is_node() && input.next < 0) see(input.value.node, n);
      }
      if (node.kind == LoweredKind::kExit) see(lowered_.frames[node.child].loop, n);
      if (const int part = PartOf(n); part >= 0) {
        visit(Begin(part), n);
        visit(n, End(part));
      }
    }
    for (int p = 0; p < count_; ++p) {
      visit(Begin(p), End(p));
      if (const int outer = OuterOf(p); outer >= 0 && !left_out_[p]) {
        visit(Begin(outer), Begin(p));
        visit(End(p), End(outer));
      }
    }
  }

  // False: there is a circle, and `waits_` is above zero for all that lies on one or behind it.
  bool Sort() {
    const size_t vertices = static_cast<size_t>(nodes_) + 2 * static_cast<size_t>(count_);
    std::vector<size_t> begin(vertices + 1);
    waits_.assign(vertices, 0);
    ForEachEdge([&](int source, int reader) {
      ++begin[static_cast<size_t>(source) + 1];
      ++waits_[reader];
    });
    for (size_t v = 0; v < vertices; ++v) begin[v + 1] += begin[v];
    std::vector<int> readers(begin.back());
    std::vector<size_t> fill(begin.begin(), begin.end() - 1);
    ForEachEdge([&](int source, int reader) { readers[fill[source]++] = reader; });
    order_.clear();
    std::vector<int> ready;
    for (size_t v = vertices; v-- > 0;) {
      if (waits_[v] == 0) ready.push_back(static_cast<int>(v));
    }
    size_t visited = 0;
    while (!ready.empty()) {
      const int v = ready.back();
      ready.pop_back();
      ++visited;
      if (v < nodes_ || (v < End(0) && !left_out_[v - nodes_])) order_.push_back(v);
      for (size_t i = begin[v + 1]; i-- > begin[v];) {
        if (--waits_[readers[i]] == 0) ready.push_back(readers[i]);
      }
    }
    return visited == vertices;
  }

  int FrameOf(int vertex) const {
    const int node = vertex < nodes_ ? vertex : parts_[vertex - nodes_].switches.front();
    return lowered_.nodes[node].frame;
  }

  // Frames without parts keep the order that they had.
  std::vector<int> KeepOtherFrames() const {
    std::vector<bool> has_parts(lowered_.frames.size());
    for (int p = 0; p < count_; ++p) {
      if (!left_out_[p]) has_parts[FrameOf(Begin(p))] = true;
    }
    std::vector<int> out;
    for (const int n : lowered_.order) {
      if (!has_parts[lowered_.nodes[n].frame]) out.push_back(n);
    }
    for (const int v : order_) {
      if (has_parts[FrameOf(v)]) out.push_back(v);
    }
    return out;
  }

  const Lowered& lowered_;
  const std::vector<CondPart>& parts_;
  const int nodes_;
  const int count_;
  std::vector<bool> left_out_;
  std::vector<int> part_of_;  // by node, the innermost
  std::vector<int> waits_;    // by vertex
  std::vector<int> order_;
};

}  // namespace

std::vector<int> OrderAroundParts(const Lowered& lowered, const std::vector<CondPart>& parts) {
  return PartOrder(lowered, parts).Run();
}

}  // namespace thalweg
