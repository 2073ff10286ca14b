// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/gradients.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {
namespace {

class GradientsTest : public testing::Test {
 protected:
  GradientsTest()
      : graph_(AllRegistries().ops), b_(&graph_), machine_(compute::BestIsaLevel(), false) {}

  Output Float(std::string_view name) {
    return b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Dims())}},
                 name);
  }
  Result<std::vector<GradientValue>> Gradients(std::vector<Output> ys, std::vector<Output> xs,
                                               GradientOptions options = {}) {
    RETURN_IF_ERROR(b_.status());
    return AddGradients(&graph_, ys, xs, options);
  }
  // The value of a scalar gradient when x is 3.
  float Value(const Output& x, const GradientValue& gradient) {
    GraphRunner runner(*AllRegistries().kernels, machine_);
    const Result<std::vector<Tensor>> value =
        runner.Run({{x, Tensor::Scalar(3.0f)}}, {gradient.values});
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return value.ok() ? (*value)[0].scalar<float>() : 0;
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
};

TEST_F(GradientsTest, PathsAreSummed) {
  const Output x = Float("x");
  const Output y = b_.Op("AddV2", {b_.Op("Mul", {x, x}), b_.Op("Neg", {x})});
  const auto g = Gradients({y}, {x});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Value(x, (*g)[0]), 5.0f);  // 2x - 1
}

TEST_F(GradientsTest, SeveralYsAndGivenGradients) {
  const Output x = Float("x");
  const Output y0 = b_.Op("Mul", {x, x}), y1 = b_.Op("Neg", {x});
  GradientOptions options;
  options.grad_ys = {b_.ScalarConst(DType::kFloat, 10), Output()};
  const auto g = Gradients({y0, y1}, {x}, options);
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Value(x, (*g)[0]), 59.0f);  // 10 * 2x - 1
}

TEST_F(GradientsTest, InnerNodesHaveGradientsToo) {
  const Output x = Float("x");
  const Output u = b_.Op("Mul", {x, x});
  const Output y = b_.Op("Mul", {u, u});
  const auto g = Gradients({y}, {u, x, y});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Value(x, (*g)[0]), 18.0f);
  EXPECT_EQ(Value(x, (*g)[1]), 108.0f);
  EXPECT_EQ(Value(x, (*g)[2]), 1.0f);
}

TEST_F(GradientsTest, StopsAreConstants) {
  const Output x = Float("x");
  const Output u = b_.Op("Mul", {x, x});
  const Output y = b_.Op("Mul", {u, x});
  GradientOptions options;
  options.stop_gradients = {u};
  const auto g = Gradients({y}, {x}, options);
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Value(x, (*g)[0]), 9.0f);
  options.stop_gradients = {x, u};
  const auto both = Gradients({y}, {x, u}, options);
  ASSERT_TRUE(both.ok()) << both.status().ToString();
  EXPECT_EQ(Value(x, (*both)[0]), 9.0f);
  EXPECT_EQ(Value(x, (*both)[1]), 3.0f);
}

TEST_F(GradientsTest, BrokenPathsAreShown) {
  const Output x = Float("x");
  const Output rounded = b_.Op("Cast", {b_.Op("Cast", {x}, {{"DstT", DType::kInt32}}, "to_int")},
                               {{"DstT", DType::kFloat}}, "back");
  const Output y = b_.Op("Neg", {rounded}, {}, "y");
  const Status broken = Gradients({y}, {x}).status();
  EXPECT_EQ(broken.code(), Code::kInvalidArgument);
  EXPECT_NE(broken.message().find("breaks at Cast 'back'"), std::string_view::npos)
      << broken.ToString();
  const Status apart = Gradients({y}, {Float("other")}).status();
  EXPECT_NE(apart.message().find("does not depend on 'other'"), std::string_view::npos)
      << apart.ToString();
  GradientOptions options;
  options.allow_unconnected = true;
  const auto absent = Gradients({y}, {x}, options);
  ASSERT_TRUE(absent.ok());
  EXPECT_FALSE((*absent)[0].present());
}

TEST_F(GradientsTest, OverridesReplaceAGradient) {
  const Output x = Float("x");
  const Output y = b_.Op("Neg", {x}, {{"_gradient_op_type", "Tenfold"}});
  EXPECT_EQ(Gradients({y}, {x}).status().code(), Code::kNotFound);
  GradientOptions options;
  options.overrides["Tenfold"] = [](GradientContext& c) {
    c.set_input_grad(0, c.b().Op("Mul", {c.grad(0), c.b().ScalarConst(DType::kFloat, 10)}));
    return c.b().status();
  };
  const auto g = Gradients({y}, {x}, options);
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Value(x, (*g)[0]), 10.0f);
}

