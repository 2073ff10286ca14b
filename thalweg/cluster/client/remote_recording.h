// SPDX-License-Identifier: Apache-2.0
// RecordRemote: traces of steps that a server runs for its clients, while they run as ever
// (master/step_recorder.h).
//
//   ASSIGN_OR_RETURN(Recording got, RecordRemote("grpc://127.0.0.1:2222", {.steps = 3}, nullptr));
//
// Ownership: the recording is the caller's; the cancellation outlives the call.
// Threads: any; blocks until the steps are there, for the request's timeout at most, or until it is
// cancelled: then the server records no more for it, and gives what it has.
// Errors: the cancellation's reason where there are no steps yet; InvalidArgument for what is no
// target or no request; Unavailable where nobody answers; Unimplemented, with words, for a server
// of TensorFlow's or an older one of ours.
#pragma once

#include <string>

#include "thalweg/base/cancellation.h"
#include "thalweg/cluster/debug/step_recording.h"

namespace thalweg {

Result<Recording> RecordRemote(const std::string& target, const RecordRequest& request,
                               CancellationManager* cancellation);

}  // namespace thalweg
