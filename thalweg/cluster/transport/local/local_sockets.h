// SPDX-License-Identifier: Apache-2.0
// Connected unix sockets between two processes of one user on one host. The names are abstract:
// they leave no file behind, however a process ends.
//
//   ASSIGN_OR_RETURN(const UniqueFd listener, ListenLocally(token));
//   ASSIGN_OR_RETURN(UniqueFd theirs, ConnectLocally(token));       // the other process
//   ASSIGN_OR_RETURN(UniqueFd ours, AcceptLocally(listener));       // what is there already
//
// Ownership: a UniqueFd owns its socket; the name goes with the listener.
// Threads: any; never waits.
// Errors: Unavailable where nobody listens or nobody has connected; PermissionDenied for a process
// of another user.
#pragma once

#include <cstdint>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

Result<UniqueFd> ListenLocally(uint64_t token);
Result<UniqueFd> ConnectLocally(uint64_t token);
Result<UniqueFd> AcceptLocally(const UniqueFd& listener);

}  // namespace thalweg
