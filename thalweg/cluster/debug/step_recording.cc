// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/step_recording.h"

#include <utility>

#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

enum RequestField : uint32_t {
  kSteps = 1,
  kSlowerThan = 2,  // nanoseconds and 1
  kFailing = 3,
  kTimeout = 4,  // nanoseconds
  kMaxBytes = 5,
  kOfSession = 6,
  kOfNode = 7,
  kRecordingId = 8,
};
enum RecordingField : uint32_t { kStep = 1, kSeen = 2, kOpen = 3, kTooLarge = 4, kEndedBy = 5 };
enum StepField : uint32_t {
  kSession = 1,
  kId = 2,
  kStart = 3,
  kNanos = 4,
  kCode = 5,
  kWords = 6,
  kSilent = 7,
  kMetadata = 8,
};

std::string StepBytes(const KeptStep& step) {
  std::string bytes;
  AddWireText(kSession, step.session, &bytes);
  AddWireNumber(kId, static_cast<uint64_t>(step.id), &bytes);
  AddWireNumber(kStart, static_cast<uint64_t>(step.start_wall_micros), &bytes);
  AddWireNumber(kNanos, static_cast<uint64_t>(step.nanos), &bytes);
  AddWireNumber(kCode, static_cast<uint64_t>(step.status.code()), &bytes);
  if (!step.status.ok()) AddWireText(kWords, step.status.message(), &bytes);
  for (const std::string& task : step.silent) AddWireText(kSilent, task, &bytes);
  AddWireText(kMetadata, *step.metadata, &bytes);
  return bytes;
}

bool ReadStep(std::string_view bytes, KeptStep* step) {
  uint64_t code = 0;
  std::string_view words;
  const bool whole =
      VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
        if (field == kSession) step->session = text;
        if (field == kId) step->id = static_cast<int64_t>(number);
        if (field == kStart) step->start_wall_micros = static_cast<int64_t>(number);
        if (field == kNanos) step->nanos = static_cast<int64_t>(number);
        if (field == kCode) code = number;
        if (field == kWords) words = text;
        if (field == kSilent) step->silent.emplace_back(text);
        if (field == kMetadata) step->metadata = std::make_shared<const std::string>(text);
      });
  if (!whole || code > static_cast<uint64_t>(Code::kUnauthenticated)) return false;
  if (code != 0) step->status = Status(static_cast<Code>(code), std::string(words));
  return true;
}

}  // namespace

Status RecordRequest::Validate() const {
  constexpr int64_t kMostSteps = 10'000;
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  constexpr std::chrono::hours kLongest{24};
  if (steps < 1 || steps > kMostSteps) {
    return InvalidArgument("expected 1 to ", kMostSteps, " steps to record, got ", steps);
  }
  if (slower_than.has_value() && slower_than->count() < 0) {
    return InvalidArgument("steps slower than ", slower_than->count(),
                           " ns: expected no time, or a longer one");
  }
  if (timeout.count() <= 0 || timeout > kLongest) {
    return InvalidArgument("expected a timeout of up to 24 hours for a recording, got ",
                           std::chrono::duration<double>(timeout).count(), " s");
  }
  if (max_bytes < 1 || max_bytes > kMostBytes) {
    return InvalidArgument("expected 1 to ", kMostBytes, " bytes of traces to keep, got ",
                           max_bytes);
  }
  return OkStatus();
}

std::string RecordRequestBytes(const RecordRequest& request) {
  std::string bytes;
  AddWireNumber(kSteps, static_cast<uint64_t>(request.steps), &bytes);
  if (request.slower_than.has_value()) {
    AddWireNumber(kSlowerThan, static_cast<uint64_t>(request.slower_than->count()) + 1, &bytes);
  }
  AddWireNumber(kFailing, request.failing ? 1 : 0, &bytes);
  AddWireNumber(kTimeout, static_cast<uint64_t>(request.timeout.count()), &bytes);
  AddWireNumber(kMaxBytes, static_cast<uint64_t>(request.max_bytes), &bytes);
  AddWireText(kOfSession, request.session, &bytes);
  AddWireText(kOfNode, request.node, &bytes);
  AddWireNumber(kRecordingId, request.id, &bytes);
  return bytes;
}

Result<RecordRequest> ReadRecordRequest(std::string_view bytes) {
  RecordRequest request;
  const bool whole =
      VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
        const auto value = static_cast<int64_t>(number);
        if (field == kSteps) request.steps = value;
        if (field == kSlowerThan) {
          request.slower_than = std::chrono::nanoseconds(static_cast<int64_t>(number - 1));
        }
        if (field == kFailing) request.failing = number != 0;
        if (field == kTimeout) request.timeout = std::chrono::nanoseconds(value);
        if (field == kMaxBytes) request.max_bytes = value;
        if (field == kOfSession) request.session = text;
        if (field == kOfNode) request.node = text;
        if (field == kRecordingId) request.id = number;
      });
  if (!whole) {
    return InvalidArgument("expected which steps are to be recorded, got ", bytes.size(),
                           " bytes that are no such request");
  }
  RETURN_IF_ERROR(request.Validate());
  return request;
}

std::string RecordingBytes(const Recording& recording) {
  std::string bytes;
  for (const KeptStep& step : recording.steps) AddWireText(kStep, StepBytes(step), &bytes);
  AddWireNumber(kSeen, static_cast<uint64_t>(recording.seen), &bytes);
  AddWireNumber(kOpen, static_cast<uint64_t>(recording.open), &bytes);
  AddWireNumber(kTooLarge, static_cast<uint64_t>(recording.too_large_bytes), &bytes);
  AddWireText(kEndedBy, recording.ended_by, &bytes);
  return bytes;
}

Result<Recording> ReadRecording(std::string_view bytes) {
  Recording recording;
  bool valid = true;
  const bool whole =
      VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
        const auto value = static_cast<int64_t>(number);
        if (field == kStep) valid = ReadStep(text, &recording.steps.emplace_back()) && valid;
        if (field == kSeen) recording.seen = value;
        if (field == kOpen) recording.open = value;
        if (field == kTooLarge) recording.too_large_bytes = value;
        if (field == kEndedBy) recording.ended_by = text;
      });
  if (whole && valid) return recording;
  return InvalidArgument("expected recorded steps, got ", bytes.size(), " bytes that are none");
}

}  // namespace thalweg
