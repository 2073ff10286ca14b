// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <set>
#include <thread>

#include "thalweg/api/registries.h"
#include "thalweg/api/test_tasks.h"
#include "thalweg/api/trace.h"
#include "thalweg/cluster/client/remote_recording.h"
#include "thalweg/cluster/debug/placement_question.h"
#include "thalweg/cluster/master/master.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

OwnedMessage FromText(const MessageDescriptor& type, std::string_view text) {
  Result<OwnedMessage> message = ParseText(type, text);
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  return *std::move(message);
}

// y = -x, and a variable `v` with its steps.
constexpr std::string_view kGraph = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape {} } } }
  node { name: "set" op: "Assign" input: "v" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "q" op: "FIFOQueueV2"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "take" op: "QueueDequeueV2" input: "q"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } })";

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Server>> server = Server::Start({}, MakeRegistries());
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
    Result<std::unique_ptr<RpcChannel>> channel =
        RpcChannel::Connect(StrCat("127.0.0.1:", server_->port()));
    ASSERT_TRUE(channel.ok()) << channel.status().ToString();
    channel_ = *std::move(channel);
  }

  Result<OwnedMessage> Call(const std::string& method, const Message& request,
                            const MessageDescriptor& response,
                            const RpcCallOptions& options = {.timeout = 60s}) {
    ASSIGN_OR_RETURN(std::string bytes, Serialize(request));
    ASSIGN_OR_RETURN(std::string answer,
                     channel_->Call("/tensorflow.MasterService/" + method, bytes, options));
    return ParseMessage(response, std::move(answer));
  }

  std::string NewSession(std::string_view graph = kGraph) {
    OwnedMessage request(pb::CreateSessionRequest::Descriptor());
    request->Mutable(pb::CreateSessionRequest::kGraphDef)
        ->CopyFrom(*FromText(pb::GraphDef::Descriptor(), graph));
    const Result<OwnedMessage> response =
        Call("CreateSession", *request, pb::CreateSessionResponse::Descriptor());
    EXPECT_TRUE(response.ok()) << response.status().ToString();
    if (!response.ok()) return "";
    return std::string((*response)->GetString(pb::CreateSessionResponse::kSessionHandle));
  }

  // A step that feeds x when `fed`, and gives the first fetch.
  Result<float> Step(const std::string& session, std::optional<float> x,
                     const std::vector<std::string>& fetches,
                     const std::vector<std::string>& targets = {},
                     const RpcCallOptions& options = {.timeout = 60s}) {
    namespace Request = pb::RunStepRequest;
    OwnedMessage request(Request::Descriptor());
    request->SetString(Request::kSessionHandle, session);
    request->SetBool(Request::kStoreErrorsInResponseBody, true);
    if (x.has_value()) {
      Message* const feed = request->Add(Request::kFeed);
      feed->SetString(pb::NamedTensorProto::kName, "x:0");
      Message* const value = feed->Mutable(pb::NamedTensorProto::kTensor);
      value->SetInt(pb::TensorProto::kDtype, pb::DataType::DT_FLOAT);
      value->Mutable(pb::TensorProto::kTensorShape);
      value->AddFloat(pb::TensorProto::kFloatVal, *x);
    }
    for (const std::string& name : fetches) request->AddString(Request::kFetch, name);
    for (const std::string& name : targets) request->AddString(Request::kTarget, name);
    ASSIGN_OR_RETURN(const OwnedMessage response,
                     Call("RunStep", *request, pb::RunStepResponse::Descriptor(), options));
    if (const int64_t code = response->GetInt(pb::RunStepResponse::kStatusCode); code != 0) {
      return Status(static_cast<Code>(code),
                    std::string(response->GetString(pb::RunStepResponse::kStatusErrorMessage)));
    }
    if (fetches.empty()) return 0.0F;
    const auto tensors = response->Messages(pb::RunStepResponse::kTensor);
    if (tensors.empty()) return Internal("the answer has no tensor");
    ASSIGN_OR_RETURN(const Tensor value,
                     TensorFromProto(tensors[0]->GetMessage(pb::NamedTensorProto::kTensor)));
    return value.scalar<float>();
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<RpcChannel> channel_;
};

