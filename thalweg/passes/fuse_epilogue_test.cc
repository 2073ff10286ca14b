// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fuse_epilogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;

Status Square(ShapeContext& c) {
  c.set_output(0, PartialShape{64, 64});
  return OkStatus();
}

Status EpilogueImage(ShapeContext& c) {
  c.set_output(0, PartialShape{2, 5, 5, 64});
  return OkStatus();
}

class FuseEpilogueTest : public PassTest {
 protected:
  FuseEpilogueTest() {
    Define({"Add", "AddV2", "BiasAdd", "Const", "Enter", "Identity", "MatMul", "Placeholder",
            "VariableV2"},
           Square);
    Define({"Conv2D", "FusedBatchNormV3", "_FusedConv2D"}, EpilogueImage);
    Define({"TensorArrayV3", "TensorArraySizeV3"}, [](ShapeContext&) { return OkStatus(); });
    Define({"Variable"}, [](ShapeContext& c) {
      c.set_output(0, PartialShape{1, 1, 64, 64});
      return OkStatus();
    });
    x = Placeholder("x");
    w = Placeholder("w");
  }
  Output Unary(std::string_view op, Output value, std::string_view name) {
    return b.Op(op, {value}, {}, name);
  }
  Output MatMul(Output left, Output right, std::string_view name = "product") {
    return b.Op("MatMul", {left, right}, {{"transpose_b", true}}, name);
  }
  Output Variable(std::string_view name) {
    return b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{64, 64}}},
                name);
  }
  Output Conv(Output image, std::string_view name) {
    return b.Op("Conv2D", {image, Variable(StrCat(name, "_filter"))},
                {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}},
                name);
  }

  Output x, w;
};

TEST_F(FuseEpilogueTest, BiasResidualAndActivationJoinTheProduct) {
  const Output bias = b.Op("BiasAdd", {MatMul(x, w), Placeholder("bias")}, {}, "biased");
  const Output sum = b.Op("AddV2", {Placeholder("residual"), bias}, {}, "sum");
  const Output y = b.Op("LeakyRelu", {sum}, {{"alpha", 0.5f}}, "y");
  EXPECT_THAT(Made(FuseEpilogues(Step({y}))), ElementsAre("_FusedMatMul"));
  const Node& fused = *result.fetches[0].node;
  EXPECT_EQ(fused.name(), "y");
  EXPECT_EQ(result.Origin(fused), y.node);
  EXPECT_EQ(*fused.Attr<std::vector<std::string>>("fused_ops"),
            (std::vector<std::string>{"BiasAdd", "Add", "LeakyRelu"}));
  EXPECT_EQ(*fused.Attr<float>("leakyrelu_alpha"), 0.5f);
  EXPECT_TRUE(*fused.Attr<bool>("transpose_b"));
  ASSERT_EQ(fused.num_inputs(), 4);
  EXPECT_EQ(fused.input(2).node->name(), "bias");
  EXPECT_EQ(fused.input(3).node->name(), "residual");
  EXPECT_EQ(*fused.Attr<std::string>("_fused_from"),
            "MatMul 'product', BiasAdd 'biased', AddV2 'sum', LeakyRelu 'y'");
}

TEST_F(FuseEpilogueTest, ValuesThatOthersSeeStay) {
  const Output product = MatMul(x, w);
  const Output y = Unary("Relu", product, "y");
  EXPECT_THAT(Made(FuseEpilogues(Step({y, product}))), ElementsAre("MatMul", "Relu"));
  const Output other = Unary("Neg", product, "other");
  EXPECT_THAT(Made(FuseEpilogues(Step({y, other}))), ElementsAre("MatMul", "Relu", "Neg"));
  EXPECT_THAT(Made(FuseEpilogues(Step({y}))), ElementsAre("_FusedMatMul"));
  const Output after = b.WithControls({product.node}).Op("Neg", {x}, {}, "after");
  EXPECT_THAT(Made(FuseEpilogues(Step({y, after}))), ElementsAre("MatMul", "Relu", "Neg"));
  EXPECT_THAT(Made(FuseEpilogues(Step({y}, {product.node}))), ElementsAre("MatMul", "Relu"));
  const Output twice = b.Op("AddV2", {MatMul(x, w, "p2"), x}, {}, "no_row");
  EXPECT_THAT(Made(FuseEpilogues(Step({twice}))), ElementsAre("MatMul", "AddV2"));
}

