// SPDX-License-Identifier: Apache-2.0
// RecordRequest and Recording: which steps of a master somebody wants traces of, and what he got.
//
//   RecordRequest wish{.steps = 2, .slower_than = std::chrono::milliseconds(50)};
//   ASSIGN_OR_RETURN(RecordRequest asked, ReadRecordRequest(RecordRequestBytes(wish)));
//   ASSIGN_OR_RETURN(Recording got, ReadRecording(RecordingBytes(recording)));
//
// Ownership: values; recordings share the bytes of their traces.
// Threads: any; no state.
// Errors: InvalidArgument for bytes that are none, and for wishes that nothing can fulfil, with
// what was expected.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

// The method that answers it, of a service of our own: other servers do not have it.
inline constexpr std::string_view kRecordMethod = "/thalweg.Debug/Record";
// With the request of a recording: it ends now, with what it has. NotFound where there is none.
inline constexpr std::string_view kEndRecordingMethod = "/thalweg.Debug/EndRecording";

struct RecordRequest {
  int64_t steps = 1;
  // Which steps: the next ones where neither is said; else those that are slower, or fail.
  std::optional<std::chrono::nanoseconds> slower_than = {};
  bool failing = false;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  int64_t max_bytes = int64_t{256} << 20;  // of all traces together
  std::string session = {};                // the master's handle; empty: of any session
  std::string node = {};                   // that a step fetches or runs; empty: any step
  uint64_t id = 0;                         // who asks chooses it, and may end it by it; 0: not
  Status Validate() const;
};

struct KeptStep {
  std::string session;
  int64_t id = 0;
  int64_t start_wall_micros = 0;  // since 1970
  int64_t nanos = 0;
  Status status;
  std::vector<std::string> silent;  // tasks that told nothing
  // A RunMetadata message's bytes; never null.
  std::shared_ptr<const std::string> metadata = std::make_shared<const std::string>();
};

struct Recording {
  std::vector<KeptStep> steps;  // in the order in which they ended
  int64_t seen = 0;             // steps that were traced
  int64_t open = 0;             // of them, those that had not ended
  // The first trace that did not fit into max_bytes any more; 0: none.
  int64_t too_large_bytes = 0;
  std::string ended_by;  // why it ended before its steps and its time; empty: it did not
};

std::string RecordRequestBytes(const RecordRequest& request);
Result<RecordRequest> ReadRecordRequest(std::string_view bytes);
std::string RecordingBytes(const Recording& recording);
Result<Recording> ReadRecording(std::string_view bytes);

}  // namespace thalweg
