// SPDX-License-Identifier: Apache-2.0
// PassTest: a graph to build and what a pass makes of a step of it, for tests of passes.
//
//   TEST_F(PassTest, LeavesARelu) {
//     Define({"Placeholder", "Relu"}, UnknownShape);
//     const Output y = b.Op("Relu", {Placeholder("x")});
//     EXPECT_EQ(Made(FuseEpilogues(Step({y}))).size(), 1u);
//   }
//
// Ownership: the fixture owns the registry, the graph and the last result.
// Threads: one.
// Errors: fail the test.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/passes/pass.h"
#include "thalweg/passes/prune.h"

namespace thalweg {

class PassTest : public ::testing::Test {
 protected:
  PassTest() : graph(std::make_shared<Graph>(ops)) {}
  // With operations that have their shapes already.
  explicit PassTest(const std::shared_ptr<const OpRegistry>& known)
      : graph(std::make_shared<Graph>(known)) {}

  void Define(std::initializer_list<const char*> names, ShapeFn shape) {
    for (const char* name : names) ops->Op(name).Shape(shape);
  }
  static Status ShapeFromAttr(ShapeContext& c) {
    ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("shape"));
    c.set_output(0, shape);
    return OkStatus();
  }

  Output Placeholder(std::string_view name) {
    return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, name);
  }
  Output Placeholder(std::string_view name, PartialShape shape) {
    return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", std::move(shape)}}, name);
  }
  // A batch normalization by placeholders.
  Node* Norm(Output value, std::string_view name, bool training = true) {
    std::vector<Output> inputs = {value};
    for (const char* part : {"scale", "offset", "mean", "variance"}) {
      inputs.push_back(Placeholder(StrCat(name, "_", part)));
    }
    return b.OpNode("FusedBatchNormV3", inputs, {{"is_training", training}, {"epsilon", 0.25f}},
                    name);
  }

  StepGraph Step(std::vector<Output> fetches, std::vector<Node*> targets = {}) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    Result<StepGraph> step =
        Prune(*graph, {.feeds = {}, .fetches = std::move(fetches), .targets = std::move(targets)});
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    return step.ok() ? *std::move(step) : StepGraph();
  }
  // Keeps what a pass made as `result`; its operations, all but placeholders and constants.
  std::vector<std::string> Made(Result<StepGraph> step) {
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    if (!step.ok()) return {};
    result = *std::move(step);
    std::vector<std::string> found;
    for (const Node* node : result.graph->Nodes()) {
      if (node->op_name() != "Placeholder" && node->op_name() != "Const") {
        found.push_back(node->op_name());
      }
    }
    return found;
  }

  const std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  const std::shared_ptr<Graph> graph;
  GraphBuilder b{graph.get()};
  StepGraph result;
};

}  // namespace thalweg
