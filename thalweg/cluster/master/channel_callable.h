// SPDX-License-Identifier: Apache-2.0
// RunCallableByChannel: a callable of a client whose feeds come and whose fetches go through a
// channel: edges 0, 1, ... are the feeds, the next ones the fetches.
//
//   Status status = RunCallableByChannel(*callable, 2, 1, client, step, how, steps.hub());
//
// Ownership: feeds and fetches are the channel's; callable, step and hub outlive the call.
// Threads: the calling one waits for the feeds, and looks at the channels meanwhile.
// Errors: those of the callable, or why the step was ended.
#pragma once

#include <chrono>
#include <memory>

#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/session/session.h"

namespace thalweg {

// Waits for the feeds, and looks at the channels meanwhile. A traced one tells a RunMetadata
// message. Errors: those of the callable, or why the step was ended.
Status RunCallableByChannel(Callable& callable, size_t num_feeds, size_t num_fetches,
                            const std::shared_ptr<Connection>& client, ChannelRendezvous& step,
                            PartRun& how, ChannelHub& hub);

}  // namespace thalweg
