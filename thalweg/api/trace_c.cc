// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI for traces of steps.
#include "thalweg/api/handles.h"
#include "thalweg/trace/chrome_trace.h"
#include "thalweg/trace/memory_json.h"
#include "thalweg/trace/perfetto_trace.h"
#include "thalweg/trace/recording_file.h"
#include "thalweg/trace/trace_comparison.h"
#include "thalweg/trace/trace_filter.h"
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

Result<TraceFilter> FilterOf(const TwTraceOptions& options) {
  TraceFilter filter;
  ASSIGN_OR_RETURN(filter.tasks, UnwrapTexts(options.tasks, options.num_tasks, "task"));
  ASSIGN_OR_RETURN(filter.nodes, UnwrapTexts(options.nodes, options.num_nodes, "node"));
  filter.min_nanos = options.min_nanos;
  filter.min_bytes = options.min_bytes;
  if (options.from_nanos > 0) filter.from_nanos = options.from_nanos;
  if (options.to_nanos != 0) filter.to_nanos = options.to_nanos;
  return filter;
}

Status CheckStep(const Trace& trace, int64_t step) {
  const auto steps = static_cast<int64_t>(trace.steps.size());
  if (step < -1 || step >= steps) {
    return InvalidArgument("there is no step ", step, ": the trace has ", steps, ", from 0 on");
  }
  return OkStatus();
}

Result<std::string> TextOf(const Trace& trace, TwTraceForm form, int64_t step) {
  RETURN_IF_ERROR(CheckStep(trace, step));
  switch (form) {
    case TW_TRACE_SUMMARY:
      return SummaryJson(
          trace, Summarize(trace, step < 0 ? SlowestStep(trace) : static_cast<uint32_t>(step)));
    case TW_TRACE_MEMORY:
      return MemoryJson(trace, step);
    case TW_TRACE_PAGE:
      return TracePage(trace);
    case TW_TRACE_CHROME:
      return ChromeTrace(trace);
    case TW_TRACE_PERFETTO:
      return PerfettoTrace(trace);
  }
  return InvalidArgument("expected a form of traces from ", int{TW_TRACE_SUMMARY}, " to ",
                         int{TW_TRACE_PERFETTO}, ", found ", static_cast<int>(form));
}

Result<std::string> Told(const char* const* paths, int32_t n, TwTraceForm form,
                         const TwTraceOptions& options) {
  const bool with_memory =
      form == TW_TRACE_MEMORY || form == TW_TRACE_PAGE || form == TW_TRACE_PERFETTO;
  ASSIGN_OR_RETURN(const TraceFilter filter, FilterOf(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trace> trace, TraceOf(paths, n, with_memory));
  RETURN_IF_ERROR(FilterTrace(filter, trace.get()));
  return TextOf(*trace, form, options.step);
}

TwTraceOptions OptionsOf(int64_t step) {
  TwTraceOptions options{};
  options.struct_size = sizeof options;
  options.step = step;
  return options;
}

TwBuffer* Remade(const void* recording, size_t size, TwStatus* status,
                 Result<std::string> (*remake)(std::string_view)) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    if (recording == nullptr && size > 0) return InvalidArgument("the recording is NULL");
    ASSIGN_OR_RETURN(std::string text, remake({static_cast<const char*>(recording), size}));
    return NewBuffer(std::move(text));
  });
}

}  // namespace

extern "C" {

TwBuffer* tw_trace_pack(const void* recording, size_t size, TwStatus* status) {
  return Remade(recording, size, status, CompactRecording);
}

TwBuffer* tw_trace_unpack(const void* recording, size_t size, TwStatus* status) {
  return Remade(recording, size, status,
                [](std::string_view bytes) { return MessageOfRecording(bytes); });
}

TwBuffer* tw_trace_tell(const char* const* paths, int32_t n, TwTraceForm form,
                        const TwTraceOptions* options, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(std::string text, Told(paths, n, form, CopyOptions(options, OptionsOf(-1))));
    return NewBuffer(std::move(text));
  });
}

TwBuffer* tw_trace_summary(const char* const* paths, int32_t n, int64_t step, TwStatus* status) {
  const TwTraceOptions options = OptionsOf(step);
  return tw_trace_tell(paths, n, TW_TRACE_SUMMARY, &options, status);
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
  return tw_trace_tell(paths, n, TW_TRACE_CHROME, nullptr, status);
}

TwBuffer* tw_trace_page(const char* const* paths, int32_t n, TwStatus* status) {
  return tw_trace_tell(paths, n, TW_TRACE_PAGE, nullptr, status);
}

TwBuffer* tw_trace_memory(const char* const* paths, int32_t n, int64_t step, TwStatus* status) {
  const TwTraceOptions options = OptionsOf(step);
  return tw_trace_tell(paths, n, TW_TRACE_MEMORY, &options, status);
}

}  // extern "C"
