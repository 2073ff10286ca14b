// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/queue/test_queue_calls.h"
#include "thalweg/testing/graph_runner.h"

namespace thalweg {
namespace {

const std::vector<DType> kInts = {DType::kInt32};
using Shapes = std::vector<PartialShape>;

Status Made(std::string_view op, AttrMap attrs) {
  attrs.Set("component_types", kInts);
  return KernelCall(op, {}, std::move(attrs)).Run();
}

TEST(QueueHandleTest, RefusesWhatNoQueueCanBe) {
  const auto words = [](std::string_view op, AttrMap attrs) {
    const Status status = Made(op, std::move(attrs));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    const std::string_view message = status.message();
    return std::string(message.substr(0, message.find("\n")));  // before the node
  };
  EXPECT_EQ(words("FIFOQueueV2", {{"shapes", Shapes{PartialShape{-1}}}}),
            "Shape [?] is not fully defined");
  EXPECT_EQ(words("FIFOQueueV2", {{"shapes", Shapes{PartialShape{1}, PartialShape{2}}}}),
            "Different number of component types.  Types: int32, Shapes: [[1],[2]]");
  EXPECT_EQ(words("PaddingFIFOQueueV2", {{"shapes", Shapes{PartialShape()}}}),
            "shape <unknown> must have known rank.");
  EXPECT_EQ(words("PaddingFIFOQueueV2", {}),
            "Shapes must be provided for all components, but received 1 dtypes and 0 shapes.");
  EXPECT_EQ(words("RandomShuffleQueueV2", {{"capacity", 3}, {"min_after_dequeue", 3}}),
            "min_after_dequeue 3 must be < capacity 3");
  EXPECT_EQ(words("RandomShuffleQueueV2", {{"min_after_dequeue", -1}}),
            "min_after_dequeue -1 must be >= 0");
}

class SharedQueueTest : public testing::Test {
 protected:
  SharedQueueTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {}