TEST_F(ServerTest, RunsStepsOfASession) {
  const std::string session = NewSession();
  EXPECT_EQ(session.size(), 16);
  const Result<float> y = Step(session, 3, {"y:0"});
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_EQ(*y, -3);
}

TEST_F(ServerTest, VariablesBelongToTheTask) {
  const std::string first = NewSession();
  ASSERT_TRUE(Step(first, 7, {}, {"set"}).ok());
  EXPECT_EQ(*Step(NewSession(), std::nullopt, {"v:0"}), 7);
}

TEST_F(ServerTest, AGraphIsExtendedByNodesThatReadIt) {
  const std::string session = NewSession();
  namespace Request = pb::ExtendSessionRequest;
  OwnedMessage request(Request::Descriptor());
  request->SetString(Request::kSessionHandle, session);
  request->Mutable(Request::kGraphDef)
      ->CopyFrom(*FromText(
          pb::GraphDef::Descriptor(),
          R"(node { name: "z" op: "Neg" input: "y" input: "^x" attr { key: "T" value { type: DT_FLOAT } } })"));
  const Result<OwnedMessage> response =
      Call("ExtendSession", *request, pb::ExtendSessionResponse::Descriptor());
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ((*response)->GetInt(pb::ExtendSessionResponse::kNewGraphVersion), 1);
  EXPECT_EQ(*Step(session, 4, {"z:0"}), 4);
  // A client that does not know of it is told so.
  const Result<OwnedMessage> stale =
      Call("ExtendSession", *request, pb::ExtendSessionResponse::Descriptor());
  EXPECT_EQ(stale.status().code(), Code::kAborted);
}

