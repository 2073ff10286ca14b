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
// DeviceStepStats, messages: what is not there of the step's beginning, as only the newest that a
// step tells is kept.
inline constexpr uint32_t kLeftOutField = 1002;
namespace left_out_fields {
inline constexpr uint32_t kExecutions = 1;      // of nodes of this device
inline constexpr uint32_t kUntilNanos = 2;      // since 1970; what ended later is there
inline constexpr uint32_t kStepBeginNanos = 3;  // since 1970
inline constexpr uint32_t kNode = 4;            // messages: which executions
inline constexpr uint32_t kNodeName = 1;        // of these
inline constexpr uint32_t kNodeExecutions = 2;
inline constexpr uint32_t kTransfers = 5;  // values received ("RecvTensor"), not among executions
}  // namespace left_out_fields

}  // namespace thalweg
