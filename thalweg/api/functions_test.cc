// SPDX-License-Identifier: Apache-2.0
// Functions of graphs, built from C and from C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "thalweg/thalweg.h"

namespace {

using ::testing::HasSubstr;

class FunctionsTest : public ::testing::Test {
 protected:
  float Run(const tw::Output& y, const tw::Feeds& feeds = {}) {
    tw::Result<tw::Session> session = tw::Session::Create(graph_);
    EXPECT_TRUE(session.ok()) << session.status().message();
    tw::Result<tw::Tensors> out = session.value().Run(feeds, {y});
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out.ok() ? out.value()[0].scalar<float>() : -1;
  }
  tw::Outputs With(tw::Outputs arguments, const tw::Function& function) {
    arguments.insert(arguments.end(), function.captures.begin(), function.captures.end());
    return arguments;
  }

  tw::Environment environment_ = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph graph_{environment_};
};

TEST_F(FunctionsTest, TheLibraryIsExportedWithoutTheNodes) {
  const tw::internal::StatusHolder status;
  const auto library = [&] {
    return tw::internal::TextOf(tw_graph_export_library(graph_.c(), status.c), status).OrThrow();
  };
  EXPECT_EQ(library(), "");
  const tw::Function f = graph_.Function(
      "twice", {{tw::kFloat}}, [](const tw::Outputs& x) { return tw::Outputs{x[0] + x[0]}; });
  const std::string bytes = library();
  EXPECT_THAT(bytes, HasSubstr(f.name));
  const tw::Output y = graph_.Op(f.name, {graph_.Scalar(2.0f)});
  EXPECT_EQ(library(), bytes);
  EXPECT_THAT(graph_.Export().OrThrow(), HasSubstr(bytes));
  EXPECT_EQ(Run(y), 4);
  EXPECT_EQ(tw_graph_export_library(nullptr, status.c), nullptr);
}

TEST_F(FunctionsTest, IsCalledByItsName) {
  const tw::Output w = graph_.Placeholder("w", tw::kFloat, {});
  const tw::Function f = graph_.Function("scaled", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    return tw::Outputs{x[0] * w + graph_.Scalar(1.0f) * w};
  });
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  EXPECT_EQ(f.captures.size(), 1u);
  ASSERT_EQ(f.results.size(), 1u);
  EXPECT_EQ(f.results[0].dtype, tw::kFloat);
  EXPECT_EQ(f.results[0].rank(), 0);
  const tw::Output y = graph_.Op(f.name, With({graph_.Scalar(3.0f)}, f));
  EXPECT_EQ(Run(y, {{w, tw::Tensor::Scalar(5.0f)}}), 20);
}

TEST_F(FunctionsTest, ServesLoopsAndBranches) {
  const tw::Output step = graph_.Scalar(2.0f);
  const tw::Function cond = graph_.Function("cond", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    return tw::Outputs{graph_.Op("Less", {x[0], graph_.Scalar(10.0f)})};
  });
  const tw::Function body = graph_.Function("body", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    return tw::Outputs{x[0] + graph_.Scalar(4.0f)};
  });
  const tw::Output last = graph_.Op("While", {step}, {{"cond", cond}, {"body", body}});
  EXPECT_EQ(Run(last), 10);
  const tw::Function one = graph_.Function(
      "one", {}, [&](const tw::Outputs&) { return tw::Outputs{graph_.Scalar(1.0f)}; });
  const tw::Function two = graph_.Function(
      "two", {}, [&](const tw::Outputs&) { return tw::Outputs{graph_.Scalar(2.0f)}; });
  const tw::Output chosen = graph_.Op("If", {graph_.Scalar(false)},
                                      {{"then_branch", one},
                                       {"else_branch", two},
                                       {"Tin", std::vector<tw::DataType>{}},
                                       {"Tout", std::vector<tw::DataType>{tw::kFloat}}});
  EXPECT_EQ(Run(chosen), 2);
}

