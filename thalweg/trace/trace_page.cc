// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace_page.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "thalweg/proto/json_writer.h"
#include "thalweg/trace/page_columns.h"
#include "thalweg/trace/page_graph.h"
#include "thalweg/trace/page_memory.h"
#include "thalweg/trace/trace_summary.h"

namespace thalweg {

extern const std::string_view kTracePage;  // generated of page/

namespace {

constexpr std::string_view kPlace = "<!--TRACE-->";
constexpr size_t kMostAnalyzed = 16;

// Of the slowest steps, in order of time.
std::vector<uint32_t> AnalyzedSteps(const Trace& trace) {
  std::vector<uint32_t> order(trace.steps.size());
  std::iota(order.begin(), order.end(), 0);
  const auto time = [&](uint32_t i) { return trace.steps[i].end - trace.steps[i].begin; };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return time(a) > time(b); });
  order.resize(std::min(order.size(), kMostAnalyzed));
  std::sort(order.begin(), order.end());
  return order;
}

std::string Summaries(const Trace& trace, const std::vector<uint32_t>& steps) {
  JsonWriter json;
  json.BeginObject().Key("slowest").Number(SlowestStep(trace)).Key("analyzed").BeginList();
  for (const uint32_t step : steps) json.Literal(SummaryJson(trace, Summarize(trace, step)));
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace

std::string TracePage(const Trace& trace) {
  const size_t place = kTracePage.find(kPlace);
  std::string page(kTracePage.substr(0, place));
  page.reserve(kTracePage.size() + trace.spans.size() * 12 + 100'000);
  const std::vector<uint32_t> steps = AnalyzedSteps(trace);
  AppendPageJson("summaries", Summaries(trace, steps), &page);
  AppendPageColumns(trace, &page);
  AppendPageMemory(trace, steps, &page);
  AppendPageGraph(trace, &page);
  page += kTracePage.substr(place + kPlace.size());
  return page;
}

}  // namespace thalweg
