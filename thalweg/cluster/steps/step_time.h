// SPDX-License-Identifier: Apache-2.0
// StepTime: the time of the step protocol's state machines, which know no clock: since any fixed
// point, the same for all calls of one object.
//
//   StepTime now = clock.Now().time_since_epoch();
#pragma once

#include <chrono>

namespace thalweg {

using StepTime = std::chrono::nanoseconds;

}  // namespace thalweg