TEST_F(FunctionsTest, OneWithinTheOtherReadsThroughIt) {
  const tw::Output w = graph_.Scalar(5.0f);
  const tw::Function outer = graph_.Function("outer", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    const tw::Function inner = graph_.Function("inner", {{tw::kFloat}}, [&](const tw::Outputs& y) {
      return tw::Outputs{y[0] * x[0] * w};
    });
    return tw::Outputs{graph_.Op(inner.name, With({graph_.Scalar(2.0f)}, inner))};
  });
  EXPECT_EQ(Run(graph_.Op(outer.name, With({graph_.Scalar(3.0f)}, outer))), 30);
  // Both travel with the graph.
  const std::string message = graph_.Export().OrThrow();
  tw::Graph other(environment_);
  EXPECT_TRUE(other.Import(message).ok());
}

TEST_F(FunctionsTest, ErrorsOfABodyAreTheGraphs) {
  graph_.Function("bad", {{tw::kFloat}},
                  [&](const tw::Outputs& x) { return tw::Outputs{graph_.Op("Nought", x)}; });
  EXPECT_THAT(graph_.status().message(), HasSubstr("Nought"));
  bool called = false;
  graph_.Function("later", {}, [&](const tw::Outputs&) {
    called = true;
    return tw::Outputs();
  });
  EXPECT_FALSE(called);
}

TEST_F(FunctionsTest, AnOutputOfABodyIsRefusedOutside) {
  tw::Output leaked;
  graph_.Function("f", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    leaked = -x[0];
    return tw::Outputs{leaked};
  });
  ASSERT_TRUE(graph_.status().ok());
  graph_.Op("Neg", {leaked});
  EXPECT_THAT(graph_.status().message(), HasSubstr("of another graph"));
}

TEST_F(FunctionsTest, WhatIsThrownInABodyLeavesTheGraphUsable) {
  EXPECT_THROW(
      graph_.Function("f", {}, [&](const tw::Outputs&) -> tw::Outputs { throw std::exception(); }),
      std::exception);
  EXPECT_EQ(Run(graph_.Scalar(1.0f) + graph_.Scalar(1.0f)), 2);
}

TEST_F(FunctionsTest, BodiesHaveNoVariablesAndNoSessions) {
  graph_.Function("f", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    EXPECT_FALSE(tw::Session::Create(graph_).ok());
    return tw::Outputs{graph_.Variable("v", x[0])};
  });
  EXPECT_THAT(graph_.status().message(),
              HasSubstr("the body of a function has no variables of its own"));
}

TEST_F(FunctionsTest, TheDefinitionOfWhatAGraphComputes) {
  const tw::Output x = graph_.Placeholder("Feed", tw::kFloat, {});
  const tw::Output y = x * graph_.Scalar(2.0f);
  TwStatus* status = tw_status_new();
  TwBuffer* definition =
      tw_function_definition(graph_.c(), "twice", &x.c(), 1, &y.c(), 1, nullptr, status);
  ASSERT_NE(definition, nullptr) << tw_status_message(status);
  TwMessage* message = tw_message_parse("tensorflow.FunctionDef", tw_buffer_data(definition),
                                        tw_buffer_size(definition), status);
  EXPECT_NE(message, nullptr) << tw_status_message(status);
  tw_message_free(message);
  tw_buffer_free(definition);
  const TwOutput twice[] = {x.c(), x.c()};
  EXPECT_EQ(tw_function_definition(graph_.c(), "f", twice, 2, &y.c(), 1, nullptr, status), nullptr);
  EXPECT_THAT(tw_status_message(status), HasSubstr("function 'f': argument 1, 'Feed', must be"));
  tw::Graph other(environment_);
  const tw::Output far = other.Scalar(1.0f);
  EXPECT_EQ(tw_function_definition(graph_.c(), "f", nullptr, 0, &far.c(), 1, nullptr, status),
            nullptr);
  EXPECT_THAT(tw_status_message(status), HasSubstr("'Const' is no tensor of the body"));
  EXPECT_EQ(tw_function_definition(nullptr, "f", nullptr, 0, nullptr, 0, nullptr, status), nullptr);
  tw_status_free(status);
}