TEST_F(ServerTest, ErrorsOfAStepComeInTheAnswer) {
  const std::string session = NewSession();
  EXPECT_EQ(Step(session, std::nullopt, {"y:0"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Step(session, std::nullopt, {"nowhere:0"}).status().code(), Code::kNotFound);
  EXPECT_EQ(Step(session, std::nullopt, {"v:0"}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Step("0123456789abcdef", 1, {"y:0"}).status().code(), Code::kAborted);
  EXPECT_EQ(*Step(session, 1, {"y:0"}), -1);  // and the session lives
}

TEST_F(ServerTest, AStepEndsWithTheDeadlineOfItsCall) {
  const std::string session = NewSession();
  const Result<float> taken =
      Step(session, std::nullopt, {"take:0"}, {}, {.timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(taken.status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(*Step(session, 1, {"y:0"}), -1);
}

// A call may have less time left than its options give the step: some went on the way.
TEST(MasterDeadlineTest, AnErrorSaysWhatTheOptionsAskedFor) {
  const auto environment = *Environment::Create({.threads = 1}, MakeRegistries());
  Master master(
      environment,
      [&](std::shared_ptr<Graph> graph, const Message&,
          const MasterCall&) -> Result<Master::MadeSession> {
        ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                         MakeLocalSession(environment, std::move(graph)));
        return Master::MadeSession{.session = std::move(session)};
      },
      [](const auto&) { return OkStatus(); });
  OwnedMessage create(pb::CreateSessionRequest::Descriptor());
  create->Mutable(pb::CreateSessionRequest::kGraphDef)
      ->CopyFrom(*FromText(pb::GraphDef::Descriptor(), kGraph));
  const Result<OwnedMessage> session = master.Call("CreateSession", *create, {});
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  OwnedMessage run(pb::RunStepRequest::Descriptor());
  run->SetString(pb::RunStepRequest::kSessionHandle,
                 (*session)->GetString(pb::CreateSessionResponse::kSessionHandle));
  run->AddString(pb::RunStepRequest::kFetch, "take:0");
  run->Mutable(pb::RunStepRequest::kOptions)->SetInt(pb::RunOptions::kTimeoutInMs, 30'000);
  const Status late =
      master.Call("RunStep", *run, {.timeout = std::chrono::milliseconds(20)}).status();
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("did not end within 30000 ms"));
}

TEST_F(ServerTest, ACancelledCallEndsItsStep) {
  const std::string session = NewSession();
  CancellationManager cancellation;
  std::thread canceller([&] { cancellation.Cancel(Cancelled("enough")); });
  const Result<float> taken =
      Step(session, std::nullopt, {"take:0"}, {}, {.cancellation = &cancellation});
  canceller.join();
  EXPECT_EQ(taken.status().code(), Code::kCancelled);
}

TEST_F(ServerTest, AClosedSessionIsGone) {
  const std::string session = NewSession();
  OwnedMessage request(pb::CloseSessionRequest::Descriptor());
  request->SetString(pb::CloseSessionRequest::kSessionHandle, session);
  ASSERT_TRUE(Call("CloseSession", *request, pb::CloseSessionResponse::Descriptor()).ok());
  EXPECT_EQ(Step(session, 1, {"y:0"}).status().code(), Code::kAborted);
  EXPECT_EQ(Call("CloseSession", *request, pb::CloseSessionResponse::Descriptor()).status().code(),
            Code::kAborted);
}

TEST_F(ServerTest, ResetDropsVariablesAndSessions) {
  const std::string session = NewSession();
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
  const OwnedMessage request(pb::ResetRequest::Descriptor());
  ASSERT_TRUE(Call("Reset", *request, pb::ResetResponse::Descriptor()).ok());
  EXPECT_EQ(Step(session, 1, {"y:0"}).status().code(), Code::kAborted);
  EXPECT_EQ(Step(NewSession(), std::nullopt, {"v:0"}).status().code(), Code::kFailedPrecondition);
}

TEST_F(ServerTest, CallablesRunByHandle) {
  const std::string session = NewSession();
  OwnedMessage make(pb::MakeCallableRequest::Descriptor());
  make->SetString(pb::MakeCallableRequest::kSessionHandle, session);
  Message* const options = make->Mutable(pb::MakeCallableRequest::kOptions);
  options->AddString(pb::CallableOptions::kFeed, "x:0");
  options->AddString(pb::CallableOptions::kFetch, "y:0");
  const Result<OwnedMessage> made =
      Call("MakeCallable", *make, pb::MakeCallableResponse::Descriptor());
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  OwnedMessage run(pb::RunCallableRequest::Descriptor());
  run->SetString(pb::RunCallableRequest::kSessionHandle, session);
  run->SetInt(pb::RunCallableRequest::kHandle, (*made)->GetInt(pb::MakeCallableResponse::kHandle));
  Message* const feed = run->Add(pb::RunCallableRequest::kFeed);
  feed->SetInt(pb::TensorProto::kDtype, pb::DataType::DT_FLOAT);
  feed->AddFloat(pb::TensorProto::kFloatVal, 5);
  const Result<OwnedMessage> ran = Call("RunCallable", *run, pb::RunCallableResponse::Descriptor());
  ASSERT_TRUE(ran.ok()) << ran.status().ToString();
  const Result<Tensor> y = TensorFromProto(*(*ran)->Messages(pb::RunCallableResponse::kFetch)[0]);
  EXPECT_EQ(y->scalar<float>(), -5);
  run->SetInt(pb::RunCallableRequest::kHandle, 99);
  EXPECT_EQ(Call("RunCallable", *run, pb::RunCallableResponse::Descriptor()).status().code(),
            Code::kInvalidArgument);
}

TEST_F(ServerTest, AProgramInCppRecordsItsSteps) {
  const std::string session = NewSession();
  std::optional<tw::Result<tw::Recording>> recording;
  std::thread recorder([&] { recording = tw::Recording::Of(server_->target()); });
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (server_->num_recorders() == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(*Step(session, 7, {"y:0"}), -7);
  recorder.join();
  ASSERT_TRUE(recording->ok()) << recording->status().message();
  EXPECT_THAT(recording->value().Report().OrThrow(), HasSubstr(session));
  const std::vector<std::string> steps = recording->value().Steps();
  ASSERT_EQ(steps.size(), 1U);
  const Result<OwnedMessage> metadata = ParseMessage(pb::RunMetadata::Descriptor(), steps[0]);
  ASSERT_TRUE(metadata.ok()) << metadata.status().ToString();
  EXPECT_GT((*metadata)->GetMessage(pb::RunMetadata::kStepStats).Size(pb::StepStats::kDevStats),
            0U);
}

TEST(RecordingTest, OfNobodyIsAnError) {
  EXPECT_THAT(tw::Recording::Of("grpc://127.0.0.1:1").status().message(), HasSubstr("127.0.0.1:1"));
}

TEST_F(ServerTest, TellsItsDevices) {
  const OwnedMessage request(pb::ListDevicesRequest::Descriptor());
  const Result<OwnedMessage> response =
      Call("ListDevices", *request, pb::ListDevicesResponse::Descriptor());
  ASSERT_TRUE(response.ok());
  const auto devices = (*response)->Messages(pb::ListDevicesResponse::kLocalDevice);
  ASSERT_EQ(devices.size(), 1);
  EXPECT_EQ(devices[0]->GetString(pb::DeviceAttributes::kName),
            "/job:local/replica:0/task:0/device:CPU:0");
  EXPECT_NE(devices[0]->GetUint(pb::DeviceAttributes::kIncarnation), 0);
}

TEST_F(ServerTest, GarbageAndUnknownMethodsAreErrors) {
  const RpcCallOptions options = {.timeout = 60s};
  const auto code = [&](const std::string& method, const std::string& bytes) {
    return channel_->Call(method, bytes, options).status().code();
  };
  EXPECT_EQ(code("/tensorflow.MasterService/RunStep", "\xff\xff\xff"), Code::kInternal);
  EXPECT_EQ(code("/tensorflow.MasterService/Dance", ""), Code::kUnimplemented);
  EXPECT_EQ(code("/grpc.health.v1.Health/Check", ""), Code::kUnimplemented);
  EXPECT_EQ(code("/tensorflow.grpc.MasterService/ListDevices", ""), Code::kOk);
  const std::string explain(kExplainPlacementMethod);
  for (const std::string& bytes :
       {std::string("\xff\xff\xff"), std::string(), ToBytes({.session = "", .node = "y"}),
        ToBytes({.session = "s", .node = ""})}) {
    EXPECT_EQ(code(explain, bytes), Code::kInvalidArgument);
  }
  EXPECT_EQ(code(explain, ToBytes({.session = "s", .node = "y"})), Code::kAborted);
}

TEST_F(ServerTest, StopEndsStepsThatWait) {
  const std::string session = NewSession();
  std::thread stopper([&] { server_->Stop(); });
  const Result<float> taken = Step(session, std::nullopt, {"take:0"});
  stopper.join();
  EXPECT_FALSE(taken.ok());
  EXPECT_TRUE(server_->Join(Deadline::Never()));
}

TEST_F(ServerTest, APortIsTakenOnce) {
  ServerOptions options;
  ASSERT_TRUE(options.cluster.Add("local", 0, StrCat("127.0.0.1:", server_->port())).ok());
  const Result<std::unique_ptr<Server>> second = Server::Start(options, MakeRegistries());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  server_->Stop();
  EXPECT_TRUE(Server::Start(options, MakeRegistries()).ok());
}

TEST_F(ServerTest, ListensOnLoopbackUnlessToldOtherwise) {
  ServerOptions options;
  ASSERT_TRUE(options.cluster.Add("local", 0, "0.0.0.0:0").ok());
  const Result<std::unique_ptr<Server>> refused = Server::Start(options, MakeRegistries());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("insecure"));
  options.insecure = true;
  EXPECT_TRUE(Server::Start(options, MakeRegistries()).ok());
}

TEST_F(ServerTest, ATaskMustBeOfItsCluster) {
  ServerOptions options;
  ASSERT_TRUE(options.cluster.Add("ps", 0, "127.0.0.1:0").ok());
  options.job = "worker";
  const Result<std::unique_ptr<Server>> refused = Server::Start(options, MakeRegistries());
  EXPECT_EQ(refused.status().code(), Code::kNotFound);
  EXPECT_THAT(refused.status().message(), HasSubstr("ps: 0"));
}

// ---- three tasks: a ps and two workers ----
constexpr std::string_view kSpread = R"(
  node { name: "x" op: "Placeholder" device: "/job:worker/task:1"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "v" op: "VariableV2" device: "/job:ps"
         attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } }
  node { name: "set" op: "Assign" input: "v" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "y" op: "Neg" input: "v" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "z" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "q" op: "FIFOQueueV2" device: "/job:ps"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "take" op: "QueueDequeueV2" input: "q" device: "/job:ps"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "after" op: "Neg" input: "take" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "check" op: "CheckNumerics" input: "x" device: "/job:ps"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "message" value { s: "bad" } } }
  node { name: "both" op: "Add" input: "check" input: "after" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "sent" op: "Neg" input: "x" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "refused" op: "CheckNumerics" input: "sent" device: "/job:ps"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "message" value { s: "bad" } } }
  node { name: "never" op: "Add" input: "refused" input: "after" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } })";

