// SPDX-License-Identifier: Apache-2.0
// HeartbeatPayload: what a Thalweg task adds to its answer of GetStatus; HeartbeatRequest: what it
// adds to the request. Both are a field that TensorFlow's tasks do not know, and skip.
//
//   RETURN_IF_ERROR(AddHeartbeat(beat, response));
//   const std::optional<HeartbeatPayload> found = FindHeartbeat(*response);   // none: not ours
//
// Ownership: values; what is added to a message it owns.
// Threads: any, on distinct messages.
// Errors: what cannot be read is not there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/health/process_state.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// One open step, as a task sees its own part of it.
struct StepReport {
  int64_t id = 0;
  uint64_t progress = 0;       // changes when something happens
  bool waits_outside = false;  // for a queue or the like, which another step may serve
  std::string text;            // who waits for what, and who computes
};

struct HeartbeatPayload {
  ProcessIdentity process;
  ProcessMemory memory;
  std::vector<StepReport> steps;  // of the sessions that were asked about
  uint64_t progress = 0;          // of all steps of the task
};
Status AddHeartbeat(const HeartbeatPayload& beat, Message* response);
std::optional<HeartbeatPayload> FindHeartbeat(const Message& response);

struct HeartbeatRequest {
  std::string master;                 // the task that asks
  std::vector<std::string> sessions;  // its sessions in which this task takes part
};
Status AddHeartbeatRequest(const HeartbeatRequest& beat, Message* request);
std::optional<HeartbeatRequest> FindHeartbeatRequest(const Message& request);

}  // namespace thalweg
