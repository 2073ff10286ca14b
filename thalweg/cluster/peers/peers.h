// SPDX-License-Identifier: Apache-2.0
// Peers: calls from this task to the other tasks of its cluster, by TensorFlow's worker protocol.
//
//   Peers peers(spec, "/job:worker/replica:0/task:0");
//   peers.Call("/job:ps/replica:0/task:0", "RunGraph", *request,
//   pb::RunGraphResponse::Descriptor(),
//              options, [](Result<OwnedMessage> response) { ... });
//
// Connects to a task at its first call. Threads: every member from any; callbacks come on the
// transport's threads and must not wait. Errors: what the task answered; Unavailable when it cannot
// be reached; each says which task and which call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/spec/cluster_spec.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// "/job:ps/replica:0/task:3".
std::string TaskName(std::string_view job, int task);
// The task of a full device name; all of it when it names no device.
std::string_view TaskOf(std::string_view device);

class Peers {
 public:
  Peers(ClusterSpec spec, std::string self) : spec_(std::move(spec)), self_(std::move(self)) {}

  const std::string& self() const { return self_; }
  // All tasks but this one, by name.
  std::vector<std::string> Others() const;

  using Done = std::function<void(Result<OwnedMessage>)>;
  void Call(std::string_view task, std::string_view method, const Message& request,
            const MessageDescriptor& response, const RpcCallOptions& options, Done done)
      EXCLUDES(mutex_);
  // Waits.
  Result<OwnedMessage> Call(std::string_view task, std::string_view method, const Message& request,
                            const MessageDescriptor& response, const RpcCallOptions& options);

 private:
  Result<RpcChannel*> ChannelTo(std::string_view task) EXCLUDES(mutex_);

  const ClusterSpec spec_;
  const std::string self_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<RpcChannel>, std::less<>> channels_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