class ClusterTest : public ServerTest, public ::testing::WithParamInterface<ChannelUse> {
 protected:
  void SetUp() override {
    std::vector<std::unique_ptr<Server>> servers =
        StartTasks({{"worker", 0}, {"ps", 0}, {"worker", 1}}, &cluster_,
                   [](size_t, ServerOptions* options) { options->channels = GetParam(); });
    ASSERT_EQ(servers.size(), 3U);
    server_ = std::move(servers[0]);
    others_[0] = std::move(servers[1]);
    others_[1] = std::move(servers[2]);
    Result<std::unique_ptr<RpcChannel>> channel =
        RpcChannel::Connect(StrCat("127.0.0.1:", server_->port()));
    ASSERT_TRUE(channel.ok());
    channel_ = *std::move(channel);
  }

  ClusterSpec cluster_;
  std::unique_ptr<Server> others_[2];  // the ps, the second worker
};

TEST_P(ClusterTest, AStepSpansTasks) {
  const std::string session = NewSession(kSpread);
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
  EXPECT_EQ(*Step(session, std::nullopt, {"z:0"}), 7);
  EXPECT_EQ(*Step(session, std::nullopt, {"y:0"}), -7);
  EXPECT_EQ(*Step(NewSession(kSpread), std::nullopt, {"v:0"}), 7);  // the state is the ps's
  EXPECT_EQ(server_->num_channel_steps(), GetParam() == ChannelUse::kNone ? 0U : 4U);
}