TEST_F(FunctionsTest, ACallIsExpandedToBeLookedInto) {
  const tw::Function f = graph_.Function("scaled", {{tw::kFloat}}, [&](const tw::Outputs& x) {
    return tw::Outputs{x[0] * graph_.Scalar(3.0f)};
  });
  const tw::Output y = graph_.Op(f.name, {graph_.Scalar(2.0f)});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().message();
  const tw::internal::StatusHolder status;
  TwOutput inside = {};
  ASSERT_EQ(tw_graph_expand_call(graph_.c(), y.c().node, "seen", &inside, status.c), TW_OK)
      << tw_status_message(status.c);
  EXPECT_EQ(std::string(tw_node_name(inside.node)).rfind("seen/", 0), 0u);
  EXPECT_EQ(Run(tw::Output(&graph_, inside)), 6);
  EXPECT_STREQ(
      tw_code_name(tw_graph_expand_call(graph_.c(), inside.node, "seen", &inside, status.c)),
      "FAILED_PRECONDITION");
  EXPECT_THAT(tw_status_message(status.c), HasSubstr("calls no function"));
  tw::Graph other(environment_);
  EXPECT_STREQ(tw_code_name(tw_graph_expand_call(other.c(), y.c().node, "seen", &inside, status.c)),
               "INVALID_ARGUMENT");
  EXPECT_THAT(tw_status_message(status.c), HasSubstr("is of another graph"));
  for (TwGraph* graph : {graph_.c(), static_cast<TwGraph*>(nullptr)}) {
    EXPECT_STREQ(tw_code_name(tw_graph_expand_call(graph, y.c().node, nullptr, &inside, status.c)),
                 "INVALID_ARGUMENT");
  }
}

TEST_F(FunctionsTest, TheCInterfaceSaysWhatIsWrong) {
  TwStatus* status = tw_status_new();
  const auto said = [&] { return std::string(tw_status_message(status)); };
  EXPECT_EQ(tw_function_body_new(nullptr, status), nullptr);
  EXPECT_EQ(said(), "graph is NULL");
  EXPECT_EQ(tw_function_argument(graph_.c(), "x", tw::kFloat, nullptr, 0, status).node, nullptr);
  EXPECT_EQ(said(), "the graph is no function's body");
  EXPECT_EQ(tw_function_define(graph_.c(), "f", 0, nullptr, 0, nullptr, status), nullptr);
  TwGraph* body = tw_function_body_new(graph_.c(), status);
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(tw_function_argument(body, "x", 99, nullptr, 0, status).node, nullptr);
  EXPECT_THAT(said(), HasSubstr("99"));
  EXPECT_EQ(tw_function_argument(body, "x", tw::kFloat, nullptr, 2, status).node, nullptr);
  EXPECT_EQ(tw_function_argument(body, nullptr, tw::kFloat, nullptr, 0, status).node, nullptr);
  EXPECT_EQ(tw_function_copy(body, TwOutput{nullptr, 0}, status).node, nullptr);
  EXPECT_EQ(tw_function_define(body, nullptr, 0, nullptr, 0, nullptr, status), nullptr);
  EXPECT_EQ(tw_function_define(body, "f", 0, nullptr, 1, nullptr, status), nullptr);
  EXPECT_EQ(tw_function_num_captures(body), 0);
  EXPECT_EQ(tw_function_num_captures(nullptr), 0);
  EXPECT_EQ(tw_function_capture(body, 0).node, nullptr);
  tw_graph_free(body);
  tw_status_free(status);
}

}  // namespace
