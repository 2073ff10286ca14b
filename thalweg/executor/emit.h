// SPDX-License-Identifier: Apache-2.0
// Emit: writes the code of every unit, section and structured loop of a lowered program into a
// plan.
// Ownership: writes into the caller's plan, whose program owns the kernels.
// Threads: one at a time for each plan.
// Errors: none; the lowered program was checked before.
#pragma once

#include "thalweg/executor/values.h"

namespace thalweg {

void EmitCode(const Lowered& lowered, const std::vector<LoopShape>& loops, const Units& units,
              Values& values, Plan* plan);

}  // namespace thalweg