// "DEVICE NODE" of each that a RunMetadata message tells of.
std::set<std::string> NodesOf(const Message& metadata) {
  std::set<std::string> told;
  for (const Message* device :
       metadata.GetMessage(pb::RunMetadata::kStepStats).Messages(pb::StepStats::kDevStats)) {
    for (const Message* node : device->Messages(pb::DeviceStepStats::kNodeStats)) {
      told.insert(StrCat(device->GetString(pb::DeviceStepStats::kDevice), " ",
                         node->GetString(pb::NodeExecStats::kNodeName)));
    }
  }
  return told;
}

TEST_P(ClusterTest, ATracedStepIsRunAsAnyOther) {
  const std::string session = NewSession(kSpread);
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
  OwnedMessage request(pb::RunStepRequest::Descriptor());
  request->SetString(pb::RunStepRequest::kSessionHandle, session);
  request->AddString(pb::RunStepRequest::kFetch, "z:0");
  request->Mutable(pb::RunStepRequest::kOptions)
      ->SetInt(pb::RunOptions::kTraceLevel, pb::RunOptions::TraceLevel::FULL_TRACE);
  const Result<OwnedMessage> response =
      Call("RunStep", *request, pb::RunStepResponse::Descriptor());
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_THAT(NodesOf((*response)->GetMessage(pb::RunStepResponse::kMetadata)),
              ::testing::IsSupersetOf({"/job:ps/replica:0/task:0/device:CPU:0 v",
                                       "/job:worker/replica:0/task:1/device:CPU:0 y",
                                       "/job:worker/replica:0/task:1/device:CPU:0 RecvTensor",
                                       "/job:worker/replica:0/task:0/device:CPU:0 z",
                                       "/job:worker/replica:0/task:0/device:CPU:0 RecvTensor"}));
  EXPECT_EQ(server_->num_channel_steps(), GetParam() == ChannelUse::kNone ? 0U : 2U);
}

