// SPDX-License-Identifier: Apache-2.0
// FunctionTest: a graph that functions are built for, with nodes by hand.
//
//   TEST_F(FunctionTest, KnowsHowManyOutputsThereAre) {
//     FunctionBuilder builder(graph_);
//     EXPECT_NE(Refusal(builder.Inside({Const(*graph_, 2.0F).node, 3}).status()), "");
//   }
//
// The registry knows no shapes.
// Ownership: the fixture owns the graph.
// Threads: one.
// Errors: fail the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "thalweg/graph/graph.h"

namespace thalweg {

class FunctionTest : public ::testing::Test {
 protected:
  static Output Add(Graph& graph, NodeSpec spec) {
    spec.make_unique = true;
    Result<Node*> node = graph.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    return {node.ok() ? *node : nullptr, 0};
  }
  static Output Const(Graph& graph, Tensor value, const char* name = "c") {
    const DType dtype = value.dtype();
    return Add(
        graph,
        {.name = name, .op = "Const", .attrs = {{"dtype", dtype}, {"value", std::move(value)}}});
  }
  static Output Const(Graph& graph, float value, const char* name = "c") {
    return Const(graph, Tensor::Scalar(value), name);
  }
  static std::string Refusal(const Status& status, Code code = Code::kInvalidArgument) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    return std::string(status.message());
  }

  const PartialShape kScalar{Shape()};
  const std::shared_ptr<OpRegistry> registry_ = std::make_shared<OpRegistry>();
  const std::shared_ptr<Graph> graph_ = std::make_shared<Graph>(registry_);
};

}  // namespace thalweg
