// SPDX-License-Identifier: Apache-2.0
// WorkerClients: calls from this task to the other tasks of its cluster, by TensorFlow's worker
// protocol.
//
//   WorkerClients peers(spec, "/job:worker/replica:0/task:0");
//   peers.Call("/job:ps/replica:0/task:0", "RunGraph", request, pb::RunGraphResponse::Descriptor(),
//              {.timeout = timeout}, [](Result<OwnedMessage> response) { ... });
//
// Connects to a task at its first call. Tasks may come, and be at another address, while others are
// called: calls that are open go on where they went.
// Ownership: a call's cancellation outlives the call.
// Threads: every member from any; callbacks come on the transport's threads and must not wait.
// Errors: what the task answered; Unavailable when it cannot be reached; each says which task and
// which call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/counters/traffic_counter.h"
#include "thalweg/cluster/peers/peer_version.h"
#include "thalweg/cluster/spec/cluster_spec.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// "/job:ps/replica:0/task:3".
std::string TaskName(std::string_view job, int task);
// The task of a full device name; all of it when it names no device.
std::string_view TaskOf(std::string_view device);
// A session's or a graph's handle as a number; 0 for what is none of ours.
uint64_t NumberOfHandle(std::string_view handle);

class WorkerClients {
 public:
  WorkerClients(ClusterSpec spec, std::string self, TlsTexts tls = {})
      : self_(std::move(self)), tls_(std::move(tls)), spec_(std::move(spec)) {}

  const std::string& self() const { return self_; }
  const TlsTexts& tls() const { return tls_; }
  // All tasks but this one, by name.
  std::vector<std::string> Others() const EXCLUDES(mutex_);

  // "HOST:PORT"; "?" for a task that is not of the cluster.
  std::string AddressOf(std::string_view task) const EXCLUDES(mutex_);

  // Where tasks are by now, of those that a ClusterDef names; what it says of this task is not
  // taken. `only_new`: nor of any that is known. InvalidArgument, and nothing is changed, for a
  // malformed one.
  Status Update(const Message& cluster_def, bool only_new) EXCLUDES(mutex_);

  using Done = std::function<void(Result<OwnedMessage>)>;
  void Call(std::string_view task, std::string_view method, const Message& request,
            const MessageDescriptor& response, const RpcCallOptions& options, Done done)
      EXCLUDES(mutex_);
  // The same on a connection of its own, where nothing waits behind big values on a slow
  // connection.
  void CallAside(std::string_view task, std::string_view method, const Message& request,
                 const MessageDescriptor& response, const RpcCallOptions& options, Done done)
      EXCLUDES(mutex_);
  // Waits.
  Result<OwnedMessage> Call(std::string_view task, std::string_view method, const Message& request,
                            const MessageDescriptor& response, const RpcCallOptions& options);
  // The same, of bytes, which does not wait.
  void CallBytes(std::string_view task, std::string_view method, std::string request,
                 const RpcCallOptions& options, RpcChannel::Done done);

  // Whose rules a task follows. Asked of the task once in each of its lives, which the incarnation
  // of one of its devices tells apart; 0: any.
  using VersionDone = std::function<void(Result<PeerVersion>)>;
  void FindVersion(std::string_view task, uint64_t incarnation, CancellationManager* cancellation,
                   VersionDone done) EXCLUDES(mutex_);
  // As far as it is known by now.
  std::optional<PeerVersion> KnownVersion(std::string_view task) EXCLUDES(mutex_);
  // An answer to GetStatus.
  void NoteStatus(std::string_view task, const Message& status) EXCLUDES(mutex_);

  // The bytes of all requests and answers.
  const TrafficCounter& traffic() const { return *traffic_; }

 private:
  struct Incarnation {
    PeerVersion version;
    std::vector<uint64_t> devices;  // their incarnations
  };
  using Channels = std::map<std::string, std::unique_ptr<RpcChannel>, std::less<>>;
  // `aside`: the connection where nothing waits behind big values.
  Result<RpcChannel*> ChannelTo(std::string_view task, bool aside) EXCLUDES(mutex_);
  void CallOn(const Result<RpcChannel*>& channel, std::string_view task, std::string_view method,
              const Message& request, const MessageDescriptor& response,
              const RpcCallOptions& options, Done done);

  const std::string self_;
  const TlsTexts tls_;  // empty: plain text
  const std::shared_ptr<TrafficCounter> traffic_ = std::make_shared<TrafficCounter>();
  mutable Mutex mutex_;
  ClusterSpec spec_ GUARDED_BY(mutex_);
  Channels channels_ GUARDED_BY(mutex_);
  Channels aside_ GUARDED_BY(mutex_);
  // To where tasks have been: a call may be on its way there.
  std::vector<std::unique_ptr<RpcChannel>> left_ GUARDED_BY(mutex_);
  std::map<std::string, Incarnation, std::less<>> incarnations_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
