// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/span_index.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace thalweg {
namespace {

constexpr int64_t kSlack = 1000;  // some clocks tell microseconds alone
constexpr int kDepth = 32;        // of inputs that left no span
constexpr int kTries = 1000;

// "v/RandomUniform_S1", "m0/_1": a Recv's name without what the partitioner has put behind.
std::string_view WithoutSuffix(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == name.size() || end == 0) return {};
  if (name[end] == 'S' && name[end - 1] == '_') return name.substr(0, end - 1);
  if (name[end] == '_' && name[end - 1] == '/') return name.substr(0, end - 1);
  return {};
}

}  // namespace

SpanIndex::SpanIndex(const Trace& trace, uint32_t step) : trace_(trace) {
  const TraceStep& window = trace.steps[step];
  const bool has_inputs = !trace.facts.empty();  // without them nobody asks for a node
  if (has_inputs) by_node_.reserve(window.last - window.first);
  by_task_.reserve(window.last - window.first);
  for (size_t i = window.first; i < window.last; ++i) {
    const TraceSpan& span = trace.spans[i];
    const auto number = static_cast<int64_t>(i);
    if (span.kind == SpanKind::kTransfer) continue;
    if (has_inputs) {
      by_node_.push_back({Trace::NodeKey(span.device, span.name), span.end, number});
    }
    by_task_.push_back({span.end, trace.devices[span.device].task, static_cast<uint32_t>(i)});
  }
  const auto less = [](const Ending& a, const Ending& b) {
    return std::tie(a.key, a.end, a.span) < std::tie(b.key, b.end, b.span);
  };
  std::sort(by_node_.begin(), by_node_.end(), less);
  std::sort(by_task_.begin(), by_task_.end(), [](const TaskEnding& a, const TaskEnding& b) {
    return std::tie(a.task, a.end, a.span) < std::tie(b.task, b.end, b.span);
  });
  for (size_t i = 0; i < trace.transfers.size(); ++i) {
    const TraceTransfer& transfer = trace.transfers[i];
    if (transfer.step != step) continue;
    const auto number = static_cast<int64_t>(i);
    if (transfer.receiver >= 0) transfer_of_span_[transfer.receiver] = number;
    by_edge_[Trace::NodeKey(transfer.to, transfer.edge)].push_back(number);
    if (transfer.producer != 0) {
      by_producer_[Trace::NodeKey(transfer.to, transfer.producer)].push_back(number);
    }
  }
}

int64_t SpanIndex::LastOf(uint32_t device, uint32_t name, int64_t by) const {
  const uint64_t key = Trace::NodeKey(device, name);
  const auto after =
      std::upper_bound(by_node_.begin(), by_node_.end(), std::pair(key, by),
                       [](const std::pair<uint64_t, int64_t>& wanted, const Ending& e) {
                         return wanted < std::pair(e.key, e.end);
                       });
  if (after == by_node_.begin() || std::prev(after)->key != key) return -1;
  return std::prev(after)->span;
}

int64_t SpanIndex::LastOnTask(uint32_t task, int64_t by) const {
  const auto after =
      std::upper_bound(by_task_.begin(), by_task_.end(), std::pair(task, by),
                       [](const std::pair<uint32_t, int64_t>& wanted, const TaskEnding& e) {
                         return wanted < std::pair(e.task, e.end);
                       });
  if (after == by_task_.begin() || std::prev(after)->task != task) return -1;
  return std::prev(after)->span;
}

int64_t SpanIndex::TransferOf(int64_t span) const {
  const auto found = transfer_of_span_.find(span);
  return found == transfer_of_span_.end() ? -1 : found->second;
}

bool SpanIndex::KnowsInputsOf(int64_t span) const {
  const TraceSpan& of = trace_.spans[static_cast<size_t>(span)];
  return trace_.FactsOf(of.device, of.name) != nullptr;
}

SpanCause SpanIndex::CauseOf(int64_t span) const {
  const TraceSpan& of = trace_.spans[static_cast<size_t>(span)];
  SpanCause cause;
  const NodeFacts* facts = trace_.FactsOf(of.device, of.name);
  if (facts == nullptr) return cause;
  int tries = kTries;
  for (const uint32_t input : facts->inputs) {
    Consider(of.device, input, of.start + kSlack, kDepth, &tries, &cause);
  }
  return cause;
}

void SpanIndex::Consider(uint32_t device, uint32_t name, int64_t by, int depth, int* tries,
                         SpanCause* cause) const {
  if (depth == 0 || --*tries < 0) return;
  const int64_t span = LastOf(device, name, by);
  if (span >= 0) {
    const int64_t end = trace_.spans[static_cast<size_t>(span)].end;
    if (end > cause->end) *cause = {.span = span, .end = end};
    return;
  }
  const NodeFacts* facts = trace_.FactsOf(device, name);
  if (facts != nullptr && facts->edge != 0 && facts->to == device) {
    const auto found = by_edge_.find(Trace::NodeKey(device, facts->edge));
    if (found != by_edge_.end()) ConsiderTransfers(found->second, by, cause);
    return;
  }
  if (facts != nullptr) {
    for (const uint32_t input : facts->inputs) Consider(device, input, by, depth - 1, tries, cause);
    return;
  }
  const uint32_t producer = trace_.texts.Find(WithoutSuffix(trace_.texts[name]));
  const auto found = by_producer_.find(Trace::NodeKey(device, producer));
  if (producer != 0 && found != by_producer_.end()) ConsiderTransfers(found->second, by, cause);
}

void SpanIndex::ConsiderTransfers(const std::vector<int64_t>& transfers, int64_t by,
                                  SpanCause* cause) const {
  for (const int64_t number : transfers) {
    const int64_t end = trace_.transfers[static_cast<size_t>(number)].arrived;
    if (end <= by && end > cause->end) *cause = {.transfer = number, .end = end};
  }
}

}  // namespace thalweg
