// SPDX-License-Identifier: Apache-2.0
// PartGraphs: a part of a step as a graph of its own, to be registered with its task: its feeds are
// received and its fetches sent, all by keys that RunGraph names.
//
//   RemotePart remote{.task = task};
//   ASSIGN_OR_RETURN(OwnedMessage graph_def, graphs.Make(part, &remote));   // sets feeds, fetches
//
// Ownership: the peers and the devices' names outlive it.
// Threads: Make from any.
// Errors: those of writing the graph as a message.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/kernel/rendezvous.h"
#include "thalweg/passes/partition.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// A part on another task, as it was registered there.
struct RemotePart {
  std::string task;
  std::string graph_handle = {};
  std::vector<std::pair<int, std::string>> feeds = {};    // number, key
  std::vector<std::pair<int, std::string>> fetches = {};  // number, key
};

class PartGraphs {
 public:
  // All outlive this object. By device: its name and incarnation.
  PartGraphs(WorkerClients& peers, const std::vector<std::string>& device_names,
             const std::vector<uint64_t>& device_incarnations)
      : peers_(peers), device_names_(device_names), device_incarnations_(device_incarnations) {}

  Result<OwnedMessage> Make(const StepPartition& part, RemotePart* remote);

 private:
  RendezvousKey ClientKey(int device, const char* kind, int number) const;
  Status ReceiveFeeds(const StepPartition& part, Message* graph_def, RemotePart* remote) const;
  Status SendFetches(const StepPartition& part, Message* graph_def, RemotePart* remote) const;
  void RenameEnds(OwnedMessage& graph_def);

  WorkerClients& peers_;
  const std::vector<std::string>& device_names_;
  const std::vector<uint64_t>& device_incarnations_;
  std::atomic<int> next_graph_{1};
};

}  // namespace thalweg
