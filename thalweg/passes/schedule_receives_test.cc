// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/schedule_receives.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/test_device.h"
#include "thalweg/passes/prune.h"

namespace thalweg {
namespace {

// Nodes with "ps" in their names are on one task, the others on another.
class ScheduleReceivesTest : public ::testing::Test {
 protected:
  ScheduleReceivesTest() {
    ops->Op("Placeholder").Shape([](ShapeContext& c) -> Status {
      ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("shape"));
      c.set_output(0, shape);
      return OkStatus();
    });
    for (const char* op : {"Identity", "Merge", "Neg"}) ops->Op(op).Shape(UnchangedShape);
    ops->Op("Switch").Shape([](ShapeContext& c) {
      c.set_output(0, c.input(0));
      c.set_output(1, c.input(0));
      return OkStatus();
    });
    ops->Op("Add").Shape(BroadcastBinaryShape);
  }
  Output Placeholder(std::string_view name, PartialShape shape) {
    return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", std::move(shape)}}, name);
  }
  // 1 MB, which takes 1.15 ms by the pass's guess; a Neg of 32 MB takes 8 ms.
  Output Sent(std::string_view name, const PartialShape& shape = {1 << 18}) {
    return b.Op("Neg", {Placeholder(StrCat(name, "_fed"), shape)}, {}, StrCat(name, "_ps"));
  }
  Output Large(const Output& x, std::string_view name) { return b.Op("Neg", {x}, {}, name); }
  Output Plus(const Output& x, const Output& y, std::string_view name) {
    return b.Op("Add", {x, y}, {}, name);
  }
  // The receives that wait, one part after the other.
  std::string Scheduled(std::vector<Output> fetches, bool one_task = false) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    std::vector<std::unique_ptr<NamedDevice>> owned;
    std::vector<Device*> devices;
    for (const char* job : {"worker", "ps"}) {
      const char* const name = one_task ? "worker" : job;
      owned.push_back(std::make_unique<NamedDevice>(
          StrCat("/job:", name, "/replica:0/task:0/device:CPU:", devices.size()), 7));
      devices.push_back(owned.back().get());
    }
    const StepGraph step =
        *Prune(*graph, {.feeds = {}, .fetches = std::move(fetches), .targets = {}});
    std::vector<int> device_of;
    for (const Node* node : step.graph->Nodes()) {
      device_of.push_back(node->name().find("_ps") != std::string::npos ? 1 : 0);
    }
    Result<std::vector<StepPartition>> parts = PartitionByDevice(step, device_of, devices);
    EXPECT_TRUE(parts.ok()) << parts.status().ToString();
    const std::vector<StepPartition> before = *parts;
    const Status done = ScheduleReceives(&*parts);
    EXPECT_TRUE(done.ok()) << done.ToString();
    std::string text;
    for (size_t i = 0; i < parts->size(); ++i) {
      text += WaitingReceivesText((*parts)[i].step);
      ExpectSameButOrdered(before[i].step, (*parts)[i].step);
    }
    return text;
  }
  static void ExpectSameButOrdered(const StepGraph& before, const StepGraph& after) {
    EXPECT_EQ(after.graph->num_nodes(), before.graph->num_nodes());
    EXPECT_EQ(after.origins.size(), before.origins.size());
    EXPECT_EQ(after.fetches.size(), before.fetches.size());
    for (const Node* node : after.graph->Nodes()) {
      for (const Output& input : node->inputs()) EXPECT_LT(input.node->id(), node->id());
      for (const Node* gate : node->control_inputs()) EXPECT_LT(gate->id(), node->id());
      EXPECT_NE(before.graph->FindNode(node->name()), nullptr);
    }
  }

  std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(ops);
  GraphBuilder b{graph.get()};
  const PartialShape wide{32, 1 << 18};
};

// A chain of nodes that each read one received value.
TEST_F(ScheduleReceivesTest, A5_2_AReceiveWaitsUntilItsReaderIsNear) {
  Output x = Placeholder("x", wide);
  for (int i = 0; i < 4; ++i) {
    x = Plus(x, Sent(StrCat("w", i)), StrCat("layer", i));
  }
  EXPECT_EQ(Scheduled({x}),
            "'w2_ps/recv' after Add 'layer0'\n"
            "'w3_ps/recv' after Add 'layer1'\n");
}

TEST_F(ScheduleReceivesTest, TheTransferHasTimeBeforeItsReader) {
  Output x = Placeholder("x", {1 << 18});  // a node takes 0.26 ms now
  std::vector<Output> chain = {x};
  for (int i = 0; i < 20; ++i) chain.push_back(Large(chain.back(), StrCat("n", i)));
  const Output y = Plus(chain.back(), Sent("w"), "y");
  EXPECT_EQ(Scheduled({y}), "'w_ps/recv' after Neg 'n10'\n");
}

// The gate must be upstream of every reader: "early" would wait for what it does not need.
TEST_F(ScheduleReceivesTest, NobodyWaitsForWhatItDidNotWaitForBefore) {
  const Output w = Sent("w"), v = Sent("v");
  const Output a = Large(Placeholder("x", wide), "a"), c = Large(Large(a, "b"), "c");
  const Output early = Plus(Placeholder("z", wide), w, "early");
  EXPECT_EQ(Scheduled({Plus(c, w, "y"), early}), "");
  EXPECT_EQ(Scheduled({Plus(c, v, "y2"), Plus(a, v, "early2")}), "");
  EXPECT_EQ(Scheduled({Plus(c, v, "y3"), Plus(Large(c, "d"), v, "late")}),
            "'v_ps/recv' after Neg 'b'\n");
}

TEST_F(ScheduleReceivesTest, WhatIsDoneToAValueAloneWaitsWithIt) {
  const Output w = b.Op("Identity", {Large(Sent("w"), "changed")}, {}, "same");
  const Output c = Large(Large(Large(Placeholder("x", wide), "a"), "b"), "c");
  const Output y = Plus(c, w, "y");
  EXPECT_EQ(Scheduled({y}), "'w_ps/recv' after Neg 'b'\n");
  EXPECT_EQ(Scheduled({y, w}), "");  // fetched: it is needed at once
}

TEST_F(ScheduleReceivesTest, SmallUnknownAndNearValuesComeAtOnce) {
  const Output c = Large(Large(Large(Placeholder("x", wide), "a"), "b"), "c");
  EXPECT_EQ(Scheduled({Plus(c, Sent("small", {}), "y")}), "");
  EXPECT_EQ(Scheduled({Plus(c, Sent("unknown", PartialShape()), "y2")}), "");
  const Output w = Sent("w");
  EXPECT_EQ(Scheduled({Plus(c, w, "y3")}, true), "");  // between devices of a task
  EXPECT_EQ(Scheduled({Plus(c, w, "y4")}), "'w_ps/recv' after Neg 'b'\n");
}

// A node in one branch is dead when the other is taken, and so would be what waits for it.
TEST_F(ScheduleReceivesTest, NothingWaitsForWhatMayBeDead) {
  const Output p = b.Op("Placeholder", {}, {{"dtype", DType::kBool}, {"shape", PartialShape{}}});
  Node* const split = b.OpNode("Switch", {Placeholder("x", wide), p});
  const Output yes = Large(Large({split, 1}, "a"), "b"), no = Large({split, 0}, "n");
  const Output merged = b.Op("Merge", {no, yes}, {}, "merged");
  EXPECT_EQ(Scheduled({Plus(Large(merged, "c"), Sent("w"), "y")}), "");
}

}  // namespace
}  // namespace thalweg
