// SPDX-License-Identifier: Apache-2.0
// The plain executor: one pending count a node, a stack of ready nodes, one thread, nothing clever.
// It says what a program means; the real executor is compared with it.
// Ownership: owns its program.
// Threads: Run from one at a time.
// Errors: as Executor.
#pragma once

#include "thalweg/executor/executor.h"

namespace thalweg {

Result<std::unique_ptr<Executor>> MakePlainExecutor(Program program);

}  // namespace thalweg
