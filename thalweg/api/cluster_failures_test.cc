// SPDX-License-Identifier: Apache-2.0
// Losses, deadlines and dumps of a cluster in one process, whose steps go by calls or through
// channels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "thalweg/api/registries.h"
#include "thalweg/api/test_tasks.h"
#include "thalweg/cluster/client/remote_session.h"
#include "thalweg/cluster/health/heartbeat_payload.h"
#include "thalweg/cluster/server/server.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kPs = "/job:ps/replica:0/task:0";

// `take` waits for a queue of the ps; `after` for `take`, at the second worker.
constexpr std::string_view kGraph = R"(
  node { name: "q" op: "FIFOQueueV2" device: "/job:ps"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "take" op: "QueueDequeueV2" input: "q" device: "/job:ps"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "after" op: "Neg" input: "take" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "one" op: "Const" device: "/job:ps" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "put" op: "QueueEnqueueV2" input: "q" input: "one" device: "/job:ps"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } })";

class ClusterFailures : public ::testing::TestWithParam<ChannelUse> {
 protected:
  void SetUp() override { Start({.lost_after = 600ms}); }
  void Start(const HealthOptions& health) {
    servers_.clear();
    servers_ = StartTasks({{"worker", 0}, {"ps", 0}, {"worker", 1}}, &cluster_,
                          [&](size_t, ServerOptions* options) {
                            options->health = health;
                            options->channels = GetParam();
                          });
    ASSERT_EQ(servers_.size(), 3U);
  }
  // A session of the first worker.
  std::shared_ptr<Session> NewSession() {
    auto graph = std::make_shared<Graph>(servers_[0]->environment()->shared_ops());
    Result<OwnedMessage> def = ParseText(pb::GraphDef::Descriptor(), kGraph);
    EXPECT_TRUE(def.ok());
    EXPECT_TRUE(ImportGraphDef(**def, *graph, {}).ok());
    Result<std::shared_ptr<Session>> session =
        MakeRemoteSession(servers_[0]->environment(), graph, servers_[0]->target());
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    return *session;
  }
  static Status Run(Session& session, const std::string& fetch, std::chrono::nanoseconds timeout) {
    std::vector<Tensor> values;
    return session.Run({.timeout = timeout}, {}, std::vector<std::string>{fetch}, {}, &values,
                       nullptr);
  }
  // What the server says, as soon as it says all of this; else what it said last.
  std::string DumpWith(int server, const std::vector<std::string>& texts) {
    for (const auto end = std::chrono::steady_clock::now() + 30s;;) {
      const Result<std::string> dump = DumpRemote(servers_[server]->target(), 10s);
      if (!dump.ok()) return dump.status().ToString();
      const bool all = std::ranges::all_of(
          texts, [&](const std::string& text) { return dump->find(text) != std::string::npos; });
      if (all || std::chrono::steady_clock::now() > end) return *dump;
    }
  }

  // Calls of the second server's worker service, as from a master.
  Result<std::string> CallPs(const char* method, const Message& request,
                             std::chrono::nanoseconds timeout = 60s) {
    if (ps_ == nullptr) {
      ASSIGN_OR_RETURN(ps_, RpcChannel::Connect(StrCat("127.0.0.1:", servers_[1]->port())));
    }
    return ps_->Call(StrCat("/tensorflow.WorkerService/", method), *Serialize(request),
                     {.timeout = timeout});
  }
  // RunGraph of these nodes, which are registered there.
  Result<OwnedMessage> RunOfNodes(const std::string& session, int64_t step,
                                  std::span<const std::string_view> names) {
    namespace Register = pb::RegisterGraphRequest;
    namespace Run = pb::RunGraphRequest;
    OwnedMessage graph(Register::Descriptor());
    graph->SetString(Register::kSessionHandle, session);
    graph->SetBool(Register::kCreateWorkerSessionCalled, !session.empty());
    ASSIGN_OR_RETURN(OwnedMessage def, ParseText(pb::GraphDef::Descriptor(), kGraph));
    for (Message* node : def->MutableMessages(pb::GraphDef::kNode)) {
      if (std::ranges::count(names, node->GetString(pb::NodeDef::kName)) == 0) continue;
      node->SetString(pb::NodeDef::kDevice, StrCat(kPs, "/device:CPU:0"));
      graph->Mutable(Register::kGraphDef)->Add(pb::GraphDef::kNode)->CopyFrom(*node);
    }
    ASSIGN_OR_RETURN(std::string registered, CallPs("RegisterGraph", *graph));
    ASSIGN_OR_RETURN(const OwnedMessage handle,
                     ParseMessage(pb::RegisterGraphResponse::Descriptor(), std::move(registered)));
    OwnedMessage run(Run::Descriptor());
    run->SetString(Run::kSessionHandle, session);
    run->SetBool(Run::kCreateWorkerSessionCalled, !session.empty());
    run->SetString(Run::kGraphHandle, handle->GetString(pb::RegisterGraphResponse::kGraphHandle));
    run->SetInt(Run::kStepId, step);
    return run;
  }

