// SPDX-License-Identifier: Apache-2.0
// MakeRemoteSession: a session that a server of another process runs: a Thalweg server or one of
// TensorFlow's. The graph is built here and sent when it is first run; what is added later is sent
// with the next run.
//
//   ASSIGN_OR_RETURN(auto session, MakeRemoteSession(environment, graph, "grpc://127.0.0.1:2222",
//                                                    {.timeout = std::chrono::seconds(60)}));
//
// Placement and plans are the server's: not told here.
// Ownership: shares the environment and the graph. State is the server's: it stays when the session
// is closed.
// Threads: every member from any.
// Errors: those of the server; Unavailable when it cannot be reached; Aborted when it has restarted
// (make a new session).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/cluster/client/remote_target.h"
#include "thalweg/session/session.h"

namespace thalweg {

struct RemoteSessionOptions {
  std::optional<std::string> config;    // bytes of a ConfigProto for the server
  std::chrono::nanoseconds timeout{0};  // of every call that does not set its own; 0: none
};

// Callables share it.
Result<std::shared_ptr<Session>> MakeRemoteSession(std::shared_ptr<Environment> environment,
                                                   std::shared_ptr<Graph> graph,
                                                   const std::string& target,
                                                   RemoteSessionOptions options = {});
// Empties containers of the server, all when none is named, and ends its sessions.
Status ResetRemote(const std::string& target, const std::vector<std::string>& containers,
                   std::chrono::nanoseconds timeout);

// What the server does now, as JSON (debug/dump.h). Unimplemented by servers that are not ours.
Result<std::string> DumpRemote(const std::string& target, std::chrono::nanoseconds timeout);

}  // namespace thalweg
