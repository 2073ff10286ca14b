// SPDX-License-Identifier: Apache-2.0
// Distributed execution, by the labels of the papers: what crosses between the tasks of a cluster
// is counted by stand-ins that pass calls on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "thalweg/api/registries.h"
#include "thalweg/cluster/client/remote_session.h"
#include "thalweg/cluster/server/server.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/run_metadata_message.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// Stands where others look for a task: passes its calls on and counts them.
class StandIn {
 public:
  void Start() {
    Result<std::unique_ptr<RpcServer>> made = RpcServer::Start(
        {.address = "127.0.0.1:0"}, [this](std::shared_ptr<IncomingCall> call) { Pass(call); });
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    server_ = *std::move(made);
  }
  ~StandIn() { Stop(); }
  void Stop() {
    if (server_ != nullptr) server_->Stop(100ms);
    server_ = nullptr;
  }
  std::string address() const { return StrCat("127.0.0.1:", server_->port()); }
  void PassTo(int port) {
    Result<std::unique_ptr<RpcChannel>> made = RpcChannel::Connect(StrCat("127.0.0.1:", port));
    ASSERT_TRUE(made.ok());
    channel_ = *std::move(made);
  }
  // Since the last time, by method.
  std::map<std::string, int> TakeCounts() {
    MutexLock lock(mutex_);
    return std::exchange(counts_, {});
  }
  // The bytes of the tensors that others have got here since the last time.
  size_t TakeTensorBytes() {
    MutexLock lock(mutex_);
    return std::exchange(tensor_bytes_, 0);
  }

 private:
  void Pass(const std::shared_ptr<IncomingCall>& call) {
    const std::string method(call->method());
    {
      MutexLock lock(mutex_);
      ++counts_[method.substr(method.rfind('/') + 1)];
    }
    channel_->Call(method, call->request(), {.timeout = 60s},
                   [this, call, method](Result<std::string> answer) {
                     if (answer.ok() && method.ends_with("/RecvTensor")) {
                       MutexLock lock(mutex_);
                       tensor_bytes_ += answer->size();
                     }
                     call->Answer(std::move(answer));
                   });
  }

  std::unique_ptr<RpcChannel> channel_;
  Mutex mutex_;
  std::map<std::string, int> counts_ GUARDED_BY(mutex_);
  size_t tensor_bytes_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<RpcServer> server_;
};

// Worker 0, which is the master, and a ps; they reach each other through stand-ins.
class ClusterLabelsTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServers(1); }
  void StartServers(int devices) {
    to_worker_.Start();
    to_ps_.Start();
    for (const bool is_ps : {false, true}) {
      ServerOptions options;
      options.job = is_ps ? "ps" : "worker";
      options.environment.cpu_devices = devices;
      options.channels = ChannelUse::kNone;  // stand-ins pass calls on
      const std::string anywhere = "127.0.0.1:0";
      ASSERT_TRUE(options.cluster.Add("worker", 0, is_ps ? to_worker_.address() : anywhere).ok());
      ASSERT_TRUE(options.cluster.Add("ps", 0, is_ps ? anywhere : to_ps_.address()).ok());
      Result<std::unique_ptr<Server>> server = Server::Start(options, MakeRegistries());
      ASSERT_TRUE(server.ok()) << server.status().ToString();
      (is_ps ? ps_ : worker_) = *std::move(server);
    }
    to_worker_.PassTo(worker_->port());
    to_ps_.PassTo(ps_->port());
  }
  void TearDown() override {
    worker_->Stop();
    ps_->Stop();
    to_worker_.Stop();
    to_ps_.Stop();
  }

  std::shared_ptr<Session> NewSession(std::string_view graph_text, const std::string& config = "") {
    auto graph = std::make_shared<Graph>(worker_->environment()->shared_ops());
    const auto imported = ImportGraphDefText(graph_text, *graph);
    EXPECT_TRUE(imported.ok()) << imported.status().ToString();
    Result<std::shared_ptr<Session>> session = MakeRemoteSession(
        worker_->environment(), graph, worker_->target(), {.config = config, .timeout = 60s});
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    return *session;
  }

  static Result<std::vector<float>> Run(Session& session, const std::vector<std::string>& fetches,
                                        const std::vector<Session::NamedTensor>& feeds = {},
                                        const std::vector<std::string>& targets = {},
                                        const RunOptions& options = {},
                                        RunMetadata* metadata = nullptr) {
    std::vector<Tensor> values;
    RETURN_IF_ERROR(session.Run(options, feeds, fetches, targets, &values, metadata));
    std::vector<float> numbers;
    for (const Tensor& value : values) numbers.push_back(value.scalar<float>());
    return numbers;
  }

  StandIn to_worker_, to_ps_;
  std::unique_ptr<Server> worker_, ps_;
};

