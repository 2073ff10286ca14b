// SPDX-License-Identifier: Apache-2.0
// ChannelClient: runs steps of a server of ours on this host through a channel, not by calls.
//
//   ASSIGN_OR_RETURN(auto client, ChannelClient::Connect("127.0.0.1:2222", *environment, timeout));
//   request_bytes += client->Hello();               // of a MakeCallable
//   Status status = client->Run(callable, feeds, fetches, timeout, &cancellation, {}, nullptr);
//
// Ownership: the environment outlives it.
// Threads: Run from any, several at once.
// Errors: Unimplemented where the server makes no channel; of Run: those of the step.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "thalweg/cluster/channels/channel_manager.h"
#include "thalweg/session/session.h"

namespace thalweg {

class ChannelClient {
 public:
  static Result<std::unique_ptr<ChannelClient>> Connect(const std::string& address,
                                                        Environment& environment,
                                                        std::chrono::nanoseconds timeout);
  ChannelClient(ClusterSpec spec, Environment& environment);
  ~ChannelClient() { Stop(); }

  // What tells the server with whom the callable is to be run.
  std::string Hello() const;
  // What a step may be asked to tell of its run.
  bool knows_traces() const { return (connection_->features() & kTracedSteps) != 0; }
  // `metadata`: of a step with `trace`, a RunMetadata message's bytes.
  Status Run(int64_t callable, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             std::chrono::nanoseconds timeout, CancellationManager* cancellation, TraceWish trace,
             std::string* metadata);
  bool closed() const { return connection_->closed(); }
  void Stop();

 private:
  const uint64_t session_;
  WorkerClients peers_;
  StepService steps_;
  ChannelManager channels_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace thalweg
