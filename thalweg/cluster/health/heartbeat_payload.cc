// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/health/heartbeat_payload.h"

#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

// Beyond all numbers that TensorFlow has given to fields of these messages.
constexpr uint32_t kHeartbeatField = 20261;
constexpr size_t kMostText = 2048;
constexpr size_t kMostEntries = 10'000;

std::optional<std::string_view> FindField(const Message& message) {
  std::optional<std::string_view> found;
  const bool whole = VisitWireFields(message.unknown_fields(),
                                     [&](uint32_t field, uint64_t, std::string_view text) {
                                       if (field == kHeartbeatField) found = text;
                                     });
  return whole ? found : std::nullopt;
}

Status AddField(const std::string& bytes, Message* message) {
  std::string field;
  AddWireText(kHeartbeatField, bytes, &field);
  return MergeFromBytes(*message, field);
}

}  // namespace

Status AddHeartbeat(const HeartbeatPayload& beat, Message* response) {
  std::string bytes;
  AddWireText(1, beat.process.machine, &bytes);
  AddWireNumber(2, beat.process.pid, &bytes);
  AddWireNumber(3, beat.process.start, &bytes);
  AddWireNumber(4, beat.memory.resident_bytes, &bytes);
  AddWireNumber(5, beat.memory.peak_bytes, &bytes);
  for (const StepReport& step : beat.steps) {
    std::string entry;
    AddWireNumber(1, static_cast<uint64_t>(step.id), &entry);
    AddWireNumber(2, step.progress, &entry);
    AddWireNumber(3, step.waits_outside ? 1 : 0, &entry);
    AddWireText(4, std::string_view(step.text).substr(0, kMostText), &entry);
    AddWireText(6, entry, &bytes);
  }
  AddWireNumber(7, beat.progress, &bytes);
  return AddField(bytes, response);
}

std::optional<HeartbeatPayload> FindHeartbeat(const Message& response) {
  const std::optional<std::string_view> bytes = FindField(response);
  if (!bytes.has_value()) return std::nullopt;
  HeartbeatPayload beat;
  bool whole = true;
  const auto visit_step = [&](uint32_t field, uint64_t number, std::string_view text) {
    StepReport& step = beat.steps.back();
    if (field == 1) step.id = static_cast<int64_t>(number);
    if (field == 2) step.progress = number;
    if (field == 3) step.waits_outside = number != 0;
    if (field == 4) step.text = text.substr(0, kMostText);
  };
  whole &= VisitWireFields(*bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
    if (field == 1) beat.process.machine = text.substr(0, kMostText);
    if (field == 2) beat.process.pid = number;
    if (field == 3) beat.process.start = number;
    if (field == 4) beat.memory.resident_bytes = number;
    if (field == 5) beat.memory.peak_bytes = number;
    if (field == 7) beat.progress = number;
    if (field != 6 || beat.steps.size() >= kMostEntries) return;
    beat.steps.emplace_back();
    whole &= VisitWireFields(text, visit_step);
  });
  if (!whole) return std::nullopt;
  return beat;
}

Status AddHeartbeatRequest(const HeartbeatRequest& beat, Message* request) {
  std::string bytes;
  AddWireText(1, beat.master, &bytes);
  for (const std::string& session : beat.sessions) AddWireText(2, session, &bytes);
  return AddField(bytes, request);
}

std::optional<HeartbeatRequest> FindHeartbeatRequest(const Message& request) {
  const std::optional<std::string_view> bytes = FindField(request);
  if (!bytes.has_value()) return std::nullopt;
  HeartbeatRequest beat;
  const bool whole = VisitWireFields(*bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == 1) beat.master = text.substr(0, kMostText);
    if (field == 2 && beat.sessions.size() < kMostEntries) {
      beat.sessions.emplace_back(text.substr(0, kMostText));
    }
  });
  if (!whole) return std::nullopt;
  return beat;
}

}  // namespace thalweg