constexpr std::string_view kThreeReaders = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "p" op: "Neg" input: "x" device: "/job:ps" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "a" op: "Neg" input: "p" device: "/job:worker" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "b" op: "Abs" input: "p" device: "/job:worker" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "c" op: "Square" input: "p" device: "/job:worker" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "unused" op: "Exp" input: "x" device: "/job:ps" attr { key: "T" value { type: DT_FLOAT } } })";

TEST_F(ClusterLabelsTest, A3_2_2_ATensorCrossesOnceForAllItsReaders) {
  const auto session = NewSession(kThreeReaders);
  EXPECT_THAT(*Run(*session, {"a:0", "b:0", "c:0"}, {{"x:0", Tensor::Scalar(3.0f)}}),
              testing::ElementsAre(3, 3, 9));
  EXPECT_EQ(to_ps_.TakeCounts()["RecvTensor"], 1);
}

TEST_F(ClusterLabelsTest, A3_2_3_OneRunCallForATaskAndStep_B3_3d_PartsAreRegisteredOnce) {
  const auto session = NewSession(kThreeReaders);
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE(Run(*session, {"a:0"}, {{"x:0", Tensor::Scalar(3.0f)}}).ok());
  }
  std::map<std::string, int> counts = to_ps_.TakeCounts();
  EXPECT_EQ(counts["RegisterGraph"], 1);
  EXPECT_EQ(counts["RunGraph"], 5);
  EXPECT_EQ(counts["RecvTensor"], 5);
  EXPECT_TRUE(to_worker_.TakeCounts().empty());  // nothing goes the other way
}

TEST_F(ClusterLabelsTest, A2_8_OnlyWhatAStepNeedsGoesToATask) {
  const auto session = NewSession(kThreeReaders);
  RunMetadata metadata;
  ASSERT_TRUE(Run(*session, {"a:0"}, {{"x:0", Tensor::Scalar(3.0f)}}, {},
                  {.partition_graphs = true}, &metadata)
                  .ok());
  OwnedMessage told(pb::RunMetadata::Descriptor());
  ASSERT_TRUE(RunMetadataToMessage(metadata, told.get()).ok());
  std::set<std::string> names;
  EXPECT_EQ(told->Messages(pb::RunMetadata::kPartitionGraphs).size(), 2u);
  for (const Message* part : told->Messages(pb::RunMetadata::kPartitionGraphs)) {
    for (const Message* node : part->Messages(pb::GraphDef::kNode)) {
      names.emplace(node->GetString(pb::NodeDef::kName));
    }
  }
  EXPECT_THAT(names, IsSupersetOf({"p", "a"}));
  EXPECT_THAT(names, testing::Not(Contains("unused")));
  EXPECT_THAT(names, testing::Not(Contains("b")));
}

// The ps has the branch; the worker chooses and merges.
constexpr std::string_view kBranch = R"(
  node { name: "take" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "s" op: "Switch" input: "x" input: "take" device: "/job:worker"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "n" op: "Neg" input: "s:1" device: "/job:ps" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "q" op: "Square" input: "s" device: "/job:ps" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "m" op: "Merge" input: "n" input: "q" device: "/job:worker"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } })";

