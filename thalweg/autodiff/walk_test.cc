// SPDX-License-Identifier: Apache-2.0
// What the walk adds to a graph, and what it leaves alone.
#include "thalweg/autodiff/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/autodiff/test_loop.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WalkTest : public testing::Test {
 protected:
  Output Float(std::string_view name, PartialShape shape = Shape()) {
    return b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", std::move(shape)}}, name);
  }
  Result<std::vector<GradientValue>> Gradients(const Values& ys, const Values& xs,
                                               const GradientOptions& options = {}) {
    RETURN_IF_ERROR(b_.status());
    before_ = graph_.num_nodes();
    return AddGradients(&graph_, ys, xs, options);
  }
  Output Gradient(const Output& y, const Output& x, const GradientOptions& options = {}) {
    const auto gradients = Gradients({y}, {x}, options);
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    return gradients.ok() ? (*gradients)[0].values : Output();
  }
  // The nodes that the last call added.
  std::vector<const Node*> Added() const {
    std::vector<const Node*> added;
    for (const Node* node : graph_.Nodes()) {
      if (node->id() >= before_) added.push_back(node);
    }
    return added;
  }
  std::vector<std::string> AddedNames() const {
    std::vector<std::string> names;
    for (const Node* node : Added()) names.push_back(node->name());
    return names;
  }
  int64_t CountAdded(std::string_view op) const {
    const auto added = Added();
    return std::count_if(added.begin(), added.end(),
                         [&](const Node* node) { return node->op_name() == op; });
  }
  // y -> body(loop, y), n times.
  Output Repeat(const Output& first, const Output& n,
                const std::function<Output(Loop&, Output)>& body) {
    Loop loop(b_, "repeat");
    const Output limit = loop.Invariant(n);
    const Output one = loop.Invariant(b_.Const(Tensor::Scalar<int32_t>(1)));
    const Values last = loop.Run(
        {b_.Const(Tensor::Scalar<int32_t>(0)), first},
        [&](const Values& v) {
          return b_.Op("Less", {v[0], limit});
        },
        [&](const Values& v) {
          return Values{b_.Op("AddV2", {v[0], one}), body(loop, v[1])};
        });
    return last[1];
  }

  Graph graph_{AllRegistries().ops};
  GraphBuilder b_{&graph_};
  int before_ = 0;
};

TEST_F(WalkTest, NodesAreNamedByTheScopeAndWhatTheyDifferentiate) {
  const Output x = Float("x"), y = b_.Op("Sin", {x}, {}, "wave");
  Gradient(y, x, {.scope = "slopes"});
  EXPECT_THAT(AddedNames(), Each(StartsWith("slopes/")));
  EXPECT_THAT(AddedNames(), testing::Contains(HasSubstr("wave_grad")));
  Gradient(y, x, {.scope = "slopes"});
  EXPECT_THAT(AddedNames(), Each(StartsWith("slopes_1/")));
}

TEST_F(WalkTest, WhatIsNotOnAPathIsNotDifferentiated) {
  const Output x = Float("x"), other = Float("other");
  const Output aside = b_.Op("Exp", {b_.Op("Exp", {other})}, {}, "aside");
  Gradient(b_.Op("AddV2", {b_.Op("Neg", {x}), aside}), x);
  EXPECT_THAT(AddedNames(), Each(testing::Not(HasSubstr("aside"))));
  EXPECT_EQ(CountAdded("Mul"), 0) << "the gradient of Exp is a product";
}

TEST_F(WalkTest, ANodeOnSeveralPathsIsDifferentiatedOnce) {
  const Output x = Float("x"), u = b_.Op("Sin", {x}, {}, "u");
  Gradient(b_.Op("AddV2", {b_.Op("Neg", {u}), b_.Op("Exp", {u})}), x);
  EXPECT_EQ(CountAdded("Cos"), 1);
  EXPECT_EQ(CountAdded("AddN"), 1) << "its two partials are summed first";
}

TEST_F(WalkTest, TheSameGraphGivesTheSameNodes) {
  const auto names = [] {
    Graph graph(AllRegistries().ops);
    GraphBuilder b(&graph);
    const auto placeholder = [&](const char* name) {
      return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}}, name);
    };
    Values xs;
    Output y = placeholder("y");
    for (int i = 0; i < 20; ++i) {
      xs.push_back(placeholder("x"));
      y = b.Op("Mul", {b.Op("AddV2", {y, xs.back()}), b.Op("Sin", {xs.back()})});
    }
    EXPECT_TRUE(AddGradients(&graph, {y}, xs, {}).ok());
    std::vector<std::string> all;
    for (const Node* node : graph.Nodes()) {
      all.push_back(node->name());
      for (const Output& input : node->inputs()) all.back() += StrCat(" ", input);
    }
    return all;
  };
  const std::vector<std::string> first = names();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(names(), first);
}

TEST_F(WalkTest, GradientNodesLieBesideTheirsOnRequest) {
  const Output x = Float("x"), y = b_.Op("Sin", {x}, {}, "y");
  Gradient(y, x, {.colocate = true});
  int beside = 0;
  for (const Node* node : Added()) {
    const AttrValue* const place = node->FindAttr("_class");
    if (place == nullptr) continue;
    EXPECT_EQ(*place->Get<std::vector<std::string>>(), std::vector<std::string>{"loc:@y"});
    ++beside;
  }
  EXPECT_GE(beside, 2);
  Gradient(y, x);
  for (const Node* node : Added()) EXPECT_EQ(node->FindAttr("_class"), nullptr) << node->name();
}

