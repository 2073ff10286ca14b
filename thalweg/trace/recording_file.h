// SPDX-License-Identifier: Apache-2.0
// What a file with a recording holds: a RunMetadata message, binary or as text, or a compact
// recording (packed_recording.h); either may be compressed by gzip. The first bytes say which.
//
//   ASSIGN_OR_RETURN(const std::string compact, CompactRecording(bytes));  // of any form
//   ASSIGN_OR_RETURN(const std::string message, MessageOfRecording(compact));
//   RETURN_IF_ERROR(ReadRecording("step.trace", compact, &reader));  // into a trace
//
// A compact one is compressed where libthalweg_zlib.so is beside the library, and else is not.
// Ownership: nothing of the bytes is kept.
// Threads: any; no state.
// Errors: InvalidArgument for what is known to be something else, with what it is; DataLoss for
// what is damaged or would be more than kMostUnpacked bytes; Unimplemented for gzip's without
// libthalweg_zlib.so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/trace/packed_recording.h"
#include "thalweg/trace/step_stats_reader.h"

namespace thalweg {

Result<std::string> CompactRecording(std::string_view bytes);
// The binary message, byte by byte that which was made compact. `most`: of its bytes.
Result<std::string> MessageOfRecording(std::string_view bytes, uint64_t most = kMostUnpacked);
// `passed`: of a binary message, as StepStatsReader's.
Status ReadRecording(const std::string& path, std::string_view bytes, StepStatsReader* reader,
                     StepStatsReader::Passed passed = {});

}  // namespace thalweg
