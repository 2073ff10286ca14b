// SPDX-License-Identifier: Apache-2.0
// Steps over tasks whose memory is short: values for which there is no shared memory pass all the
// same, and a value that its reader has no room for is an error of the step.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "thalweg/api/registries.h"
#include "thalweg/api/test_tasks.h"
#include "thalweg/cluster/client/remote_session.h"
#include "thalweg/cluster/server/server.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// One job makes three values of `n` integers; the other one adds their elements.
std::string ThreeValues(std::string_view maker, std::string_view reader) {
  std::string text = R"(
    node { name: "n" op: "Placeholder" device: "MAKER"
           attr { key: "dtype" value { type: DT_INT32 } } })";
  for (const char* each : {"1", "2", "3"}) {
    text += StrCat(R"(
      node { name: "value)",
                   each, R"(" op: "Const" device: "MAKER"
             attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: )",
                   each, R"( } } } }
      node { name: "made)",
                   each, R"(" op: "Fill" input: "n" input: "value)", each, R"(" device: "MAKER"
             attr { key: "T" value { type: DT_INT32 } } attr { key: "index_type" value { type: DT_INT32 } } })");
  }
  text += R"(
    node { name: "all" op: "ConcatV2" input: "made1" input: "made2" input: "made3" input: "axis"
           device: "READER" attr { key: "N" value { i: 3 } }
           attr { key: "T" value { type: DT_INT32 } } attr { key: "Tidx" value { type: DT_INT32 } } }
    node { name: "axis" op: "Const" device: "READER" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
    node { name: "sum" op: "Sum" input: "all" input: "axis" device: "READER"
           attr { key: "T" value { type: DT_INT32 } } attr { key: "Tidx" value { type: DT_INT32 } }
           attr { key: "keep_dims" value { b: false } } })";
  for (const auto& [name, job] : {std::pair("MAKER", maker), std::pair("READER", reader)}) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) {
      text.replace(at, std::strlen(name), StrCat("/job:", job));
    }
  }
  return text;
}

class ClusterMemory : public ::testing::TestWithParam<ChannelUse> {
 protected:
  // The worker is the master.
  void Start(int64_t worker_limit, int64_t ps_limit, const char* maker, const char* reader) {
    ClusterSpec cluster;
    servers_ =
        StartTasks({{"worker", 0}, {"ps", 0}}, &cluster, [&](size_t i, ServerOptions* options) {
          options->channels = GetParam();
          options->environment.memory_limit = i == 0 ? worker_limit : ps_limit;
        });
    ASSERT_EQ(servers_.size(), 2U);
    auto graph = std::make_shared<Graph>(servers_[0]->environment()->shared_ops());
    Result<OwnedMessage> def = ParseText(pb::GraphDef::Descriptor(), ThreeValues(maker, reader));
    ASSERT_TRUE(def.ok()) << def.status().ToString();
    const Status imported = ImportGraphDef(**def, *graph, {}).status();
    ASSERT_TRUE(imported.ok()) << imported.ToString();
    Result<std::shared_ptr<Session>> session =
        MakeRemoteSession(servers_[0]->environment(), graph, servers_[0]->target());
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    session_ = *std::move(session);
  }
  // The sum for values of that many integers.
  Result<int32_t> SumOf(int32_t n) {
    std::vector<Tensor> values;
    RETURN_IF_ERROR(session_->Run(
        {.timeout = 120s},
        std::vector<std::pair<std::string, Tensor>>{{"n:0", Tensor::Vector<int32_t>({n})}},
        std::vector<std::string>{"sum:0"}, {}, &values, nullptr));
    return values[0].scalar<int32_t>();
  }

  // For values of 40 MB; small ones pass before and afterwards.
  void ExpectNoRoom() {
    for (const int32_t n : {100'000, 10'000'000, 100'000}) {
      const Result<int32_t> sum = SumOf(n);
      if (n > 100'000) {
        EXPECT_EQ(sum.status().code(), Code::kResourceExhausted) << sum.status().ToString();
      } else {
        ASSERT_TRUE(sum.ok()) << sum.status().ToString();
        EXPECT_EQ(*sum, 6 * n);
      }
    }
  }

  std::vector<std::unique_ptr<Server>> servers_;
  std::shared_ptr<Session> session_;
};

// Three values of 12 MB each: half of their maker's memory, which it shares, has room for one.
TEST_P(ClusterMemory, ValuesPassThoughSharedMemoryIsFull) {
  Start(/*worker_limit=*/int64_t{1} << 30, /*ps_limit=*/40'000'000, "ps", "worker");
  for (int i = 0; i < 3; ++i) {
    const Result<int32_t> sum = SumOf(3'000'000);
    ASSERT_TRUE(sum.ok()) << sum.status().ToString();
    EXPECT_EQ(*sum, 18'000'000);
  }
}

TEST_P(ClusterMemory, AValueThatTheMasterHasNoRoomForEndsTheStep) {
  Start(/*worker_limit=*/20'000'000, /*ps_limit=*/int64_t{1} << 30, "ps", "worker");
  ExpectNoRoom();
}

TEST_P(ClusterMemory, AValueThatAWorkerHasNoRoomForEndsTheStep) {
  Start(/*worker_limit=*/int64_t{1} << 30, /*ps_limit=*/20'000'000, "worker", "ps");
  ExpectNoRoom();
}

INSTANTIATE_TEST_SUITE_P(Ways, ClusterMemory,
                         ::testing::Values(ChannelUse::kNone, ChannelUse::kSockets,
                                           ChannelUse::kMemory));

}  // namespace
}  // namespace thalweg
