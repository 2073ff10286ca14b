// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI for traces of steps.
#include "thalweg/api/handles.h"
#include "thalweg/trace/chrome_trace.h"
#include "thalweg/trace/memory_json.h"
#include "thalweg/trace/memory_use.h"
#include "thalweg/trace/trace_comparison.h"
#include "thalweg/trace/trace_page.h"
#include "thalweg/trace/trace_reader.h"
#include "thalweg/trace/trace_summary.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

Result<std::unique_ptr<Trace>> TraceOf(const char* const* paths, int32_t n,
                                       bool with_memory = false) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, UnwrapTexts(paths, n, "path"));
  PosixFileSystem fs;
  return ReadTrace(fs, files, with_memory);
}

// A buffer of the text that `body` makes of the trace.
template <class Body>
TwBuffer* ToldOfTrace(TwStatus* status, const char* const* paths, int32_t n, Body&& body,
                      bool with_memory = false) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Trace> trace, TraceOf(paths, n, with_memory));
    ASSIGN_OR_RETURN(std::string text, body(*trace));
    return NewBuffer(std::move(text));
  });
}

Status CheckStep(const Trace& trace, int64_t step) {
  const auto steps = static_cast<int64_t>(trace.steps.size());
  if (step < -1 || step >= steps) {
    return InvalidArgument("there is no step ", step, ": the trace has ", steps, ", from 0 on");
  }
  return OkStatus();
}

Result<TraceSummary> SummaryOf(const Trace& trace, int64_t step) {
  RETURN_IF_ERROR(CheckStep(trace, step));
  return Summarize(trace, step < 0 ? SlowestStep(trace) : static_cast<uint32_t>(step));
}

}  // namespace

extern "C" {

TwBuffer* tw_trace_summary(const char* const* paths, int32_t n, int64_t step, TwStatus* status) {
  return ToldOfTrace(status, paths, n, [&](const Trace& trace) -> Result<std::string> {
    ASSIGN_OR_RETURN(const TraceSummary summary, SummaryOf(trace, step));
    return SummaryJson(trace, summary);
  });
}

TwBuffer* tw_trace_compare(const char* const* before, int32_t n_before, const char* const* after,
                           int32_t n_after, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Trace> first, TraceOf(before, n_before));
    ASSIGN_OR_RETURN(const std::unique_ptr<Trace> second, TraceOf(after, n_after));
    return NewBuffer(ComparisonJson(*first, *second, Compare(*first, *second)));
  });
}

TwBuffer* tw_trace_chrome(const char* const* paths, int32_t n, TwStatus* status) {
  return ToldOfTrace(status, paths, n,
                     [](const Trace& trace) -> Result<std::string> { return ChromeTrace(trace); });
}

TwBuffer* tw_trace_page(const char* const* paths, int32_t n, TwStatus* status) {
  return ToldOfTrace(status, paths, n,
                     [](const Trace& trace) -> Result<std::string> { return TracePage(trace); });
}

TwBuffer* tw_trace_memory(const char* const* paths, int32_t n, int64_t step, TwStatus* status) {
  return ToldOfTrace(
      status, paths, n,
      [&](const Trace& trace) -> Result<std::string> {
        RETURN_IF_ERROR(CheckStep(trace, step));
        return MemoryJson(trace, step);
      },
      true);
}

}  // extern "C"