TEST_F(ClusterLabelsTest, B3_4e_DeadTokensCross) {
  const auto session = NewSession(kBranch);
  EXPECT_THAT(
      *Run(*session, {"m:0"}, {{"take:0", Tensor::Scalar(true)}, {"x:0", Tensor::Scalar(3.0f)}}),
      testing::ElementsAre(-3));
  EXPECT_THAT(
      *Run(*session, {"m:0"}, {{"take:0", Tensor::Scalar(false)}, {"x:0", Tensor::Scalar(3.0f)}}),
      testing::ElementsAre(9));
  EXPECT_EQ(to_ps_.TakeCounts()["RecvTensor"], 4);
}

constexpr std::string_view kVariable = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "v" op: "VariableV2" device: "/job:ps" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape {} } } }
  node { name: "set" op: "Assign" input: "v" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "add" op: "AssignAdd" input: "v" input: "x" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "use_locking" value { b: true } } })";

TEST_F(ClusterLabelsTest, A4_7_StateOfATaskIsSharedUnlessASessionIsIsolated) {
  const auto shared = NewSession(kVariable);
  ASSERT_TRUE(Run(*shared, {}, {{"x:0", Tensor::Scalar(7.0f)}}, {"set"}).ok());
  EXPECT_THAT(*Run(*NewSession(kVariable), {"v:0"}), testing::ElementsAre(7));
  OwnedMessage config(pb::ConfigProto::Descriptor());
  config->SetBool(pb::ConfigProto::kIsolateSessionState, true);
  const auto alone = NewSession(kVariable, *Serialize(*config));
  EXPECT_EQ(Run(*alone, {"v:0"}).status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(Run(*alone, {}, {{"x:0", Tensor::Scalar(8.0f)}}, {"set"}).ok());
  EXPECT_THAT(*Run(*alone, {"v:0"}), testing::ElementsAre(8));  // by another graph of the session
  EXPECT_THAT(*Run(*shared, {"v:0"}), testing::ElementsAre(7));
}

TEST_F(ClusterLabelsTest, A4_7_ResetEmptiesTheContainersOfAllTasks) {
  const auto session = NewSession(kVariable);
  ASSERT_TRUE(Run(*session, {}, {{"x:0", Tensor::Scalar(7.0f)}}, {"set"}).ok());
  ASSERT_TRUE(ResetRemote(worker_->target(), {}, 60s).ok());
  EXPECT_EQ(Run(*session, {"v:0"}).status().code(), Code::kAborted);
  EXPECT_EQ(Run(*NewSession(kVariable), {"v:0"}).status().code(), Code::kFailedPrecondition);
}

TEST_F(ClusterLabelsTest, B3_2_StepsRunSideBySide) {
  const auto session = NewSession(kVariable);
  ASSERT_TRUE(Run(*session, {}, {{"x:0", Tensor::Scalar(0.0f)}}, {"set"}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        EXPECT_TRUE(Run(*session, {}, {{"x:0", Tensor::Scalar(1.0f)}}, {"add"}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(*Run(*session, {"v:0"}), testing::ElementsAre(100));
}

TEST_F(ClusterLabelsTest, A4_3_AConstraintThatNobodyMeetsIsNamed) {
  std::string text(kThreeReaders);
  text.replace(text.find("/job:ps"), 7, "/job:gone");
  const Status status = Run(*NewSession(text), {"a:0"}, {{"x:0", Tensor::Scalar(3.0f)}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("/job:gone"));
  EXPECT_THAT(status.message(), HasSubstr("'p'"));
}

TEST_F(ClusterLabelsTest, A_9_2_ATraceHasTheNodesAndTransfersOfAllTasks) {
  const auto session = NewSession(kThreeReaders);
  RunMetadata metadata;
  const std::vector<Session::NamedTensor> feeds = {{"x:0", Tensor::Scalar(3.0f)}};
  ASSERT_TRUE(Run(*session, {"a:0"}, feeds, {}, {.trace = TraceLevel::kFull}, &metadata).ok());
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  std::set<std::string> seen;
  for (const DeviceStats& device : metadata.step_stats.devices) {
    for (const NodeStats& node : device.nodes) {
      seen.insert(StrCat(device.device, " ", node.node));
      if (node.node == "RecvTensor") {
        EXPECT_THAT(node.label, HasSubstr("[4B]"));
      }
    }
  }
  EXPECT_THAT(seen, IsSupersetOf({"/job:ps/replica:0/task:0/device:CPU:0 p",
                                  "/job:worker/replica:0/task:0/device:CPU:0 a",
                                  "/job:worker/replica:0/task:0/device:CPU:0 RecvTensor"}));
  to_ps_.TakeCounts();
  ASSERT_TRUE(Run(*session, {"a:0"}, feeds).ok());
  EXPECT_EQ(to_ps_.TakeCounts()["Logging"], 0);  // a step without a trace pays nothing
}

constexpr int64_t kLayers = 12, kLayerBytes = int64_t{1} << 20;  // 512 x 512 floats

// Products of the worker with matrices of the ps, one after the other; the first waits for `go`.
std::string LayersText() {
  std::string text = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "queue" op: "FIFOQueueV2" device: "/job:worker"
    attr { key: "component_types" value { list { type: DT_FLOAT } } }
    attr { key: "shapes" value { list { shape { } } } } }
  node { name: "go" op: "QueueEnqueueV2" input: "queue" input: "x" device: "/job:worker"
    attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "wait" op: "QueueDequeueV2" input: "queue" device: "/job:worker"
    attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "rows" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
    attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
                                         int_val: 512 int_val: 512 } } } }
  node { name: "first" op: "Fill" input: "rows" input: "wait" device: "/job:worker"
    attr { key: "T" value { type: DT_FLOAT } } })";
  std::string last = "first";
  for (int i = 0; i < kLayers; ++i) {
    text += StrCat("node { name: 'w", i, "' op: 'RandomUniform' input: 'rows' device: '/job:ps'",
                   " attr { key: 'T' value { type: DT_INT32 } }",
                   " attr { key: 'dtype' value { type: DT_FLOAT } } }\n");
    text += StrCat("node { name: 'h", i, "' op: 'MatMul' input: '", last, "' input: 'w", i,
                   "' device: '/job:worker' attr { key: 'T' value { type: DT_FLOAT } } }\n");
    last = StrCat("h", i);
  }
  return text;
}

TEST_F(ClusterLabelsTest, A5_2_ScheduledReceivesTakeLessMemory) {
  const auto used = [&] { return worker_->environment()->allocator()->Stats(); };
  const std::string last = StrCat("h", kLayers - 1);
  for (const bool scheduled : {true, false}) {
    OwnedMessage config(pb::ConfigProto::Descriptor());
    config->Mutable(pb::ConfigProto::kGraphOptions)
        ->SetBool(pb::GraphOptions::kEnableRecvScheduling, scheduled);
    const auto session = NewSession(LayersText(), *Serialize(*config));
    std::thread step([&] {
      const Status ran = Run(*session, {}, {}, {last}).status();
      EXPECT_TRUE(ran.ok()) << ran.ToString();
    });
    if (!scheduled) {  // all come, though nothing can be computed
      const auto until = std::chrono::steady_clock::now() + 60s;
      while (used().bytes_in_use < kLayers * kLayerBytes) {
        if (std::chrono::steady_clock::now() > until) break;
        std::this_thread::yield();
      }
    }
    const Status go = Run(*session, {}, {{"x:0", Tensor::Scalar(1.0f)}}, {"go"}).status();
    EXPECT_TRUE(go.ok()) << go.ToString();
    step.join();
    if (scheduled) {
      EXPECT_LT(used().peak_bytes_in_use, kLayers * kLayerBytes * 2 / 3);
    } else {
      EXPECT_GE(used().peak_bytes_in_use, kLayers * kLayerBytes);
    }
  }
}

// What came for `sent`, bfloat16 on its way: equal but for 2^-8, of subnormal numbers their
// spacing.
void ExpectRounded(float sent, float got) {
  if (std::isnan(sent)) {
    EXPECT_TRUE(std::isnan(got));
  } else if (std::isinf(got)) {
    EXPECT_EQ(std::signbit(sent), std::signbit(got));
    EXPECT_GE(std::abs(sent), 0x1.ffp+127f);
  } else {
    EXPECT_LE(std::abs(got - sent), std::max(std::abs(sent) * 0x1p-8f, 0x1p-134f)) << sent;
  }
}

TEST_F(ClusterLabelsTest, A5_5_FloatsCrossInSixteenBits) {
  constexpr size_t kFloats = 1 << 16;
  Tensor x = *Tensor::AllocateHost(DType::kFloat, Shape{kFloats});
  for (size_t i = 0; i < kFloats; ++i) {  // of every exponent
    x.mutable_data<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(i * 65537 + 12345));
  }
  const std::vector<Session::NamedTensor> feeds = {{"x:0", x}};
  const std::vector<std::string> fetches = {"a:0"};
  const std::string on("\x52\x02\x38\x01");  // graph_options { enable_bfloat16_sendrecv: true }
  for (const bool narrow : {false, true}) {
    const auto session = NewSession(kThreeReaders, narrow ? on : "");
    std::vector<Tensor> values;
    RunMetadata metadata;
    ASSERT_TRUE(
        session->Run({.trace = TraceLevel::kFull}, feeds, fetches, {}, &values, &metadata).ok());
    const size_t bytes = to_ps_.TakeTensorBytes();
    EXPECT_GE(bytes, (narrow ? 2 : 4) * kFloats);
    EXPECT_LE(bytes, (narrow ? 2 : 4) * kFloats + 200);
    ASSERT_TRUE(ReadStepStats(&metadata).ok());
    std::set<std::string> seen;
    for (const DeviceStats& device : metadata.step_stats.devices) {
      for (const NodeStats& node : device.nodes) seen.insert(node.node);
    }
    EXPECT_EQ(seen.contains("p/to_bfloat16"), narrow);
    for (size_t i = 0; i < kFloats; ++i) {
      const float sent = x.data<float>()[i];
      const float got = values[0].data<float>()[i];
      if (narrow) {
        ExpectRounded(sent, got);
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(sent), std::bit_cast<uint32_t>(got));
      }
    }
  }
}

// Many devices in each task, and all of them can be named.
class ManyDevicesTest : public ClusterLabelsTest {
 protected:
  void SetUp() override { StartServers(40); }
};

TEST_F(ManyDevicesTest, A3_2_NodesGoToAnyOfEightyDevices) {
  std::string text(kThreeReaders);
  text.replace(text.find("/job:ps"), 7, "/job:ps/device:CPU:39");
  const auto session = NewSession(text);
  RunMetadata metadata;
  EXPECT_THAT(*Run(*session, {"a:0"}, {{"x:0", Tensor::Scalar(3.0f)}}, {},
                   {.trace = TraceLevel::kFull}, &metadata),
              testing::ElementsAre(3));
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  std::set<std::string> devices;
  for (const DeviceStats& device : metadata.step_stats.devices) {
    for (const NodeStats& node : device.nodes) {
      if (node.node == "p") devices.insert(device.device);
    }
  }
  EXPECT_THAT(devices, testing::ElementsAre("/job:ps/replica:0/task:0/device:CPU:39"));
}

}  // namespace
}  // namespace thalweg
