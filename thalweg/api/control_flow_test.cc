// SPDX-License-Identifier: Apache-2.0
// Loops and conditionals of graphs, built from C and from C++.
#include "thalweg/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ControlFlowTest : public ::testing::Test {
 protected:
  std::vector<float> Run(const tw::Outputs& outputs, const tw::Feeds& feeds = {}) {
    std::vector<float> values;
    tw::Result<tw::Session> session = tw::Session::Create(graph_);
    EXPECT_TRUE(session.ok()) << session.status().message();
    if (!session.ok()) return values;
    tw::Result<tw::Tensors> out = session.value().Run(feeds, outputs);
    EXPECT_TRUE(out.ok()) << out.status().message();
    if (!out.ok()) return values;
    for (const tw::Tensor& tensor : out.value()) values.push_back(tensor.scalar<float>());
    return values;
  }
  tw::Output Less(const tw::Output& a, const tw::Output& b) { return graph_.Op("Less", {a, b}); }
  tw::Output Gradient(const tw::Output& y, const tw::Output& x) {
    return graph_.Gradients({y}, {x})[0].values;
  }

  tw::Environment environment_ = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph_{environment_};
};

// x w^n for n of the feed.
TEST_F(ControlFlowTest, ALoopAndItsGradients) {
  const tw::Output n = graph_.Placeholder("n", tw::kFloat, {});
  const tw::Output x = graph_.Scalar(2.0f), w = graph_.Scalar(3.0f), one = graph_.Scalar(1.0f);
  const tw::Output y = tw::WhileLoop(
      graph_, {graph_.Scalar(0.0f), x}, [&](const tw::Outputs& v) { return Less(v[0], n); },
      [&](const tw::Outputs& v) {
        return tw::Outputs{v[0] + one, v[1] * w};
      })[1];
  const tw::Outputs all = {y, Gradient(y, x), Gradient(y, w)};
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  EXPECT_THAT(Run(all, {{n, tw::Tensor::Scalar(3.0f)}}), ElementsAre(54, 27, 54));
  EXPECT_THAT(Run(all, {{n, tw::Tensor::Scalar(0.0f)}}), ElementsAre(2, 1, 0));
}

TEST_F(ControlFlowTest, AConditionalInALoopReadsThroughIt) {
  const tw::Output w = graph_.Scalar(3.0f), one = graph_.Scalar(1.0f), two = graph_.Scalar(2.0f);
  const tw::Output n = graph_.Scalar(4.0f);
  const tw::Output y = tw::WhileLoop(
      graph_, {graph_.Scalar(0.0f), graph_.Scalar(1.0f)},
      [&](const tw::Outputs& v) { return Less(v[0], n); },
      [&](const tw::Outputs& v) {
        const tw::Output grown = tw::Cond(
            graph_, Less(v[0], two), [&] { return tw::Outputs{v[1] * w}; },
            [&] { return tw::Outputs{v[1] + w}; })[0];
        return tw::Outputs{v[0] + one, grown};
      })[1];
  const tw::Output slope = Gradient(y, w);  // of w w + w + w
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  EXPECT_THAT(Run({y, slope}), ElementsAre(15, 8));
}

TEST_F(ControlFlowTest, ALoopInALoop) {
  const tw::Output one = graph_.Scalar(1.0f), three = graph_.Scalar(3.0f), w = graph_.Scalar(2.0f);
  const auto times3 = [&](const tw::Output& from, auto&& next) {
    return tw::WhileLoop(
        graph_, {graph_.Scalar(0.0f), from},
        [&](const tw::Outputs& v) { return Less(v[0], three); },
        [&](const tw::Outputs& v) {
          return tw::Outputs{v[0] + one, next(v[1])};
        })[1];
  };
  const tw::Output y = times3(one, [&](const tw::Output& outer) {
    return times3(outer, [&](const tw::Output& inner) { return inner * w; });
  });
  const tw::Output slope = Gradient(y, w);
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  EXPECT_THAT(Run({y, slope}), ElementsAre(512, 9 * 256));
}

TEST_F(ControlFlowTest, CasesByNumberAndTheLastForAllOthers) {
  const tw::Output index = graph_.Placeholder("index", tw::kInt32, {});
  const tw::Output x = graph_.Scalar(5.0f);
  const tw::Outputs made = tw::Case(graph_, index,
                                    {[&] {
                                       return tw::Outputs{x, x};
                                     },
                                     [&] {
                                       return tw::Outputs{x * x, x};
                                     },
                                     [&] {
                                       return tw::Outputs{-x, x};
                                     }});
  const tw::Output slope = Gradient(made[0], x);
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  const auto at = [&](int32_t i) {
    return Run({made[0], slope}, {{index, tw::Tensor::Scalar(i)}});
  };
  EXPECT_THAT(at(0), ElementsAre(5, 1));
  EXPECT_THAT(at(1), ElementsAre(25, 10));
  EXPECT_THAT(at(2), ElementsAre(-5, -1));
  EXPECT_THAT(at(-1), ElementsAre(-5, -1));
}

TEST_F(ControlFlowTest, BranchesHaveTheShapeThatAllAgreeIn) {
  const tw::Output yes = graph_.Const(tw::Tensor::Scalar(true));
  const tw::Output two = graph_.Const<float>({1, 2}, {2});
  const tw::Output three = graph_.Const<float>({1, 2, 3}, {3});
  const tw::Outputs made = tw::Cond(
      graph_, yes,
      [&] {
        return tw::Outputs{two, two};
      },
      [&] {
        return tw::Outputs{three, two};
      });
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  EXPECT_THAT(tw::TensorSpec::Of(made[0]).shape, ElementsAre(-1));
  EXPECT_THAT(tw::TensorSpec::Of(made[1]).shape, ElementsAre(2));
}