  // A RecvTensor of the second server's device to itself, of a step that nobody began.
  OwnedMessage RequestForNoValue(int64_t step) {
    OwnedMessage request(pb::RecvTensorRequest::Descriptor());
    request->SetInt(pb::RecvTensorRequest::kStepId, step);
    const Device& device = *servers_[1]->environment()->devices()[0];
    request->SetString(pb::RecvTensorRequest::kRendezvousKey,
                       RendezvousKey{.source = device.full_name(),
                                     .incarnation = device.incarnation(),
                                     .destination = device.full_name(),
                                     .edge = "never",
                                     .tag = 0}
                           .ToString());
    return request;
  }

  ClusterSpec cluster_;
  std::vector<std::unique_ptr<Server>> servers_;  // the master, the ps, the second worker
  std::unique_ptr<RpcChannel> ps_;
};

// Users A1: the deadline's error says which task waits, and for what.
TEST_P(ClusterFailures, ADeadlineSaysWhoWaitsWhere) {
  const auto session = NewSession();
  ASSERT_TRUE(Run(*session, "one:0", 60s).ok());
  const Status status = Run(*session, "after:0", 2s);
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(
      status.message(),
      AllOf(HasSubstr("2000 ms"), HasSubstr(StrCat(kPs, ": waiting: QueueDequeueV2 'take'")),
            HasSubstr("queue 'q'"), HasSubstr("/job:worker/replica:0/task:1: ")));
}

// Users A2: heartbeats pass, and nothing moves. So few of them that they cost less than a tenth of
// a processor under a sanitizer, too: more would pass for work.
TEST_P(ClusterFailures, AStuckStepIsEndedAndSaysWhoOwesWhom) {
  Start({.lost_after = 3000ms, .stuck_after = 2000ms});
  const auto session = NewSession();
  const Status status = Run(*session, "after:0", 60s);
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("stuck"), HasSubstr("QueueDequeueV2 'take'"),
                                      HasSubstr("asked for"), HasSubstr(kPs)));
}

// Users A3: a dump while the step is stuck names the blocked node and what it waits for.
TEST_P(ClusterFailures, ADumpNamesBlockedNodesAndWhoIsAsked) {
  const auto session = NewSession();
  std::thread stuck([&] { EXPECT_TRUE(Run(*session, "after:0", 60s).ok()); });
  const bool by_calls = GetParam() == ChannelUse::kNone;
  for (const char* words : {"QueueDequeueV2 'take'", "queue 'q'", "master /job:worker",
                            by_calls ? "is awaited" : "\"by\": \"channels\"",
                            by_calls ? "WorkerService/RunGraph" : "\"calls\": []"}) {
    EXPECT_THAT(DumpWith(1, {words}), HasSubstr(words));
  }
  const std::string asked = StrCat(" of ", kPs);  // who owes the value
  EXPECT_THAT(DumpWith(2, {asked}), HasSubstr(asked));
  if (!by_calls) {
    const std::string owed = "the end of its part of /job:worker/replica:0/task:1";
    EXPECT_THAT(DumpWith(0, {owed}), HasSubstr(owed));
  }
  const std::string alive = StrCat(kPs, " alive");
  EXPECT_THAT(DumpWith(0, {alive}), HasSubstr(alive));
  EXPECT_TRUE(
      session->Run({.timeout = 60s}, {}, {}, std::vector<std::string>{"put"}, nullptr, nullptr)
          .ok());
  stuck.join();
  EXPECT_EQ(DumpRemote("nowhere", 1s).status().code(), Code::kInvalidArgument);
}

