// SPDX-License-Identifier: Apache-2.0
// JoinFromDevice: a member of a collective operation on a device whose memory the host does not
// address. Where the device computes together with others its value stays there; else it comes to
// the host before the member joins. A result that comes in host memory is brought to the device.
//
//   JoinFromDevice(ctx, std::move(call), true,
//                  [](Context& on_host, CollectiveCall what, Done joined) { ... joins ... },
//                  std::move(done));
//
// Ownership: ctx stays until `done`; the context that `join` gets, until `joined`.
// Threads: any; `join` and `done` run inline or on a thread of the device's. No thread waits.
// Errors: come to `done`: those of the copies and of `join`.
#pragma once

#include <functional>

#include "thalweg/kernel/kernel.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {

// What `ctx` is in it: the same step, whose kernels allocate in host memory.
using JoinOnHost = std::function<void(Context& on_host, CollectiveCall call, Done joined)>;

// `is_here`: all members are in this task; others hand over what is in host memory.
void JoinFromDevice(Context& ctx, CollectiveCall call, bool is_here, JoinOnHost join, Done done);

}  // namespace thalweg
