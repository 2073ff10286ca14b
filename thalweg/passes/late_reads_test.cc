// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/late_reads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/passes/prune.h"

namespace thalweg {
namespace {

class LateReadsTest : public ::testing::Test {
 protected:
  LateReadsTest() {
    for (const char* op : {"Identity", "Neg", "AssignAdd", "Assign"}) {
      ops_->Op(op).Shape(UnchangedShape);
    }
  }
  Output Variable(const char* name) {
    return b_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape{})}},
                 name);
  }
  StepGraph Late(const Output& fetch) {
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    const StepGraph step = *Prune(*graph_, {.feeds = {}, .fetches = {fetch}, .targets = {}});
    Result<StepGraph> late = LateReads(step);
    EXPECT_TRUE(late.ok()) << late.status().ToString();
    return *late;
  }
  static bool Follows(const Node& node, std::string_view name) {
    return std::any_of(node.control_inputs().begin(), node.control_inputs().end(),
                       [&](const Node* from) { return from->name() == name; });
  }

  const std::shared_ptr<OpRegistry> ops_ = std::make_shared<OpRegistry>();
  const std::shared_ptr<Graph> graph_ = std::make_shared<Graph>(ops_);
  GraphBuilder b_{graph_.get()};
};

TEST_F(LateReadsTest, AReaderBehindAnUpdateReadsAnew) {
  const Output v = Variable("v"), read = b_.Op("Identity", {v}, {}, "v/read");
  const Output update = b_.Op("AssignAdd", {v, b_.Const(Tensor::Scalar(1.0F))}, {}, "update");
  const Output before = b_.Op("Neg", {read}, {}, "before");
  const Output y = b_.WithControls({update.node}).Op("Neg", {read}, {}, "y");
  const StepGraph late = Late(b_.Op("Add", {before, y}, {}, "sum"));
  const Node* const now = late.graph->FindNode("y");
  ASSERT_NE(now, nullptr);
  const Node& source = *now->input(0).node;
  EXPECT_EQ(source.name(), "v/read/late");
  EXPECT_EQ(source.input(0).node->name(), "v");
  EXPECT_TRUE(Follows(source, "update"));
  EXPECT_EQ(late.graph->FindNode("before")->input(0).node->name(), "v/read");
}

TEST_F(LateReadsTest, AnUpdateLeadsThereByDataToo) {
  const Output v = Variable("v"), read = b_.Op("Identity", {v}, {}, "v/read");
  const Output update = b_.Op("AssignAdd", {v, b_.Const(Tensor::Scalar(1.0F))}, {}, "update");
  const Output negative = b_.Op("Neg", {update}, {}, "negative");
  const StepGraph late = Late(b_.Op("Add", {read, negative}, {}, "sum"));
  const Node& source = *late.graph->FindNode("sum")->input(0).node;
  EXPECT_EQ(source.name(), "v/read/late");
  EXPECT_TRUE(Follows(source, "negative"));
}

TEST_F(LateReadsTest, TheUpdateItselfAndOtherVariablesKeepTheirReads) {
  const Output v = Variable("v"), w = Variable("w");
  const Output read = b_.Op("Identity", {v}, {}, "v/read");
  const Output other = b_.Op("Identity", {w}, {}, "w/read");
  const Output update = b_.Op("AssignAdd", {v, read}, {}, "update");
  const Output y = b_.WithControls({update.node}).Op("Neg", {other}, {}, "y");
  const StepGraph late = Late(y);
  EXPECT_EQ(late.graph->FindNode("update")->input(1).node->name(), "v/read");
  EXPECT_EQ(late.graph->FindNode("y")->input(0).node->name(), "w/read");
}

TEST_F(LateReadsTest, MoreVariablesThanAMaskHasBits) {
  std::vector<Output> sums;
  for (int i = 0; i < 130; ++i) {
    const Output v = Variable(StrCat("v", i).c_str());
    const Output read = b_.Op("Identity", {v}, {}, StrCat("read", i));
    const Output update = b_.Op("AssignAdd", {v, read}, {}, StrCat("update", i));
    sums.push_back(b_.WithControls({update.node}).Op("Neg", {read}, {}, StrCat("y", i)));
  }
  const StepGraph late = Late(b_.Op("AddN", sums));
  for (int i = 0; i < 130; ++i) {
    EXPECT_EQ(late.graph->FindNode(StrCat("y", i))->input(0).node->name(),
              StrCat("read", i, "/late"));
  }
}

TEST_F(LateReadsTest, InABranchThroughASwitchOfItsOwn) {
  const Output v = Variable("v"), read = b_.Op("Identity", {v}, {}, "v/read");
  const Output pred = b_.Op("Placeholder", {}, {{"dtype", DType::kBool}}, "pred");
  Node* const branch = b_.OpNode("Switch", {read, pred}, {}, "switch");
  Node* const pivot = b_.OpNode("Switch", {pred, pred}, {}, "pivot");
  const Output taken = b_.Op("Identity", {Output{pivot, 1}}, {}, "taken");
  const Output update = b_.WithControls({taken.node})
                            .Op("AssignAdd", {v, b_.Const(Tensor::Scalar(1.0F))}, {}, "update");
  const Output y = b_.WithControls({update.node}).Op("Neg", {Output{branch, 1}}, {}, "y");
  const StepGraph late = Late(y);
  const Output source = late.graph->FindNode("y")->input(0);
  EXPECT_EQ(source.node->op_name(), "Switch");
  EXPECT_EQ(source.index, 1);
  EXPECT_EQ(source.node->input(0).node->name(), "v/read/late");
  EXPECT_TRUE(Follows(*source.node->input(0).node, "update"));
}

}  // namespace
}  // namespace thalweg
