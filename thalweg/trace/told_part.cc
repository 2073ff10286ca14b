// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/told_part.h"

#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

constexpr size_t kMostNamed = 3;

void Note(Trace* trace, const TraceLeftOut& left) {
  const std::string& device = trace->devices[left.device].name;
  if (left.executions == 0) {
    trace->notes.push_back(StrCat(device, ": of the values that it received the first ",
                                  CountWords(left.transfers),
                                  " are not there. A traced step keeps its newest."));
    return;
  }
  std::string named;
  for (size_t i = 0; i < std::min(left.nodes.size(), kMostNamed); ++i) {
    const auto& [name, executions] = left.nodes[i];
    named += StrCat(i == 0 ? ", of " : ", ", trace->texts[name], " (", CountWords(executions), ")");
  }
  if (left.nodes.size() > kMostNamed) {
    const size_t others = left.nodes.size() - kMostNamed;
    named += StrCat(" and ", CountWords(static_cast<int64_t>(others)), " other node",
                    others == 1 ? "" : "s");
  }
  trace->notes.push_back(StrCat(
      device, ": the first ", DurationWords(left.until - left.begin), " of step ", left.step,
      " are not there, ", CountWords(left.executions), " executions of nodes", named,
      ". A traced step keeps its newest; what other devices did in that time is left out, too",
      trace->memory.empty() ? "." : "; values made then that still live are no node's."));
}

}  // namespace

const TraceLeftOut* LeftOutOf(const Trace& trace, uint32_t step) {
  const TraceLeftOut* shortest = nullptr;
  for (const TraceLeftOut& left : trace.left_out) {
    if (left.step != step || left.executions == 0) continue;
    if (shortest == nullptr || left.until > shortest->until) shortest = &left;
  }
  return shortest;
}

std::string LeftOutWords(const TraceLeftOut& left) {
  return left.executions > 0 ? CountWords(left.executions) + " executions before are not there"
                             : CountWords(left.transfers) + " values received before are not there";
}

bool CutToTold(Trace* trace) {
  for (const TraceLeftOut& left : trace->left_out) Note(trace, left);
  std::vector<int64_t> told_from(trace->steps.size(), INT64_MIN);
  for (uint32_t step = 0; step < told_from.size(); ++step) {
    const TraceLeftOut* const left = LeftOutOf(*trace, step);
    if (left == nullptr) continue;
    const TraceStep& all = trace->steps[step];
    if (left->until < all.end) {
      told_from[step] = left->until;
    } else {
      trace->notes.push_back(StrCat("Step ", step, ": devices tell of no time in common."));
    }
  }
  if (std::ranges::all_of(told_from, [](int64_t from) { return from == INT64_MIN; })) return false;
  // In place: of each span where it is now.
  std::vector<uint32_t> place(trace->spans.size());
  size_t kept = 0;
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    TraceSpan span = trace->spans[i];
    const int64_t from = told_from[span.step];
    place[i] = static_cast<uint32_t>(kept);
    if (span.end <= from) continue;
    span.scheduled = std::max(span.scheduled, from);
    span.start = std::max(span.start, from);
    trace->spans[kept++] = span;
  }
  trace->spans.resize(kept);
  std::erase_if(trace->switches,
                [&](const TraceSwitch& each) { return each.end <= told_from[each.step]; });
  for (TraceSwitch& each : trace->switches) {
    each.span = place[each.span];
    each.begin = std::max(each.begin, told_from[each.step]);
  }
  return true;
}

}  // namespace thalweg
