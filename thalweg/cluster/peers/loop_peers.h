// SPDX-License-Identifier: Apache-2.0
// LoopPeers: the tasks with which the part of a step that a graph is may exchange tensors from
// within loops. Where one of them is TensorFlow's, the step has to know its frames by TensorFlow's
// numbers.
//
//   RETURN_IF_ERROR(CheckLoopVersions(graph, task, peers));
//   if (!AreAllOurs(peers, LoopPeers(graph, peers.self()))) run.frames = &observer;
//
// Ownership: values; graph and peers are used during the call.
// Threads: any.
// Errors: Unimplemented where a loop hands tensors from one of TensorFlow's releases to another.
#pragma once

#include <string>
#include <vector>

#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/graph/graph.h"

namespace thalweg {

// None for a graph without loops.
std::vector<std::string> LoopPeers(const Graph& graph, std::string_view self);
// All of them are ours, as far as is known.
bool AreAllOurs(WorkerClients& peers, const std::vector<std::string>& tasks);
// Unimplemented, when a loop hands tensors from a task of one of TensorFlow's releases to `task`,
// of another: each would wait for keys that the other never sends.
Status CheckLoopVersions(const Graph& graph, std::string_view task, WorkerClients& peers);

}  // namespace thalweg