// A value that is asked for while nobody begins the step: answered, not kept.
TEST_P(ClusterFailures, AnEarlyRequestExpires) {
  Start({.lost_after = 600ms, .early_for = 100ms});
  Result<std::unique_ptr<RpcChannel>> channel =
      RpcChannel::Connect(StrCat("127.0.0.1:", servers_[1]->port()));
  ASSERT_TRUE(channel.ok());
  const OwnedMessage request = RequestForNoValue(4711);
  for (const char* words : {"within 0.1 s", "step 4711 has ended"}) {  // and a mark stays
    const Status status =
        (*channel)
            ->Call("/tensorflow.WorkerService/RecvTensor", *Serialize(*request), {.timeout = 60s})
            .status();
    EXPECT_EQ(status.code(), Code::kAborted);
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
}

TEST_P(ClusterFailures, WhatGoesBetweenDevicesOfATaskIsGivenToNoOther) {
  servers_.clear();
  servers_ = StartTasks({{"worker", 0}, {"ps", 0}}, &cluster_, [&](size_t, ServerOptions* options) {
    options->environment.device_count = {{"FAKE", 2}};
    options->channels = GetParam();
  });
  ASSERT_EQ(servers_.size(), 2U);
  OwnedMessage request = RequestForNoValue(4713);
  const Device& source = *servers_[1]->environment()->devices()[1];
  ASSERT_THAT(source.full_name(), HasSubstr("FAKE:0"));
  request->SetString(pb::RecvTensorRequest::kRendezvousKey,
                     RendezvousKey{.source = source.full_name(),
                                   .incarnation = source.incarnation(),
                                   .destination = StrCat(kPs, "/device:FAKE:1"),
                                   .edge = "edge_0_x",
                                   .tag = 0}
                         .ToString());
  const Status status = CallPs("RecvTensor", *request).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("is for no other task"));
}

// A call that nobody waits for any more is not kept: its value might never come.
TEST_P(ClusterFailures, ACancelledRequestForAValueIsAnswered) {
  Result<std::unique_ptr<RpcChannel>> channel =
      RpcChannel::Connect(StrCat("127.0.0.1:", servers_[1]->port()));
  ASSERT_TRUE(channel.ok());
  const OwnedMessage request = RequestForNoValue(4712);
  CancellationManager cancellation;
  std::thread asks([&] {
    EXPECT_EQ((*channel)
                  ->Call("/tensorflow.WorkerService/RecvTensor", *Serialize(*request),
                         {.timeout = 60s, .cancellation = &cancellation})
                  .status()
                  .code(),
              Code::kCancelled);
  });
  EXPECT_THAT(DumpWith(1, {"WorkerService/RecvTensor"}), HasSubstr("WorkerService/RecvTensor"));
  cancellation.Cancel();
  asks.join();
  EXPECT_THAT(DumpWith(1, {"\"calls\": []"}), HasSubstr("\"calls\": []"));
}

// The last call of a partial run, of a master that gives it too little time.
TEST_P(ClusterFailures, APartialRunEndsWithItsLastCall) {
  namespace Run = pb::RunGraphRequest;
  const Result<OwnedMessage> run =
      RunOfNodes("", 4713, std::array<std::string_view, 2>{"q", "take"});
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  (*run)->SetBool(Run::kIsPartial, true);
  ASSERT_TRUE(CallPs("RunGraph", **run).ok());
  const char* const waits = "QueueDequeueV2 'take'";
  EXPECT_THAT(DumpWith(1, {waits}), HasSubstr(waits));
  (*run)->SetBool(Run::kIsLastPartialRun, true);
  EXPECT_EQ(CallPs("RunGraph", **run, 300ms).status().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(DumpWith(1, {"\"waiting\": []", "\"calls\": []"}),
              AllOf(HasSubstr("\"waiting\": []"), HasSubstr("\"calls\": []")));
}

// A master that begins a session and a step, and then says nothing more: not one heartbeat.
TEST_P(ClusterFailures, AMasterLostBeforeItsFirstHeartbeatLeavesNothing) {
  namespace Create = pb::CreateWorkerSessionRequest;
  OwnedMessage create(Create::Descriptor());
  create->SetString(Create::kSessionHandle, "0123456789abcdef");
  ASSERT_TRUE(AddHeartbeatRequest(
                  {.master = "/job:worker/replica:0/task:0", .sessions = {"0123456789abcdef"}},
                  create.get())
                  .ok());
  ASSERT_TRUE(CallPs("CreateWorkerSession", *create).ok());
  const Result<OwnedMessage> run =
      RunOfNodes("0123456789abcdef", 4715, std::array<std::string_view, 1>{"one"});
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  ASSERT_TRUE(CallPs("RunGraph", **run).ok());
  EXPECT_THAT(DumpWith(1, {"\"steps\": []", " lost, "}),
              AllOf(HasSubstr("\"steps\": []"), HasSubstr(" lost, ")));
}

INSTANTIATE_TEST_SUITE_P(Ways, ClusterFailures,
                         ::testing::Values(ChannelUse::kNone, ChannelUse::kSockets,
                                           ChannelUse::kTcp, ChannelUse::kAny));

TEST(ClusterHealthTest, LimitsAreChecked) {
  ServerOptions options;
  options.health.lost_after = 1ms;
  EXPECT_EQ(Server::Start(options, MakeRegistries()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
