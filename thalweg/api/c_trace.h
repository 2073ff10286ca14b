/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) for traces of steps: RunMetadata files of any
 * session, ours or TensorFlow's, binary, text, compact or compressed by gzip, with step_stats, and
 * how a server that runs steps for others gives some. Several files are several steps, or what
 * several tasks wrote of one.
 * Ownership: buffers are the caller's until tw_buffer_free, recordings until tw_recording_free.
 * Threads: any.
 * Errors: those of files; INVALID_ARGUMENT, with the path, for what is no RunMetadata message or
 * holds no times of nodes; DATA_LOSS for damage of what is compact or compressed. What else is cut
 * off is read as far as it goes, which "notes" tells. */
#ifndef THALWEG_C_TRACE_H_
#define THALWEG_C_TRACE_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One step, analyzed, as JSON: where its time went, the critical path, stalls (worst first), who
 * waited for whom, devices, clocks. `step`: its number in order of time; -1: the slowest. */
TW_EXPORT TwBuffer* tw_trace_summary(const char* const* paths, int32_t n, int64_t step,
                                     TwStatus* status);
/* Two traces of the same work, before and after a change, as JSON: what changed in a sentence;
 * times of a step, the critical path, stalls and nodes, each before and after. Of several steps the
 * medians; what is within their spread is called noise. */
TW_EXPORT TwBuffer* tw_trace_compare(const char* const* before, int32_t n_before,
                                     const char* const* after, int32_t n_after, TwStatus* status);
/* All steps in Chrome's format of events (JSON), which Perfetto's viewer reads as well. */
TW_EXPORT TwBuffer* tw_trace_chrome(const char* const* paths, int32_t n, TwStatus* status);
/* All steps, the slowest analyzed, as one HTML page that needs nothing else. */
TW_EXPORT TwBuffer* tw_trace_page(const char* const* paths, int32_t n, TwStatus* status);
/* What held the memory of one step, as JSON: for each device its peak, by kind and by node, and a
 * curve; what grew from step to step. `step`: its number in order of time; -1: the one with the
 * highest peak. INVALID_ARGUMENT where no node tells of memory. */
TW_EXPORT TwBuffer* tw_trace_memory(const char* const* paths, int32_t n, int64_t step,
                                    TwStatus* status);

/* What a trace is told as. */
typedef enum TwTraceForm {
  TW_TRACE_SUMMARY = 0, /* as tw_trace_summary */
  TW_TRACE_MEMORY = 1,  /* as tw_trace_memory */
  TW_TRACE_PAGE = 2,    /* as tw_trace_page */
  TW_TRACE_CHROME = 3,  /* as tw_trace_chrome */
  TW_TRACE_PERFETTO = 4 /* the binary form of ui.perfetto.dev, with memory and busy lanes */
} TwTraceForm;
typedef struct TwTraceOptions {
  size_t struct_size;
  int64_t step; /* of a summary and of memory, of what the rest leaves; -1: as those functions do */
  /* What is left out first. Patterns with '*' and '?', any of which may match: of tasks, in full or
   * as "worker/0" or "worker"; of names of nodes. 0 of them: all. */
  const char* const* tasks;
  int32_t num_tasks;
  const char* const* nodes;
  int32_t num_nodes;
  int64_t min_nanos;  /* nodes that take at least as long */
  int64_t from_nanos; /* since the trace's begin: nodes that end after it ... */
  int64_t to_nanos;   /* ... and start before this; 0: all that follow */
  int64_t min_bytes;  /* nodes whose outputs have at least so many, and values received */
} TwTraceOptions;
/* All functions above but tw_trace_compare, with a filter. `options`: may be NULL. INVALID_ARGUMENT
 * where the filter leaves nothing; of what it left "notes" tell. */
TW_EXPORT TwBuffer* tw_trace_tell(const char* const* paths, int32_t n, TwTraceForm form,
                                  const TwTraceOptions* options, TwStatus* status);

/* A RunMetadata message as a compact recording, a fraction of its bytes, which all functions above
 * read in files (`thalweg trace` calls them .trace), and back, byte by byte. Each takes what files
 * may hold. INVALID_ARGUMENT for a message of more than 1 GiB to pack, DATA_LOSS for what unpacks
 * to more. */
TW_EXPORT TwBuffer* tw_trace_pack(const void* recording, size_t size, TwStatus* status);
TW_EXPORT TwBuffer* tw_trace_unpack(const void* recording, size_t size, TwStatus* status);

typedef struct TwRecordOptions {
  size_t struct_size;
  int64_t steps; /* how many; 0: 1 */
  /* The next ones; with one of these, those that take longer (-1: whatever they take) or that end
   * with an error, but not the one that says that the data has ended. */
  int64_t slower_than_us;
  int32_t failing;
  int64_t timeout_ms;  /* 0: 60,000 */
  int64_t max_bytes;   /* of all traces; 0: 256 MiB, 1 GiB at most */
  const char* session; /* only of the session of this handle, as a report tells it; NULL or "" */
  const char* node;    /* only steps that fetch or run it; NULL or "" */
} TwRecordOptions;
TW_EXPORT void tw_record_options_init(TwRecordOptions* options);
typedef struct TwRecording TwRecording;
/* Waits until the server at "grpc://HOST:PORT" has run such steps for its clients, each traced over
 * all its tasks, or until the timeout, which is no error. `options` may be NULL; so may `run`,
 * whose cancel ends the recording, with what it has; CANCELLED where it has none. UNAVAILABLE where
 * nobody answers; UNIMPLEMENTED of a server of TensorFlow's. */
TW_EXPORT TwRecording* tw_trace_record(const char* target, const TwRecordOptions* options,
                                       TwRunOptions* run, TwStatus* status);
/* As JSON: "steps", each with "session", "id", "start_micros" since 1970, "nanos", "code" and
 * "error" of its end, "silent" (tasks that told nothing), "bytes"; how many steps were "seen", and
 * of them "open" at the end; "too_large_bytes" of the first trace that did not fit, or 0;
 * "ended_by": why it ended before its steps and its time, or "". */
TW_EXPORT TwBuffer* tw_recording_report(const TwRecording* recording, TwStatus* status);
/* A RunMetadata message of the i-th of its steps, the recording's; NULL: there is none. */
TW_EXPORT const void* tw_recording_metadata(const TwRecording* recording, int64_t i, size_t* size);
TW_EXPORT void tw_recording_free(TwRecording* recording);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_TRACE_H_ */