// Nothing goes to it and nothing comes back but that it has run.
TEST_P(ClusterTest, APartMayHaveNoEdges) {
  const std::string session = NewSession(kSpread);
  const Result<float> ran = Step(session, std::nullopt, {}, {"q"});
  EXPECT_TRUE(ran.ok()) << ran.status().ToString();
  EXPECT_EQ(server_->num_channel_steps(), GetParam() == ChannelUse::kNone ? 0U : 1U);
}

INSTANTIATE_TEST_SUITE_P(AllUses, ClusterTest,
                         ::testing::Values(ChannelUse::kNone, ChannelUse::kSockets,
                                           ChannelUse::kMemory, ChannelUse::kTcp,
                                           ChannelUse::kAny));

// A task that was told to use no channels is driven in TensorFlow's way by one that would.
TEST_P(ClusterTest, WhoHasNoChannelsIsCalled) {
  others_[0]->Stop();
  ServerOptions options;
  options.cluster = cluster_;
  options.job = "ps";
  options.channels = ChannelUse::kNone;
  Result<std::unique_ptr<Server>> again = Server::Start(options, MakeRegistries());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  const std::string session = NewSession(kSpread);
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
  EXPECT_EQ(*Step(session, std::nullopt, {"z:0"}), 7);
  EXPECT_EQ(server_->num_channel_steps(), 0U);
}

