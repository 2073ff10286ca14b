// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/page_columns.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/lanes.h"
#include "thalweg/trace/page_column.h"
#include "thalweg/trace/span_index.h"

namespace thalweg {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;

struct Label {
  uint32_t name = 0, op = 0;
  SpanKind kind = SpanKind::kNode;
  bool operator==(const Label&) const = default;
};
struct LabelHash {
  size_t operator()(const Label& label) const {
    const uint64_t both = uint64_t{label.name} << 32 | label.op;
    return (both + static_cast<uint64_t>(label.kind)) * 0x9e3779b97f4a7c15ULL >> 20;
  }
};

class PageColumns {
 public:
  PageColumns(const Trace& trace, std::string* page)
      : trace_(trace), page_(page), order_(SpansByLane(trace)), place_(trace.spans.size()) {
    for (size_t i = 0; i < order_.size(); ++i) place_[order_[i]] = static_cast<uint32_t>(i);
  }

  void Append() {
    AppendRows();
    AppendTimes();
    AppendLabels();
    AppendExtras();
    AppendCauses();
    AppendSwitches();
    AppendTransfers();
  }

 private:
  const TraceSpan& At(size_t place) const { return trace_.spans[order_[place]]; }
  bool BeginsRow(size_t place) const {
    return place == 0 || At(place).device != At(place - 1).device ||
           At(place).lane != At(place - 1).lane;
  }

