// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/memory_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kHost = MemoryKind::kHost;
constexpr auto kDevice = MemoryKind::kDevice;

class Nothing : public Kernel {
 public:
  Status Compute(Context&) override { return OkStatus(); }
};

class NodeMemoryTest : public ::testing::Test {
 protected:
  Output Value(DType dtype) { return b.Op("Placeholder", {}, {{"dtype", dtype}}); }
  NodeMemory Of(const Node* node) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    const Result<NodeMemory> memory = NodeMemory::Of(*node, kernels, "NPU");
    EXPECT_TRUE(memory.ok()) << memory.status().ToString();
    return memory.ok() ? *memory : NodeMemory();
  }

  KernelRegistry kernels;
  Graph graph{std::make_shared<OpRegistry>()};
  GraphBuilder b{&graph};
};

TEST_F(NodeMemoryTest, TheRegistrationNamesArguments) {
  kernels.Add<Nothing>("Reshape", "NPU").HostMemory({"shape"});
  kernels.Add<Nothing>("ConcatV2", "NPU").HostMemory({"axis"});
  const NodeMemory reshape = Of(b.OpNode("Reshape", {Value(DType::kFloat), Value(DType::kInt32)}));
  EXPECT_THAT(reshape.inputs, ElementsAre(kDevice, kHost));
  EXPECT_THAT(reshape.outputs, ElementsAre(kDevice));
  const NodeMemory concat =
      Of(b.OpNode("ConcatV2", {Value(DType::kFloat), Value(DType::kFloat), Value(DType::kInt32)}));
  EXPECT_THAT(concat.inputs, ElementsAre(kDevice, kDevice, kHost));
}

TEST_F(NodeMemoryTest, ObjectsAreOnTheHost) {
  kernels.Add<Nothing>("Identity", "NPU");
  EXPECT_THAT(Of(b.OpNode("Identity", {Value(DType::kString)})).outputs, ElementsAre(kHost));
  EXPECT_THAT(Of(b.OpNode("Identity", {Value(DType::kInt64)})).outputs, ElementsAre(kDevice));
}

TEST_F(NodeMemoryTest, ControlFlowHandsOnAndDecidesOnTheHost) {
  Node* const sides = b.OpNode("Switch", {Value(DType::kFloat), Value(DType::kBool)});
  EXPECT_THAT(Of(sides).inputs, ElementsAre(kDevice, kHost));
  EXPECT_THAT(Of(sides).outputs, ElementsAre(kDevice, kDevice));
  EXPECT_THAT(Of(b.OpNode("Merge", {{sides, 0}, {sides, 1}})).outputs, ElementsAre(kDevice, kHost));
  EXPECT_THAT(Of(b.OpNode("LoopCond", {Value(DType::kBool)})).inputs, ElementsAre(kHost));
}

TEST_F(NodeMemoryTest, AnArgumentThatIsNotThereIsNamed) {
  kernels.Add<Nothing>("Neg", "NPU").HostMemory({"shape"});
  const Node* const node = b.OpNode("Neg", {Value(DType::kFloat)});
  const Result<NodeMemory> memory = NodeMemory::Of(*node, kernels, "NPU");
  EXPECT_THAT(memory.status().message(), HasSubstr("has argument 'shape' in host memory"));
}

}  // namespace
}  // namespace thalweg
