// SPDX-License-Identifier: Apache-2.0
// Fields of our own in TensorFlow's messages of traced steps. Who does not know them passes over
// them.
//
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg {

// NodeExecStats, bytes: when the thread of the node had no processor: varints, two for each time:
// nanoseconds since the one before ended (the first: since all_start_nanos), and how many it
// lasted, doubled, one more where the thread could have gone on (ThreadSwitch::is_preempted).
inline constexpr uint32_t kNodeSwitchesField = 1001;
// DeviceStepStats, a string: why no node tells of switches.
inline constexpr uint32_t kSwitchesMissingField = 1001;

}  // namespace thalweg
