/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) for traces of steps: RunMetadata files of any
 * session, ours or TensorFlow's, binary or text, with step_stats. Several files are several steps,
 * or what several tasks wrote of one.
 * Ownership: buffers are the caller's until tw_buffer_free.
 * Threads: any.
 * Errors: those of files; INVALID_ARGUMENT, with the path, for what is no RunMetadata message or
 * holds no times of nodes. What is cut off is read as far as it goes, which "notes" tells. */
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

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_TRACE_H_ */