  Output Queue(std::string_view op, AttrMap attrs = {}) {
    attrs.Set("component_types", kInts);
    attrs.Set("shared_name", "q");
    return b_.Op(op, {}, std::move(attrs));
  }
  Status RunNode(Node* node) {
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    return runner_.Run({}, {}, {node}).status();
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
};

TEST_F(SharedQueueTest, ReferencesAndHandlesLeadToOneQueue) {
  const Output handle = Queue("FIFOQueueV2"), reference = Queue("FIFOQueue");
  const Output fake = b_.Op("FakeQueue", {handle});
  const Output seven = b_.Const(Tensor::Scalar(7));
  const AttrMap in = {{"Tcomponents", kInts}}, out = {{"component_types", kInts}};
  ASSERT_TRUE(RunNode(b_.OpNode("QueueEnqueueV2", {handle, seven}, in)).ok());
  ASSERT_TRUE(RunNode(b_.OpNode("QueueEnqueue", {reference, seven}, in)).ok());
  ASSERT_TRUE(RunNode(b_.OpNode("QueueEnqueue", {fake, seven}, in)).ok());
  const Output size = b_.Op("QueueSize", {reference});
  EXPECT_EQ((*runner_.Run({}, {size}))[0].scalar<int32_t>(), 3);
  const Output value = b_.Op("QueueDequeue", {reference}, out);
  EXPECT_EQ((*runner_.Run({}, {value}))[0].scalar<int32_t>(), 7);
  ASSERT_TRUE(RunNode(b_.OpNode("QueueClose", {reference})).ok());
  const Output closed = b_.Op("QueueIsClosedV2", {handle});
  EXPECT_TRUE((*runner_.Run({}, {closed}))[0].scalar<bool>());
}

// The nodes have found their queue already, and must not go on with what its container has dropped.
TEST_F(SharedQueueTest, WhatItsContainerHasDroppedIsMadeAnew) {
  const Output handle = Queue("FIFOQueueV2"), reference = Queue("FIFOQueue");
  Node* const put =
      b_.OpNode("QueueEnqueueV2", {handle, b_.Const(Tensor::Scalar(7))}, {{"Tcomponents", kInts}});
  Node* const destroy = b_.OpNode("DestroyResourceOp", {handle});
  const std::vector<Output> sizes = {b_.Op("QueueSizeV2", {handle}),
                                     b_.Op("QueueSize", {reference})};
  const auto expect_sizes = [&](int32_t size) {
    const std::vector<Tensor> found = *runner_.Run({}, sizes);
    EXPECT_EQ(found[0].scalar<int32_t>(), size);
    EXPECT_EQ(found[1].scalar<int32_t>(), size);
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(RunNode(put).ok());
    expect_sizes(1);
    ASSERT_TRUE(RunNode(destroy).ok());
    expect_sizes(0);
    ASSERT_TRUE(RunNode(put).ok());
    expect_sizes(1);
    runner_.resources().ResetContainer("");
    expect_sizes(0);
  }
}

TEST_F(SharedQueueTest, OneNameIsOneQueue) {
  ASSERT_TRUE(RunNode(Queue("FIFOQueueV2").node).ok());
  const auto words = [&](std::string_view op, AttrMap attrs) {
    const Status status = RunNode(Queue(op, std::move(attrs)).node);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    return status.ToString();
  };
  EXPECT_NE(words("FIFOQueueV2", {{"capacity", 4}})
                .find("Shared queue 'q' has capacity 2147483647 but requested capacity was 4"),
            std::string::npos);
  EXPECT_NE(words("FIFOQueueV2", {{"shapes", Shapes{PartialShape{2}}}})
                .find("has component shapes [] but requested component shapes were [[2]]"),
            std::string::npos);
  EXPECT_NE(
      words("RandomShuffleQueueV2", {}).find("Expected FIFOQueue, found RandomShuffleQueueV2"),
      std::string::npos);
}

TEST_F(SharedQueueTest, SeedsAreThoseOfTheFirst) {
  const auto with = [](int64_t seed) {
    return AttrMap{{"capacity", 4}, {"min_after_dequeue", 1}, {"seed", seed}};
  };
  ASSERT_TRUE(RunNode(Queue("RandomShuffleQueueV2", with(1)).node).ok());
  EXPECT_TRUE(RunNode(Queue("RandomShuffleQueueV2", with(0)).node).ok());  // any will do
  const Status other = RunNode(Queue("RandomShuffleQueueV2", with(2)).node);
  EXPECT_NE(other.ToString().find("Shared queue 'q' has random seeds (1, 0) but requested seeds "
                                  "are (2, 0)."),
            std::string::npos);
}

TEST_F(SharedQueueTest, ShapesOfAPaddingQueueNeedOnlyAgree) {
  const auto with = [](PartialShape shape) { return AttrMap{{"shapes", Shapes{shape}}}; };
  ASSERT_TRUE(RunNode(Queue("PaddingFIFOQueueV2", with({-1, 2})).node).ok());
  EXPECT_TRUE(RunNode(Queue("PaddingFIFOQueueV2", with({3, -1})).node).ok());
  EXPECT_FALSE(RunNode(Queue("PaddingFIFOQueueV2", with({3, 4})).node).ok());
}

TEST_F(SharedQueueTest, AHandleOfSomethingElseIsRefused) {
  const Output variable = b_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", Shape{}}});
  EXPECT_FALSE(RunNode(b_.OpNode("QueueSizeV2", {variable})).ok());
  const Output text = b_.Op("VariableV2", {}, {{"dtype", DType::kString}, {"shape", Shape{}}});
  EXPECT_EQ(RunNode(b_.OpNode("QueueSize", {text})).code(), Code::kInvalidArgument);
}

TEST_F(SharedQueueTest, ShapesOfTheComponentsAreInferred) {
  const Output queue =
      b_.Op("FIFOQueueV2", {}, {{"component_types", kInts}, {"shapes", Shapes{PartialShape{2}}}});
  const AttrMap out = {{"component_types", kInts}};
  EXPECT_EQ(b_.Op("QueueDequeueV2", {queue}, out).shape(), (PartialShape{2}));
  const Output three = b_.Const(Tensor::Scalar(3));
  EXPECT_EQ(b_.Op("QueueDequeueManyV2", {queue, three}, out).shape(), (PartialShape{3, 2}));
  EXPECT_EQ(b_.Op("QueueDequeueUpToV2", {queue, three}, out).shape(), (PartialShape{-1, 2}));
}

}  // namespace
}  // namespace thalweg
