// SPDX-License-Identifier: Apache-2.0
// ScheduleReceives: a value from another task is asked for shortly before it is needed, not when
// the step begins (papers A5.2). A Recv gets a control edge from a node after which there is still
// time for the transfer, by a guess of what nodes and transfers take: of the nodes that all its
// readers wait for anyway, the last such one. So nothing waits for what it did not wait for before.
//
//   RETURN_IF_ERROR(ScheduleReceives(&parts));
//
// Small values, those whose size is not known, and those read in loops come as before.
// Ownership: gives parts that change new graphs in the place of theirs.
// Threads: as pass.h: one.
// Errors: those of the step's budget; beyond its own limit of work what is left stays as it was.
#pragma once

#include <string>
#include <vector>

#include "thalweg/passes/partition.h"

namespace thalweg {

// Bytes of a value for which waiting is worth while.
inline constexpr int64_t kScheduledBytes = int64_t{64} << 10;

Status ScheduleReceives(std::vector<StepPartition>* parts);

// "'w/recv' after MatMul 'hidden'", a line each.
std::string WaitingReceivesText(const StepGraph& part);

}  // namespace thalweg