TEST_F(FuseEpilogueTest, ControlInputsOfAllParts) {
  Node* first = b.OpNode("NoOp", {}, {}, "first");
  Node* second = b.OpNode("NoOp", {}, {}, "second");
  const Output product = b.WithControls({first}).Op("MatMul", {x, w}, {}, "product");
  const Output y = b.WithControls({first, second}).Op("Relu", {product}, {}, "y");
  EXPECT_THAT(Made(FuseEpilogues(Step({y}))), ElementsAre("NoOp", "NoOp", "_FusedMatMul"));
  EXPECT_EQ(result.fetches[0].node->control_inputs().size(), 2u);
}

TEST_F(FuseEpilogueTest, OtherDevicesAndColocationStay) {
  const Output product = MatMul(x, w);
  const Output y = b.WithDevice("/device:CPU:1").Op("Relu", {product}, {}, "y");
  const Output z = b.ColocatedWith(*x.node).Op("Relu", {MatMul(x, w, "p2")}, {}, "z");
  EXPECT_THAT(Made(FuseEpilogues(Step({y, z}))), ElementsAre("MatMul", "Relu", "MatMul", "Relu"));
}

TEST_F(FuseEpilogueTest, ConvolutionsTakeNormAndResidual) {
  const Output skip = {Norm(Conv(x, "c1"), "n1", false), 0},
               main = {Norm(Conv(x, "c2"), "n2", false), 0};
  const Output y = Unary("Relu", b.Op("AddV2", {main, skip}, {}, "sum"), "y");
  EXPECT_THAT(Made(FuseEpilogues(Step({y}))),
              ElementsAre("VariableV2", "VariableV2", "_FusedConv2D", "_FusedConv2D"));
  const Node& fused = *result.fetches[0].node;
  EXPECT_EQ(*fused.Attr<std::vector<std::string>>("fused_ops"),
            (std::vector<std::string>{"FusedBatchNorm", "Add", "Relu"}));
  EXPECT_EQ(*fused.Attr<float>("epsilon"), 0.25f);
  ASSERT_EQ(fused.num_inputs(), 7);
  EXPECT_EQ(fused.input(6).node->op_name(), "_FusedConv2D");
  EXPECT_EQ(*fused.input(6).node->Attr<std::vector<std::string>>("fused_ops"),
            std::vector<std::string>{"FusedBatchNorm"});
  const std::string from = *fused.Attr<std::string>("_fused_from");
  EXPECT_TRUE(from.find("AddV2 'sum', Relu 'y'") != std::string::npos) << from;
}

TEST_F(FuseEpilogueTest, TrainingNormsOtherReadersAndBareActivationsStay) {
  const Output trained = Unary("Tanh", {Norm(Conv(x, "c1"), "n1", true), 0}, "y1");
  EXPECT_THAT(Made(FuseEpilogues(Step({trained}))),
              ElementsAre("VariableV2", "Conv2D", "FusedBatchNormV3", "Tanh"));
  const Output norm = {Norm(Conv(x, "c2"), "n2", false), 0};
  EXPECT_THAT(Made(FuseEpilogues(Step({{norm.node, 1}, norm}))),
              ElementsAre("VariableV2", "Conv2D", "FusedBatchNormV3"))
      << "the moments are fetched";
  const Output bare = Unary("Relu", Conv(x, "c3"), "y3");
  EXPECT_THAT(Made(FuseEpilogues(Step({bare}))), ElementsAre("VariableV2", "Conv2D", "Relu"));
}

TEST_F(FuseEpilogueTest, FiltersAreMarked) {
  const Output filter =
      b.Op("Variable", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{1, 1, 64, 64}}}, "f");
  const AttrMap attrs = {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                         {"padding", std::string("SAME")}};
  const Output y = b.Op("Conv2D", {x, filter}, attrs, "y");
  const Output z = {Norm(b.Op("Conv2D", {x, filter}, attrs, "c"), "z", false), 0};
  Result<StepGraph> step = FuseEpilogues(Step({y, z}));
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  Made(MarkWeights(*step));
  EXPECT_EQ(*result.fetches[0].node->Attr<std::string>("_weight"), "f convolving");
  EXPECT_EQ(result.fetches[1].node->op_name(), "_FusedConv2D");
  EXPECT_EQ(*result.fetches[1].node->Attr<std::string>("_weight"), "f in z");
}