TEST_F(GradientsTest, ArgumentsAreChecked) {
  const Output x = Float("x");
  const Output whole = b_.Op("Cast", {x}, {{"DstT", DType::kInt32}});
  EXPECT_EQ(Gradients({whole}, {x}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Gradients({}, {x}).status().code(), Code::kInvalidArgument);
  GradientOptions options;
  options.grad_ys = {x, x};
  EXPECT_EQ(Gradients({x}, {x}, options).status().code(), Code::kInvalidArgument);
}

TEST_F(GradientsTest, ALongChainIsOnlyLong) {
  const Output x = Float("x");
  Output y = x;
  for (int i = 0; i < 20000; ++i) y = b_.Op("Neg", {y});
  const auto g = Gradients({y}, {x});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Value(x, (*g)[0]), 1.0f);
}

// What is repeated along reduced dimensions takes its shape from the graph where it can.
TEST_F(GradientsTest, SumsOfPartlyUnknownShapes) {
  struct Case {
    PartialShape shape;
    std::vector<int32_t> axes;
    bool keep;
    std::vector<float> factors, gradient;
    bool known;
  };
  const std::vector<float> by_row = {1, 1, 1, 2, 2, 2}, by_column = {1, 2, 3, 1, 2, 3};
  const std::vector<float> all(6, 4.0f);
  GraphRunner runner(*AllRegistries().kernels, machine_);
  for (const Case& c : std::vector<Case>{{{-1, 3}, {1}, false, {1, 2}, by_row, true},
                                         {{-1, 3}, {-1}, true, {1, 2}, by_row, true},
                                         {{-1, 3}, {0}, false, {1, 2, 3}, by_column, true},
                                         {{2, -1}, {0}, false, {1, 2, 3}, by_column, true},
                                         {{-1, -1}, {1}, false, {1, 2}, by_row, true},
                                         {{-1, -1}, {0, 1}, false, {4}, all, true},
                                         {{-1, -1}, {}, false, by_row, by_row, false},
                                         {{-1, -1, 1}, {2}, false, by_row, by_row, false}}) {
    SCOPED_TRACE(StrCat(c.shape.ToString(), " keep ", c.keep, " axes ", c.axes.size()));
    Graph graph(AllRegistries().ops);
    GraphBuilder b(&graph);
    const Output x = b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", c.shape}}, "x");
    const Output y = b.Op("Sum", {x, b.Const(c.axes)}, {{"keep_dims", c.keep}});
    const auto g = AddGradients(
        &graph,
        {b.Op("Mul",
              {b.Op("Reshape", {y, b.Const(std::vector<int32_t>{-1})}), b.Const(c.factors)})},
        {x}, {});
    ASSERT_TRUE(g.ok()) << g.status().ToString();
    const Shape fed = c.shape.rank() == 3 ? Shape{2, 3, 1} : Shape{2, 3};
    const auto value =
        runner.Run({{x, Tensor::Of<float>(std::vector<float>(6, 1.0f), fed)}}, {(*g)[0].values});
    ASSERT_TRUE(value.ok()) << value.status().ToString();
    EXPECT_EQ((*value)[0].shape(), fed);
    EXPECT_TRUE(std::ranges::equal((*value)[0].data<float>(), c.gradient));
    const std::vector<Node*> nodes = graph.Nodes();
    EXPECT_EQ(c.known, std::ranges::none_of(
                           nodes, [](Node* node) { return node->op_name() == "DynamicStitch"; }));
  }
}

TEST_F(GradientsTest, SumsOfNoElements) {
  const Output x =
      b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{-1, 0, 2}}}, "x");
  const Output y = b_.Op("Sum", {x, b_.Const(std::vector<int32_t>{2})});
  const auto g = Gradients({y}, {x});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  GraphRunner runner(*AllRegistries().kernels, machine_);
  const auto value =
      runner.Run({{x, Tensor::Of<float>(std::vector<float>(), Shape{5, 0, 2})}}, {(*g)[0].values});
  ASSERT_TRUE(value.ok()) << value.status().ToString();
  EXPECT_EQ((*value)[0].shape(), (Shape{5, 0, 2}));
}

}  // namespace
}  // namespace thalweg
