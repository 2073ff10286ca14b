// SPDX-License-Identifier: Apache-2.0
// RunCallableByChannel: a callable of a client whose feeds come and whose fetches go through a
// channel: edges 0, 1, ... are the feeds, the next ones the fetches.
//
//   Status status = RunCallableByChannel({prepared, master.recorder(), session}, client, step, how,
//                                        steps.hub());
//
// Ownership: feeds and fetches are the channel's; what it is given outlives the call.
// Threads: the calling one waits for the feeds, and looks at the channels meanwhile.
// Errors: those of the callable, or why the step was ended.
#pragma once

#include <memory>
#include <string_view>

#include "thalweg/cluster/master/master.h"
#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/cluster/transport/channel_hub.h"

namespace thalweg {

struct ChannelCallable {
  const MasterSession::Prepared& prepared;
  StepRecorder& recorder;
  std::string_view session;
};

// Waits for the feeds, and looks at the channels meanwhile. A traced one tells a RunMetadata
// message. Errors: those of the callable, or why the step was ended.
Status RunCallableByChannel(const ChannelCallable& callable,
                            const std::shared_ptr<Connection>& client, ChannelRendezvous& step,
                            PartRun& how, ChannelHub& hub);

}  // namespace thalweg