TEST_P(ClusterTest, AnErrorNamesItsTaskAndEndsTheStepEverywhere) {
  const std::string session = NewSession(kSpread);
  // The other part waits for a queue that nobody fills.
  const Result<float> both = Step(session, std::numeric_limits<float>::quiet_NaN(), {"both:0"});
  EXPECT_EQ(both.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(both.status().message(), HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_THAT(both.status().message(), HasSubstr("'check'"));
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
}

TEST_P(ClusterTest, AFailingStepIsRecordedOnAllItsTasks) {
  const std::string session = NewSession(kSpread);
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
  Result<Recording> recording = Internal("it has not ended");
  std::thread recorder(
      [&] { recording = RecordRemote(server_->target(), {.failing = true}, nullptr); });
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (server_->num_recorders() == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(*Step(session, std::nullopt, {"z:0"}), 7);
  const Result<float> never = Step(session, std::numeric_limits<float>::quiet_NaN(), {"never:0"});
  recorder.join();
  ASSERT_TRUE(recording.ok()) << recording.status().ToString();
  EXPECT_EQ(recording->seen, 2);
  ASSERT_EQ(recording->steps.size(), 1U);
  const KeptStep& step = recording->steps[0];
  EXPECT_EQ(step.session, session);
  EXPECT_EQ(step.status.code(), never.status().code());
  EXPECT_EQ(step.status.message(), never.status().message());
  const Result<OwnedMessage> metadata = ParseMessage(pb::RunMetadata::Descriptor(), *step.metadata);
  ASSERT_TRUE(metadata.ok()) << metadata.status().ToString();
  const std::set<std::string> ran = NodesOf(**metadata);
  EXPECT_THAT(ran, ::testing::Not(::testing::Contains(::testing::EndsWith(" never"))));
  // Also of the part that the other's error has ended: it waits for a value that never comes.
  EXPECT_TRUE(step.silent.empty()) << step.silent.front();
  for (const std::string node : {"/job:ps/replica:0/task:0/device:CPU:0 refused",
                                 "/job:worker/replica:0/task:1/device:CPU:0 sent"}) {
    EXPECT_THAT(ran, ::testing::Contains(node));
  }
  EXPECT_GE((*metadata)->Size(pb::RunMetadata::kPartitionGraphs), 2U);
}

TEST_P(ClusterTest, ADeadlineEndsAStepOnEveryTask) {
  const std::string session = NewSession(kSpread);
  const Result<float> after =
      Step(session, std::nullopt, {"after:0"}, {}, {.timeout = std::chrono::milliseconds(100)});
  EXPECT_EQ(after.status().code(), Code::kDeadlineExceeded);
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
}

TEST_P(ClusterTest, AStepEndsWhenATaskStops) {
  const std::string session = NewSession(kSpread);
  std::thread stopper([&] { others_[0]->Stop(); });
  const Result<float> after = Step(session, std::nullopt, {"after:0"});
  stopper.join();
  EXPECT_FALSE(after.ok());
  EXPECT_FALSE(Step(session, 7, {}, {"set"}).ok());  // no hang either
}

TEST_P(ClusterTest, ARestartedTaskIsNotTakenForTheOldOne) {
  const std::string session = NewSession(kSpread);
  ASSERT_TRUE(Step(session, 7, {}, {"set"}).ok());
  others_[0]->Stop();
  ServerOptions options;
  options.cluster = cluster_;
  options.job = "ps";
  options.channels = GetParam();
  Result<std::unique_ptr<Server>> again = Server::Start(options, MakeRegistries());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  const Status old = Step(session, std::nullopt, {"v:0"}).status();
  EXPECT_THAT(old.code(), testing::AnyOf(Code::kAborted, Code::kUnavailable));
  const Status fresh = Step(NewSession(kSpread), std::nullopt, {"v:0"}).status();
  EXPECT_EQ(fresh.code(), Code::kFailedPrecondition);  // state is gone, and said to be so
}

TEST_P(ClusterTest, MissingTasksAreNamed) {
  others_[0]->Stop();
  OwnedMessage request(pb::CreateSessionRequest::Descriptor());
  request->Mutable(pb::CreateSessionRequest::kConfig)
      ->SetInt(pb::ConfigProto::kOperationTimeoutInMs, 200);
  const Result<OwnedMessage> response =
      Call("CreateSession", *request, pb::CreateSessionResponse::Descriptor());
  EXPECT_EQ(response.status().code(), Code::kUnavailable);
  EXPECT_THAT(response.status().message(), HasSubstr("/job:ps/replica:0/task:0"));
  // A session that leaves the task out does not need it.
  request->Mutable(pb::CreateSessionRequest::kConfig)
      ->SetInt(pb::ConfigProto::kOperationTimeoutInMs, 60'000);
  request->Mutable(pb::CreateSessionRequest::kConfig)
      ->AddString(pb::ConfigProto::kDeviceFilters, "/job:worker");
  EXPECT_TRUE(Call("CreateSession", *request, pb::CreateSessionResponse::Descriptor()).ok());
}

}  // namespace
}  // namespace thalweg
