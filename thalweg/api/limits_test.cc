// SPDX-License-Identifier: Apache-2.0
// Sizes that no test of one room sees: what a graph, a feed or a constant may ask for.
#include <gtest/gtest.h>

#include "thalweg/api/registries.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/session/session.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

struct Limits {
  explicit Limits(EnvironmentOptions options)
      : environment(*Environment::Create(std::move(options), MakeRegistries())),
        graph(std::make_shared<Graph>(environment->shared_ops())),
        b(graph.get()),
        session(*MakeLocalSession(environment, graph)) {}
  Result<Tensor> Run(Output fetch, Output feed = {}, const Tensor& value = {}) {
    RETURN_IF_ERROR(b.status());
    Signature signature{{}, {fetch}, {}};
    if (feed.node != nullptr) signature.feeds = {feed};
    Tensor out;
    RETURN_IF_ERROR(
        session->Run(RunOptions(), signature, {&value, signature.feeds.size()}, {&out, 1}));
    return out;
  }
  std::shared_ptr<Environment> environment;
  std::shared_ptr<Graph> graph;
  GraphBuilder b;
  std::unique_ptr<Session> session;
};

constexpr int64_t kGigabyte = int64_t{1} << 30;

TEST(LimitsTest, AFillOfTwentyGigabytesIsRefused) {
  for (const bool fed : {true, false}) {  // else folded, or tried to
    Limits world({.threads = 0, .memory_limit = 8 * kGigabyte});
    const Tensor size = Tensor::Vector<int64_t>({5, kGigabyte});
    const Output dims =
        fed ? world.b.Op("Placeholder", {}, {{"dtype", DType::kInt64}, {"shape", Shape{2}}})
            : world.b.Const(size);
    const Output huge = world.b.Op("Fill", {dims, world.b.Const(Tensor::Scalar(1.0f))});
    const Output sum = world.b.Op("Sum", {huge, world.b.Const(std::vector<int32_t>{0, 1})});
    const Result<Tensor> got = fed ? world.Run(sum, dims, size) : world.Run(sum);
    EXPECT_EQ(got.status().code(), Code::kResourceExhausted) << got.status().ToString();
    EXPECT_NE(got.status().message().find("Fill"), std::string_view::npos)
        << got.status().ToString();
    EXPECT_LT(world.environment->allocator()->Stats().bytes_in_use, kGigabyte);
  }
}

constexpr int kChain = kSanitized ? 100'000 : 1'000'000;  // a million would take 4 GB and minutes

// Import, gradients aside, everything that a step goes through; none may recurse.
TEST(LimitsTest, AChainOfAMillionNodesIsImportedAndRuns) {
  std::string bytes;
  {
    Limits world({.threads = 0});
    Output last =
        world.b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}}, "x");
    for (int i = 0; i < kChain; ++i) last = world.b.Op("Neg", {last}, {}, StrCat("n", i));
    ASSERT_TRUE(world.b.ok());
    Result<std::string> exported = ExportGraphDefBytes(*world.graph);
    ASSERT_TRUE(exported.ok());
    bytes = *std::move(exported);
  }
  Limits world({.threads = 0});
  const Status imported = ImportGraphDefBytes(bytes, *world.graph).status();
  ASSERT_TRUE(imported.ok()) << imported.ToString();
  const Output x{world.graph->FindNode("x"), 0};
  const Output end{world.graph->FindNode(StrCat("n", kChain - 1)), 0};
  ASSERT_NE(end.node, nullptr);
  const Result<Tensor> got = world.Run(end, x, Tensor::Scalar(3.0f));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->scalar<float>(), 3.0f);
}

}  // namespace
}  // namespace thalweg