  // Lanes, with the place of their first span; a row ends where the next one begins.
  void AppendRows() {
    JsonWriter json;
    json.BeginObject().Key("spans").Number(order_.size()).Key("rows").BeginList();
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!BeginsRow(i)) continue;
      const TraceSpan& first = At(i);
      const bool receives = first.lane >= trace_.devices[first.device].lanes;
      json.BeginObject().Key("device").Number(first.device).Key("lane").Number(first.lane);
      json.Key("receives").Bool(receives).Key("first").Number(i).EndObject();
    }
    json.EndList().EndObject();
    AppendPageJson("rows", json.Take(), page_);
  }

  void AppendTimes() {
    {
      PageColumn gaps("gap", page_);
      int64_t end = 0;
      for (size_t i = 0; i < order_.size(); ++i) {
        gaps.AddSigned(At(i).start - (BeginsRow(i) ? 0 : end));
        end = At(i).end;
      }
    }
    PageColumn times("time", page_);
    for (size_t i = 0; i < order_.size(); ++i) {
      times.Add(static_cast<uint64_t>(At(i).end - At(i).start));
    }
  }

  // A label is a node with its operation and kind; those that many spans have come first.
  void AppendLabels() {
    std::unordered_map<Label, uint32_t, LabelHash> numbers;
    std::vector<std::pair<uint32_t, Label>> labels;  // how often, in order of the first span
    std::vector<uint32_t> of_span;
    of_span.reserve(trace_.spans.size());
    for (const TraceSpan& span : trace_.spans) {
      const bool has_key = span.kind == SpanKind::kTransfer && span.edge != 0;
      const Label label{has_key ? span.edge : span.name, span.op, span.kind};
      const auto [entry, is_new] = numbers.try_emplace(label, static_cast<uint32_t>(labels.size()));
      if (is_new) labels.emplace_back(0, label);
      ++labels[entry->second].first;
      of_span.push_back(entry->second);
    }
    std::vector<uint32_t> by_count(labels.size()), number_of(labels.size());
    std::iota(by_count.begin(), by_count.end(), 0);
    std::stable_sort(by_count.begin(), by_count.end(),
                     [&](uint32_t a, uint32_t b) { return labels[a].first > labels[b].first; });
    JsonWriter json;
    json.BeginList();
    for (uint32_t i = 0; i < by_count.size(); ++i) {
      const Label& label = labels[by_count[i]].second;
      number_of[by_count[i]] = i;
      json.BeginList().Text(trace_.texts[label.name]).Text(trace_.texts[label.op]);
      json.Number(static_cast<int>(label.kind)).EndList();
    }
    json.EndList();
    AppendPageJson("labels", json.Take(), page_);
    PageColumn column("label", page_);
    for (const uint32_t span : order_) column.Add(number_of[of_span[span]]);
  }

  // Columns that not every trace has.
  void AppendExtras() {
    const auto append = [&](const char* name, const auto& value_of) {
      const auto is_set = [&](const TraceSpan& span) { return value_of(span) > 0; };
      if (std::none_of(trace_.spans.begin(), trace_.spans.end(), is_set)) return;
      PageColumn column(name, page_);
      for (size_t i = 0; i < order_.size(); ++i) {
        column.Add(static_cast<uint64_t>(std::max<int64_t>(value_of(At(i)), 0)));
      }
    };
    append("waited", [](const TraceSpan& span) { return span.start - span.scheduled; });
    append("bytes", [](const TraceSpan& span) { return span.bytes; });
  }

  // The place of what a span waited for last, as a difference from its own; 0: not known.
  void AppendCauses() {
    if (trace_.facts.empty()) return;
    std::vector<uint32_t> causes(order_.size(), kNowhere);
    for (uint32_t step = 0; step < trace_.steps.size(); ++step) {
      const SpanIndex index(trace_, step);
      for (size_t i = trace_.steps[step].first; i < trace_.steps[step].last; ++i) {
        const SpanCause cause = index.CauseOf(static_cast<int64_t>(i));
        int64_t span = cause.span;
        if (cause.transfer >= 0) {
          const TraceTransfer& transfer = trace_.transfers[static_cast<size_t>(cause.transfer)];
          span = transfer.receiver >= 0 ? transfer.receiver : transfer.sender;
        }
        if (span >= 0) causes[place_[i]] = place_[static_cast<size_t>(span)];
      }
    }
    PageColumn column("cause", page_);
    for (size_t i = 0; i < causes.size(); ++i) {
      column.AddSigned(causes[i] == kNowhere ? 0 : int64_t{causes[i]} - static_cast<int64_t>(i));
    }
  }

  // When threads had no processor, by place: of which span (less that of the one before), since
  // when (since the span's start, or the end of the one before in it), how long, doubled, one more
  // where the thread could have gone on.
  void AppendSwitches() {
    if (trace_.switches.empty()) return;
    std::vector<std::pair<uint32_t, uint32_t>> at;  // place, number
    for (uint32_t i = 0; i < trace_.switches.size(); ++i) {
      at.emplace_back(place_[trace_.switches[i].span], i);
    }
    std::sort(at.begin(), at.end());  // of a place in order, as the trace has them by begin
    const auto same_place = [&](size_t i) { return i > 0 && at[i].first == at[i - 1].first; };
    const auto of = [&](size_t i) -> const TraceSwitch& { return trace_.switches[at[i].second]; };
    {
      PageColumn places("switch-place", page_);
      for (size_t i = 0; i < at.size(); ++i) {
        places.Add(at[i].first - (i == 0 ? 0 : at[i - 1].first));
      }
    }
    {
      PageColumn gaps("switch-gap", page_);
      for (size_t i = 0; i < at.size(); ++i) {
        const int64_t since = same_place(i) ? of(i - 1).end : At(at[i].first).start;
        gaps.Add(static_cast<uint64_t>(std::max<int64_t>(of(i).begin - since, 0)));
      }
    }
    PageColumn times("switch-time", page_);
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t time = of(i).end - of(i).begin;
      times.Add(static_cast<uint64_t>(time) << 1 | (of(i).is_preempted ? 1 : 0));
    }
  }

  void AppendTransfers() {
    JsonWriter json;
    json.BeginList();
    const auto place_of = [&](int64_t span) {
      return span < 0 ? int64_t{-1} : int64_t{place_[static_cast<size_t>(span)]};
    };
    for (const TraceTransfer& transfer : trace_.transfers) {
      json.BeginList().Number(place_of(transfer.sender)).Number(place_of(transfer.receiver));
      json.Number(transfer.sent).Number(transfer.arrived).Number(transfer.bytes);
      json.Number(transfer.from).Number(transfer.to);
      json.Text(trace_.texts[transfer.edge]).EndList();
    }
    json.EndList();
    AppendPageJson("transfers", json.Take(), page_);
  }

  const Trace& trace_;
  std::string* const page_;
  std::vector<uint32_t> order_;  // spans, by place
  std::vector<uint32_t> place_;  // of each span
};

}  // namespace

void AppendPageColumns(const Trace& trace, std::string* page) { PageColumns(trace, page).Append(); }

void AppendPageJson(std::string_view id, std::string_view json, std::string* page) {
  *page += "<script type=\"application/json\" id=\"";
  *page += id;
  *page += "\">";
  for (const char c : json) {
    if (c == '<') {
      *page += "\\u003c";
    } else {
      *page += c;
    }
  }
  *page += "</script>\n";
}

}  // namespace thalweg
