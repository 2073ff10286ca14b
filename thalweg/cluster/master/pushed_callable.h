// SPDX-License-Identifier: Apache-2.0
// RunCallablePushed: a callable of a client whose feeds come and whose fetches go through a
// channel: edges 0, 1, ... are the feeds, the next ones the fetches.
#pragma once

#include <chrono>
#include <memory>

#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/cluster/worker/channel_step.h"
#include "thalweg/session/session.h"

namespace thalweg {

// Waits for the feeds, and looks at the channels meanwhile. Errors: those of the callable, or why
// the step was ended.
Status RunCallablePushed(Callable& callable, size_t num_feeds, size_t num_fetches,
                         const std::shared_ptr<Link>& client, ChannelStep& step,
                         std::chrono::nanoseconds timeout, ChannelHub& hub);

}  // namespace thalweg
