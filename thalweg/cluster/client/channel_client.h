// SPDX-License-Identifier: Apache-2.0
// ChannelClient: runs steps of a server of ours on this host through a channel, not by calls.
//
//   ASSIGN_OR_RETURN(auto client, ChannelClient::Connect("127.0.0.1:2222", environment, timeout));
//   request_bytes += client->Hello();               // of a MakeCallable
//   Status status = client->Run(callable, feeds, fetches, options);
//
// Threads: Run from any, several at once. Errors: Unimplemented where the server makes no channel;
// of Run: those of the step.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "thalweg/cluster/peers/links.h"
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
  Status Run(int64_t callable, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             std::chrono::nanoseconds timeout, CancellationManager* cancellation);
  bool closed() const { return link_->closed(); }
  void Stop();

 private:
  const uint64_t session_;
  Peers peers_;
  ChannelSteps steps_;
  PeerLinks links_;
  std::shared_ptr<Link> link_;
};

}  // namespace thalweg