TEST_F(ControlFlowTest, AVariableIsReadAndChangedInALoop) {
  const tw::Variable v = graph_.Variable("v", graph_.Scalar(1.0f), true);
  const tw::Output one = graph_.Scalar(1.0f), five = graph_.Scalar(5.0f);
  const tw::Output last = tw::WhileLoop(
      graph_, {graph_.Scalar(0.0f)}, [&](const tw::Outputs& x) { return Less(x[0], five); },
      [&](const tw::Outputs& x) {
        const tw::Node added =
            graph_.AddNode("AssignAddVariableOp", {v.handle, one}, {{"dtype", tw::kFloat}});
        const tw::Node next = graph_.AddNode("AddV2", {x[0], one}, {}, "", {added});
        return tw::Outputs{{&graph_, {next, 0}}};
      })[0];
  const tw::Node read =
      graph_.AddNode("ReadVariableOp", {v.handle}, {{"dtype", tw::kFloat}}, "", {last.node()});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  session.Run({}, {}, {v.initializer}).OrThrow();
  const tw::Tensors out = session.Run({}, {last, tw::Output(&graph_, {read, 0})}).OrThrow();
  EXPECT_EQ(out[0].scalar<float>(), 5);
  EXPECT_EQ(out[1].scalar<float>(), 6);
}

TEST_F(ControlFlowTest, WhatDoesNotFitIsTheGraphsError) {
  const tw::Output yes = graph_.Const(tw::Tensor::Scalar(true));
  graph_.SetSite("loop.cc:7");
  const tw::Outputs made = tw::WhileLoop(
      graph_, {graph_.Const<float>({1, 2}, {2})}, [&](const tw::Outputs&) { return yes; },
      [&](const tw::Outputs&) {
        return tw::Outputs{graph_.Const<float>({1, 2, 3}, {3})};
      });
  EXPECT_TRUE(made[0].empty());
  EXPECT_THAT(
      graph_.status().message(),
      testing::AllOf(testing::StartsWith("'while': loop variable 0 is float32 [2] in the body"),
                     testing::EndsWith(" (created at loop.cc:7)")));
}

TEST_F(ControlFlowTest, AVariableOfUnknownSizeGrows) {
  const tw::Output zero = graph_.Scalar<int32_t>(0), eight = graph_.Scalar<int32_t>(8);
  const tw::Output grown = tw::WhileLoop(
      graph_, {graph_.Const<float>({1}, {1})},
      [&](const tw::Outputs& v) { return Less(graph_.Op("Size", {v[0]}), eight); },
      [&](const tw::Outputs& v) {
        return tw::Outputs{graph_.Op("ConcatV2", {v[0], v[0], zero})};
      },
      {.variables = {{tw::kFloat, {-1}}}})[0];
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  EXPECT_EQ(session.Run({}, {grown}).OrThrow()[0].num_elements(), 8);
}

TEST_F(ControlFlowTest, TheCInterfaceSaysWhatIsWrong) {
  TwStatus* status = tw_status_new();
  const auto said = [&] { return std::string(tw_status_message(status)); };
  const TwOutput yes = graph_.Const(tw::Tensor::Scalar(true)).c();
  TwOutput made = {nullptr, 0};
  TwGraph* body = tw_function_body_new(graph_.c(), status);
  const TwBranch fine = {body, &yes, 1}, none = {nullptr, &yes, 1}, whole = {graph_.c(), &yes, 1};
  EXPECT_NE(tw_graph_while(nullptr, nullptr, 0, &fine, &fine, nullptr, nullptr, status), TW_OK);
  EXPECT_EQ(said(), "graph is NULL");
  EXPECT_NE(tw_graph_while(graph_.c(), nullptr, 0, nullptr, &fine, nullptr, nullptr, status),
            TW_OK);
  EXPECT_EQ(said(), "condition is NULL");
  EXPECT_NE(tw_graph_while(graph_.c(), nullptr, 0, &fine, &none, nullptr, nullptr, status), TW_OK);
  EXPECT_EQ(said(), "body is no function's body");
  EXPECT_NE(tw_graph_while(graph_.c(), nullptr, 0, &whole, &fine, nullptr, nullptr, status), TW_OK);
  EXPECT_EQ(said(), "condition is no function's body");
  EXPECT_NE(tw_graph_branch(graph_.c(), yes, &fine, 1, nullptr, &made, status), TW_OK);
  EXPECT_THAT(said(), HasSubstr("between 2 branches, 1 are given"));
  EXPECT_NE(tw_graph_branch(graph_.c(), yes, nullptr, 2, nullptr, &made, status), TW_OK);
  EXPECT_NE(tw_graph_branch(graph_.c(), {nullptr, 0}, &fine, 1, nullptr, &made, status), TW_OK);
  tw::Graph other(environment_);
  EXPECT_NE(tw_graph_branch(other.c(), yes, &fine, 1, nullptr, &made, status), TW_OK);
  EXPECT_THAT(said(), HasSubstr("of another graph"));
  EXPECT_EQ(made.node, nullptr);
  TwGraph* second = tw_function_body_new(graph_.c(), status);
  const TwBranch branches[] = {fine, {second, &yes, 1}};
  TwControlFlowOptions options = {};
  options.struct_size = sizeof(options);
  options.name = "chosen";
  options.site = "here.c:1";
  EXPECT_EQ(tw_graph_branch(graph_.c(), yes, branches, 2, &options, &made, status), TW_OK)
      << said();
  EXPECT_STREQ(tw_node_name(made.node), "chosen");
  tw_graph_free(body);
  tw_graph_free(second);
  tw_status_free(status);
}

}  // namespace