TEST_F(WalkTest, AYIsItsOwnGradientAsIsAnXThatIsAY) {
  const Output x = Float("x");
  const auto gradients = Gradients({x}, {x});
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  EXPECT_TRUE((*gradients)[0].present());
  const Output given = b_.ScalarConst(DType::kFloat, 3);
  GradientOptions options;
  options.grad_ys = {given};
  EXPECT_EQ(Gradient(x, x, options), given);
}

TEST_F(WalkTest, AnOperationWithoutAGradientIsNamedWhereItIsNeeded) {
  const Output x = Float("x");
  const Output y = b_.Op("Neg", {x}, {{"_gradient_op_type", "Absent"}}, "y");
  const Status status = Gradients({y}, {x}).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::AllOf(HasSubstr("Absent"), HasSubstr("'y'")));
}

TEST_F(WalkTest, AGradientOfAnotherTypeOrShapeThanItsOutputIsRefused) {
  const Output x = Float("x", Shape{2});
  const Output y = b_.Op("Neg", {x}, {}, "y");
  GradientOptions options;
  options.grad_ys = {b_.ScalarConst(DType::kInt32, 1)};
  EXPECT_EQ(Gradients({y}, {x}, options).status().code(), Code::kInvalidArgument);
}

TEST_F(WalkTest, TheBudgetEndsAWalkAndIsSaid) {
  const Output x = Float("x");
  Output y = x;
  for (int i = 0; i < 3000; ++i) y = b_.Op("Neg", {y});
  CancellationManager cancellation;
  cancellation.Cancel(Cancelled("enough"));
  WorkBudget work({.what = "gradients", .cancellations = {&cancellation}});
  GradientOptions options;
  options.work = &work;
  const Status status = Gradients({y}, {x}, options).status();
  EXPECT_EQ(status.code(), Code::kCancelled) << status.ToString();
}

TEST_F(WalkTest, OnlyFloatingComplexAndTheirHandlesAreDifferentiable) {
  for (const DType type :
       {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kComplex64,
        DType::kComplex128, DType::kResource, DType::kVariant}) {
    EXPECT_TRUE(IsDifferentiable(type)) << StrCat(type);
  }
  for (const DType type : {DType::kInt32, DType::kUint8, DType::kBool, DType::kString}) {
    EXPECT_FALSE(IsDifferentiable(type)) << StrCat(type);
  }
}

// How values get from a loop to the one of its gradient: the table of the README.
TEST_F(WalkTest, AnInvariantIsEnteredAgainNotRemembered) {
  const Output x = Float("x"),
               n = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}}, "n");
  const Output y = Repeat(b_.ScalarConst(DType::kFloat, 1), n, [&](Loop& loop, Output v) {
    return b_.Op("AddV2", {v, b_.Op("Sin", {loop.Invariant(x)})});
  });
  Gradient(y, x);
  int entered = 0;
  for (const Node* node : Added()) {
    if (node->op_name() == "Enter" && node->input(0) == x) ++entered;
    if (node->op_name() != "_PushLoopStack") continue;
    for (const Output& input : node->inputs()) EXPECT_NE(input.node->op_name(), "Enter");
  }
  EXPECT_EQ(entered, 1);
}

TEST_F(WalkTest, AValueOfAnIterationIsPushedOnceHoweverOftenItIsRead) {
  const Output x = Float("x"),
               n = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}}, "n");
  const Output y = Repeat(x, n, [&](Loop&, Output v) {
    return b_.Op("Mul", {b_.Op("Square", {v}), b_.Op("Sin", {v})});
  });
  Gradient(y, x);
  EXPECT_EQ(CountAdded("_PushLoopStack"), 1);
  EXPECT_EQ(CountAdded("_PopLoopStack"), 1);
  for (const Node* node : Added()) {
    if (node->op_name() != "_PushLoopStack") continue;
    std::vector<std::string> pushed;
    for (const Output& input : node->inputs()) pushed.push_back(input.ToString());
    std::sort(pushed.begin(), pushed.end());
    EXPECT_EQ(std::adjacent_find(pushed.begin(), pushed.end()), pushed.end());
  }
}

TEST_F(WalkTest, OfAValueWhoseShapeAloneIsReadTheShapeIsKept) {
  const Output x = Float("x", PartialShape{-1}),
               n = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}}, "n");
  const Output axis = b_.Const(std::vector<int32_t>{0});
  const Output y = Repeat(b_.ScalarConst(DType::kFloat, 0), n, [&](Loop& loop, Output v) {
    const Output wide = b_.Op("Mul", {v, b_.Op("Identity", {loop.Invariant(x)})});
    return b_.Op("Sum", {b_.Op("Neg", {wide}), loop.Invariant(axis)});
  });
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  Gradient(y, x);
  for (const Node* node : Added()) {
    if (node->op_name() != "_PushLoopStack") continue;
    for (const Output& input : node->inputs()) EXPECT_NE(input.node->op_name(), "Neg");
  }
}

}  // namespace
}  // namespace thalweg
