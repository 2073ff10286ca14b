// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/channel_client.h"

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/steps/step_coordinator.h"

namespace thalweg {
namespace {

constexpr const char* kServer = "/job:server/replica:0/task:0";

}  // namespace

ChannelClient::ChannelClient(ClusterSpec spec, Environment& environment)
    : session_(RandomSeed()),
      peers_(std::move(spec), StrCat("client ", session_)),
      steps_(environment.allocator(), environment.clock(), 1),
      channels_(peers_, steps_, ChannelUse::kAny, environment.inproc()) {}

Result<std::unique_ptr<ChannelClient>> ChannelClient::Connect(const std::string& address,
                                                              Environment& environment,
                                                              std::chrono::nanoseconds timeout) {
  ClusterSpec spec;
  RETURN_IF_ERROR(spec.Add("server", 0, address));
  auto client = std::make_unique<ChannelClient>(std::move(spec), environment);
  ASSIGN_OR_RETURN(client->connection_, client->channels_.Get(kServer, {.timeout = timeout}));
  RETURN_IF_ERROR(client->steps_.AddSession(client->session_));
  return client;
}

std::string ChannelClient::Hello() const {
  return EncodeHello({.task = peers_.self(), .process = ThisProcess(), .token = session_});
}

Status ChannelClient::Run(int64_t callable, std::span<const Tensor> feeds,
                          std::span<Tensor> fetches, std::chrono::nanoseconds timeout,
                          CancellationManager* cancellation, TraceWish trace,
                          std::string* metadata) {
  RemoteStepPart part{.connection = connection_,
                      .plan = static_cast<uint64_t>(callable),
                      .incarnation = connection_->incarnation()};
  uint32_t edge = 0;
  for (size_t i = 0; i < feeds.size(); ++i) {
    part.feeds.emplace_back(static_cast<int>(i),
                            ChannelEdge{.number = edge++, .connection = connection_});
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    part.fetches.emplace_back(static_cast<int>(i),
                              ChannelEdge{.number = edge++, .connection = connection_});
  }
  part.trace_edge = edge;
  Tensor told;
  RETURN_IF_ERROR(steps_.Coordinate({.session = session_,
                                     .parts = {&part, 1},
                                     .feeds = feeds,
                                     .fetches = fetches,
                                     .trace = trace,
                                     .traces = {&told, 1},
                                     .timeout = timeout,
                                     .grace = std::chrono::seconds(1),
                                     .cancellation = cancellation,
                                     .names_tasks = false}));
  if (trace.any()) metadata->assign(static_cast<const char*>(told.raw_data()), told.bytes());
  return OkStatus();
}

void ChannelClient::Stop() { steps_.Stop(Cancelled("Session has been closed.")); }

}  // namespace thalweg
