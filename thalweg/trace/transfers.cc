// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/transfers.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

namespace thalweg {
namespace {

struct EdgeKey {
  uint32_t step, edge, from, to;
  auto operator<=>(const EdgeKey&) const = default;
};

// Spans of one key, in order of their starts.
struct EdgeSpans {
  std::vector<size_t> sends, receives, notes, producers;
  uint32_t producer = 0;  // its name
};

// "edge_4_v/RandomUniform": TensorFlow's names end with the node; ours then have a slot.
std::array<std::string_view, 2> ProducersOf(std::string_view edge) {
  const std::string_view node = EdgeWithoutNumber(edge);
  if (node == edge) return {edge, {}};
  const size_t slot = node.find_last_not_of("0123456789");
  const bool has_slot =
      slot != std::string_view::npos && slot > 0 && slot + 1 < node.size() && node[slot] == '_';
  return {node, has_slot ? node.substr(0, slot) : std::string_view()};
}

class Pairing {
 public:
  explicit Pairing(Trace* trace) : trace_(*trace) {}

  void Run() {
    Collect();
    FindProducers();
    trace_.transfers.clear();
    for (const auto& [key, spans] : edges_) AddTransfers(key, spans);
    std::sort(trace_.transfers.begin(), trace_.transfers.end(),
              [](const TraceTransfer& a, const TraceTransfer& b) {
                return std::tie(a.step, a.arrived) < std::tie(b.step, b.arrived);
              });
  }

 private:
  void Collect() {
    for (size_t i = 0; i < trace_.spans.size(); ++i) {
      const TraceSpan& span = trace_.spans[i];
      if (span.kind == SpanKind::kNode) continue;
      if (span.kind == SpanKind::kTransfer) {
        if (span.edge != 0) {
          edges_[{span.step, span.edge, span.from_device, span.device}].notes.push_back(i);
        }
        continue;
      }
      const NodeFacts* facts = trace_.FactsOf(span.device, span.name);
      if (facts == nullptr || facts->edge == 0) continue;
      EdgeSpans& edge = edges_[{span.step, facts->edge, facts->from, facts->to}];
      (span.kind == SpanKind::kSend ? edge.sends : edge.receives).push_back(i);
    }
    // Whose value a key is: what its Send reads.
    std::map<std::array<uint32_t, 3>, uint32_t> read;
    for (const auto& [node, facts] : trace_.facts) {
      if (facts.edge == 0 || facts.inputs.empty()) continue;
      read[{facts.edge, facts.from, facts.to}] = facts.inputs.front();
    }
    for (auto& [key, spans] : edges_) {
      const auto found = read.find({key.edge, key.from, key.to});
      if (found != read.end()) spans.producer = found->second;
    }
  }

  // Of keys without Sends.
  void FindProducers() {
    std::multimap<std::array<uint32_t, 3>, EdgeSpans*> wanted;  // by step, device, name
    for (auto& [key, spans] : edges_) {
      if (!spans.sends.empty()) continue;
      if (spans.producer != 0) {
        wanted.insert({{key.step, key.from, spans.producer}, &spans});
        continue;
      }
      for (const std::string_view name : ProducersOf(trace_.texts[key.edge])) {
        const uint32_t number = name.empty() ? 0 : trace_.texts.Find(name);
        if (number != 0) wanted.insert({{key.step, key.from, number}, &spans});
      }
    }
    if (wanted.empty()) return;
    for (size_t i = 0; i < trace_.spans.size(); ++i) {
      const TraceSpan& span = trace_.spans[i];
      if (span.kind == SpanKind::kTransfer) continue;
      const auto [first, last] = wanted.equal_range({span.step, span.device, span.name});
      for (auto found = first; found != last; ++found) {
        EdgeSpans& spans = *found->second;
        if (spans.producer == 0) spans.producer = span.name;
        if (spans.producer == span.name) spans.producers.push_back(i);
      }
    }
  }

  void AddTransfers(const EdgeKey& key, const EdgeSpans& spans) {
    const size_t n = std::max(spans.receives.size(), spans.notes.size());
    for (size_t k = 0; k < n; ++k) {
      TraceTransfer made{.edge = key.edge,
                         .producer = spans.producer,
                         .from = key.from,
                         .to = key.to,
                         .step = key.step};
      if (k < spans.notes.size()) Receive(spans.notes[k], &made);
      if (k < spans.receives.size()) Receive(spans.receives[k], &made);
      if (k < spans.sends.size()) {
        made.sender = static_cast<int64_t>(spans.sends[k]);
        made.sent = trace_.spans[spans.sends[k]].start;
      } else if (spans.sends.empty() && k < spans.producers.size()) {
        made.sender = static_cast<int64_t>(spans.producers[k]);
        made.sent = trace_.spans[spans.producers[k]].end;
      }
      trace_.transfers.push_back(made);
    }
  }

  void Receive(size_t index, TraceTransfer* transfer) const {
    const TraceSpan& span = trace_.spans[index];
    transfer->receiver = static_cast<int64_t>(index);
    transfer->asked = span.start;
    transfer->arrived = span.end;
    if (span.bytes > 0) transfer->bytes = span.bytes;
  }

  Trace& trace_;
  std::map<EdgeKey, EdgeSpans> edges_;
};

}  // namespace

std::string_view EdgeWithoutNumber(std::string_view edge) {
  constexpr std::string_view kEdge = "edge_";
  if (!edge.starts_with(kEdge)) return edge;
  const size_t digits = edge.find_first_not_of("0123456789", kEdge.size());
  if (digits == std::string_view::npos || edge[digits] != '_') return edge;
  return edge.substr(digits + 1);
}

void PairTransfers(Trace* trace) { Pairing(trace).Run(); }

}  // namespace thalweg
