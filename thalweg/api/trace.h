// SPDX-License-Identifier: Apache-2.0
// Traces for C++: a step recorded, recordings told of, and steps of a cluster that runs recorded
// from outside. Header-only over the C ABI (c_trace.h).
//
//   tw::TracedRun run = tw::RunTraced(session, {{x, value}}, {y}).OrThrow();
//   std::ofstream("step.trace", std::ios::binary) << tw::PackTrace(run.recording).OrThrow();
//   tw::TraceOptions layers;
//   layers.nodes = {"layer1/*"};
//   std::ofstream("step.html") << tw::TellTrace({"step.trace"}, TW_TRACE_PAGE, layers).OrThrow();
//
// Ownership: a recording is a RunMetadata message of its own; copies of a Recording share one.
// Threads: any.
// Errors: as thalweg.h says; their messages begin with the path, where there is one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/c_trace.h"
#include "thalweg/session.h"
#include "thalweg/tensor.h"

namespace tw {

// What a step gave, and all that it did: `recording` is a RunMetadata message with its graphs.
struct TracedRun {
  std::vector<Tensor> values;
  std::string recording;
};

// Session::Run with a recording. `options`: a timeout, a handle to cancel it; its level of tracing
// becomes full.
inline Result<TracedRun> RunTraced(Session& session, const Feeds& feeds,
                                   const std::vector<Output>& fetches,
                                   const std::vector<Node>& targets = {},
                                   TwRunOptions* options = nullptr) {
  constexpr int32_t kFullTrace = 3;
  const internal::Handle<TwRunOptions, &tw_run_options_free> own(
      options == nullptr ? tw_run_options_new() : nullptr);
  if (options == nullptr) options = own.get();
  tw_run_options_trace_level(options, kFullTrace);
  tw_run_options_output_partition_graphs(options, 1);
  TracedRun run;
  Result<std::vector<Tensor>> values =
      session.Run(feeds, fetches, targets, options, &run.recording);
  if (!values.ok()) return values.status();
  run.values = std::move(values.value());
  return run;
}

// A recording in a fraction of its bytes, as files whose names end in .trace hold it, and back,
// byte by byte.
inline Result<std::string> PackTrace(const std::string& recording) {
  internal::StatusHolder status;
  return internal::TextOf(tw_trace_pack(recording.data(), recording.size(), status.c), status);
}
inline Result<std::string> UnpackTrace(const std::string& packed) {
  internal::StatusHolder status;
  return internal::TextOf(tw_trace_unpack(packed.data(), packed.size(), status.c), status);
}

// What TellTrace leaves out first, and of which step it tells.
struct TraceOptions {
  int64_t step =
      -1;  // of a summary and of memory; -1: the slowest, and the one of the highest peak
  // Patterns with '*' and '?', any of which may match: of tasks, in full or as "worker/0" or
  // "worker"; of names of nodes. None: all.
  std::vector<std::string> tasks, nodes;
  int64_t min_nanos = 0;   // nodes that take at least as long
  int64_t from_nanos = 0;  // since the trace's begin: nodes that end after it ...
  int64_t to_nanos = 0;    // ... and start before this; 0: all that follow
  int64_t min_bytes = 0;   // nodes whose outputs have at least so many, and values received
};

// What the recordings in these files tell, of tasks of one cluster or of several steps: a summary
// or what held the memory as JSON, a page for a browser, events for other viewers.
inline Result<std::string> TellTrace(const std::vector<std::string>& paths, TwTraceForm form,
                                     const TraceOptions& wanted = {}) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<const char*> all;
    for (const std::string& text : texts) all.push_back(text.c_str());
    return all;
  };
  const std::vector<const char*> files = pointers(paths), tasks = pointers(wanted.tasks),
                                 nodes = pointers(wanted.nodes);
  TwTraceOptions options{};
  options.struct_size = sizeof options;
  options.step = wanted.step;
  options.tasks = tasks.data();
  options.num_tasks = static_cast<int32_t>(tasks.size());
  options.nodes = nodes.data();
  options.num_nodes = static_cast<int32_t>(nodes.size());
  options.min_nanos = wanted.min_nanos;
  options.from_nanos = wanted.from_nanos;
  options.to_nanos = wanted.to_nanos;
  options.min_bytes = wanted.min_bytes;
  internal::StatusHolder status;
  return internal::TextOf(
      tw_trace_tell(files.data(), static_cast<int32_t>(files.size()), form, &options, status.c),
      status);
}

// Steps that the server at a target ran for its clients.
class Recording {
 public:
  // Waits for such steps, as c_trace.h says; `options` as tw_record_options_init makes them, NULL:
  // the next one. `run`: a handle to cancel it.
  static Result<Recording> Of(const std::string& target, const TwRecordOptions* options = nullptr,
                              TwRunOptions* run = nullptr) {
    internal::StatusHolder status;
    TwRecording* made = tw_trace_record(target.c_str(), options, run, status.c);
    if (made == nullptr) return status.Take();
    return Recording(made);
  }
  // The steps, how each ended, and what was missed, as JSON.
  Result<std::string> Report() const {
    internal::StatusHolder status;
    return internal::TextOf(tw_recording_report(handle_.get(), status.c), status);
  }
  // RunMetadata messages, a step each.
  std::vector<std::string> Steps() const {
    std::vector<std::string> steps;
    size_t size = 0;
    for (int64_t i = 0; const void* bytes = tw_recording_metadata(handle_.get(), i, &size); ++i) {
      steps.emplace_back(static_cast<const char*>(bytes), size);
    }
    return steps;
  }

 private:
  explicit Recording(TwRecording* adopted) : handle_(adopted, &tw_recording_free) {}
  std::shared_ptr<TwRecording> handle_;
};

}  // namespace tw
