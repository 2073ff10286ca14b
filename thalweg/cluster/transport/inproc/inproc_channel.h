// SPDX-License-Identifier: Apache-2.0
// A pair of channels within one process: records are handed over in a queue, tensors as references
// to the sender's buffer. What a test, or a cluster whose tasks share a process, uses.
//
//   ChannelPair pair = MakeInprocChannels();
//   pair.first->Push(head, tensor);  pair.second->Poll(sink, 64);
//
// Ownership: either may go first.
// Threads: as Channel.
// Errors: as Channel; Unavailable once the other side has gone.
#pragma once

#include <memory>
#include <utility>

#include "thalweg/cluster/transport/channel.h"

namespace thalweg {

using ChannelPair = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;

// Either may go first.
ChannelPair MakeInprocChannels();

}  // namespace thalweg
