// SPDX-License-Identifier: Apache-2.0
// MeasureCluster: what the devices of a session's tasks, and the links between these, can do, for a
// session that places nodes by cost. All tasks measure their devices at once, and then the links:
// this one its own, the others those between them, each of which one of its two tasks measures.
//
//   MeasuredRates rates = MeasureCluster(peers, links, tasks, *environment);
//
// Ownership: borrows during the call.
// Threads: any; waits, for two seconds at most for devices and for links each.
// Errors: none: of tasks that do not answer in time, or are TensorFlow's, nothing is known.
#pragma once

#include <string>
#include <vector>

#include "thalweg/cluster/channels/task_links.h"
#include "thalweg/placement/measured_rates.h"
#include "thalweg/session/environment.h"

namespace thalweg {

// `tasks`: without this one.
MeasuredRates MeasureCluster(WorkerClients& peers, TaskLinks& links,
                             const std::vector<std::string>& tasks, Environment& environment);

}  // namespace thalweg