TEST_F(FuseEpilogueTest, ProductsOfLevelsAreMarked) {
  Define({"QuantizedMatMul", "QuantizedDepthwiseConv2D"}, Square);
  Define({"QuantizedConv2D"}, EpilogueImage);
  const auto product = [&](std::string_view op, Output value, std::string_view name) {
    const Output end = Placeholder(StrCat(name, "_end"));
    const Output given = b.Op("Placeholder", {}, {{"dtype", DType::kQuint8}});
    AttrMap attrs;
    if (op != "QuantizedMatMul") {
      attrs = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
    }
    return b.Op(op, {given, value, end, end, end, end}, attrs, name);
  };
  const auto weight = [&](std::string_view op, std::string_view name) {
    return b.Op(op, {}, {{"dtype", DType::kQuint8}, {"shape", PartialShape{64, 64}}}, name);
  };
  const Output matrix = weight("VariableV2", "m"), filter = weight("Variable", "f");
  Made(MarkWeights(
      Step({product("QuantizedMatMul", matrix, "p"), product("QuantizedConv2D", filter, "q"),
            product("QuantizedDepthwiseConv2D", filter, "r")})));
  ASSERT_EQ(result.fetches.size(), 3u);
  EXPECT_EQ(result.fetches[0].node->op_name(), "QuantizedMatMul");
  EXPECT_EQ(*result.fetches[0].node->Attr<std::string>("_weight"), "m");
  EXPECT_EQ(*result.fetches[1].node->Attr<std::string>("_weight"), "f convolving levels");
  EXPECT_EQ(result.fetches[2].node->FindAttr("_weight"), nullptr);
}

TEST_F(FuseEpilogueTest, ProductsWithConstantsAndUnwrittenVariablesAreMarked) {
  const Output constant =
      b.Const(Tensor::Of<float>(std::vector<float>(64 * 64), Shape{64, 64}), "c");
  const Output variable = Variable("v");
  const Output read = Unary("Identity", variable, "read");
  const Output enter =
      b.Op("Enter", {read}, {{"frame_name", std::string("f")}, {"is_constant", true}}, "enter");
  const Output p = MatMul(x, constant, "p"), q = MatMul(x, enter, "q"), r = MatMul(x, w, "r");
  Made(MarkWeights(Step({p, q, r})));
  EXPECT_EQ(*result.fetches[0].node->Attr<std::string>("_weight"), "c transposed");
  EXPECT_EQ(*result.fetches[1].node->Attr<std::string>("_weight"), "v transposed");
  EXPECT_EQ(*result.fetches[0].node->Attr<std::string>("_fused_from"), "MatMul 'p'");
  EXPECT_EQ(result.fetches[2].node->op_name(), "MatMul");
  // A step that writes the variable does not mark it.
  const Output assign = b.Op("AssignAdd", {variable, x}, {}, "assign");
  Made(MarkWeights(Step({q}, {assign.node})));
  EXPECT_EQ(result.fetches[0].node->op_name(), "MatMul");
  Made(MarkWeights(Step({q})));
  EXPECT_EQ(result.fetches[0].node->op_name(), "_FusedMatMul");
  // A TensorArray is none, wherever its handle goes.
  const Output array = b.Op("TensorArrayV3", {b.Const(Tensor::Scalar<int32_t>(1), "size")},
                            {{"dtype", DType::kFloat}}, "array");
  const Output size = b.Op("TensorArraySizeV3", {array, {array.node, 1}}, {}, "how_many");
  Made(MarkWeights(Step({q, size})));
  EXPECT_EQ(result.fetches[0].node->op_name(), "_FusedMatMul");
}

TEST_F(FuseEpilogueTest, MarkingKeepsWhatWasFused) {
  const Output read = Unary("Identity", Variable("v"), "read");
  const Output y = Unary("Relu", MatMul(x, read), "y");
  Result<StepGraph> step = FuseEpilogues(Step({y}));
  ASSERT_TRUE(step.ok());
  Made(MarkWeights(*step));
  const Node& node = *result.fetches[0].node;
  EXPECT_EQ(node.name(), "y");
  EXPECT_EQ(*node.Attr<std::string>("_weight"), "v transposed");
  EXPECT_EQ(*node.Attr<std::string>("_fused_from"), "MatMul 'product', Relu 'y'");
  EXPECT_EQ(*node.Attr<std::vector<std::string>>("fused_ops"), std::vector<std::string>{"Relu"});
}

}  // namespace
}  // namespace thalweg
