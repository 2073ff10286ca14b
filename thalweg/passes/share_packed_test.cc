// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/share_packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// With the attributes that the pass sets.
void DefineWith(OpRegistry& ops, const std::string& name, const std::vector<std::string>& inputs,
                const std::vector<std::pair<std::string, AttrValue>>& attrs) {
  OpDef def;
  def.name = name;
  for (const std::string& input : inputs) {
    def.inputs.push_back({.name = input, .type = DType::kFloat});
  }
  def.outputs.push_back({.name = "y", .type = DType::kFloat});
  if (name == "_PackedMatMul") {
    def.inputs.push_back({.name = "args", .type = DType::kFloat, .number_attr = "num_args"});
  }
  for (const auto& [attr, value] : attrs) {
    def.attrs.push_back({.name = attr, .kind = value.kind(), .default_value = value});
  }
  const Status status = ops.Define(std::move(def), nullptr, nullptr);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

class SharePackedTest : public PassTest {
 protected:
  SharePackedTest() {
    Define({"Placeholder", "VariableV2"}, ShapeFromAttr);
    Define({"Enter"}, UnchangedShape);
    DefineWith(*ops, "_PackMatrix", {"b"}, {{"transpose", false}});
    DefineWith(*ops, "_PackedMatMul", {"a", "b", "packed"},
               {{"num_args", int64_t{0}},
                {"transpose_a", false},
                {"transpose_b", false},
                {"fused_ops", std::vector<std::string>()},
                {"leakyrelu_alpha", 0.2f}});
    w = Matrix(64, 64);
  }
  Output Matrix(int64_t rows, int64_t cols, const char* op = "Placeholder") {
    return b.Op(op, {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{rows, cols}}});
  }
  Output Product(Output right, bool transpose_b = false, int64_t rows = 20) {
    return b.Op("MatMul", {Matrix(rows, 64), right}, {{"transpose_b", transpose_b}});
  }
  std::vector<std::string> Ops(std::vector<Output> fetches) {
    return Made(SharePacked(Step(std::move(fetches))));
  }

  Output w;
};

TEST_F(SharePackedTest, AFormOfAMatrixIsPackedOnce) {
  const Output p = Product(w), q = Product(w), r = Product(w);
  EXPECT_THAT(Ops({p, q, r}),
              ElementsAre("_PackMatrix", "_PackedMatMul", "_PackedMatMul", "_PackedMatMul"));
  const Node& first = *result.fetches[0].node;
  EXPECT_EQ(first.name(), p.node->name());
  EXPECT_EQ(result.Origin(first), p.node);
  ASSERT_EQ(first.num_inputs(), 3);
  EXPECT_EQ(first.input(1).node, first.input(2).node->input(0).node);
  EXPECT_EQ(first.input(2), result.fetches[2].node->input(2));
  EXPECT_FALSE(*first.input(2).node->Attr<bool>("transpose"));
  EXPECT_EQ(*first.Attr<std::string>("_fused_from"), p.node->Label());
}

TEST_F(SharePackedTest, FormsAreCountedApart) {
  const std::vector<Output> two = {Product(w), Product(w), Product(w, true), Product(w, true)};
  EXPECT_THAT(Ops(two), Each("MatMul"));
  std::vector<Output> three = two;
  three.push_back(Product(w, true));
  EXPECT_THAT(Ops(three), ElementsAre("MatMul", "MatMul", "_PackMatrix", "_PackedMatMul",
                                      "_PackedMatMul", "_PackedMatMul"));
  EXPECT_TRUE(*result.fetches[2].node->input(2).node->Attr<bool>("transpose"));
}

TEST_F(SharePackedTest, WhatWasFusedStays) {
  std::vector<Output> products;
  for (int i = 0; i < 3; ++i) {
    products.push_back(b.Op("_FusedMatMul", {Matrix(20, 64), w, Matrix(1, 64)},
                            {{"num_args", int64_t{1}},
                             {"fused_ops", std::vector<std::string>{"BiasAdd", "Relu"}},
                             {"_fused_from", std::string("all of it")}},
                            StrCat("fused", i)));
  }
  EXPECT_THAT(Ops(products),
              ElementsAre("_PackMatrix", "_PackedMatMul", "_PackedMatMul", "_PackedMatMul"));
  const Node& node = *result.fetches[1].node;
  ASSERT_EQ(node.num_inputs(), 4);
  EXPECT_EQ(*node.Attr<int64_t>("num_args"), 1);
  EXPECT_EQ(node.FindAttr("fused_ops")->ToString(),
            products[1].node->FindAttr("fused_ops")->ToString());
  EXPECT_EQ(*node.Attr<std::string>("_fused_from"), "all of it");
}

TEST_F(SharePackedTest, AMatrixFromOutsideALoopIsPackedThere) {
  const auto enter = [&](Output value, const char* frame, bool is_constant) {
    return b.Op("Enter", {value},
                {{"frame_name", std::string(frame)},
                 {"is_constant", is_constant},
                 {"parallel_iterations", int64_t{3}}});
  };
  const Output inner = enter(enter(w, "outer", true), "inner", true);
  EXPECT_THAT(Ops({Product(inner), Product(inner)}),
              ElementsAre("Enter", "Enter", "_PackMatrix", "Enter", "Enter", "_PackedMatMul",
                          "_PackedMatMul"));
  const Node* at = result.fetches[1].node->input(2).node;
  EXPECT_EQ(*at->Attr<std::string>("frame_name"), "inner");
  EXPECT_TRUE(*at->Attr<bool>("is_constant"));
  EXPECT_EQ(*at->Attr<int64_t>("parallel_iterations"), 3);
  at = at->input(0).node;
  EXPECT_EQ(*at->Attr<std::string>("frame_name"), "outer");
  EXPECT_EQ(at->input(0).node->op_name(), "_PackMatrix");
  EXPECT_THAT(Ops({Product(enter(w, "loop", false))}), ElementsAre("Enter", "MatMul"))
      << "the value of the first iteration only";
}

TEST_F(SharePackedTest, ControlInputsAndDevicesStay) {
  Node* before = b.OpNode("NoOp", {}, {}, "before");
  std::vector<Output> products;
  for (int i = 0; i < 3; ++i) {
    products.push_back(
        b.WithControls({before}).WithDevice("/device:CPU:1").Op("MatMul", {Matrix(20, 64), w}));
  }
  products.push_back(Product(w));
  EXPECT_THAT(Ops(products), ElementsAre("NoOp", "_PackMatrix", "_PackedMatMul", "_PackedMatMul",
                                         "_PackedMatMul", "MatMul"));
  const Node& node = *result.fetches[0].node;
  ASSERT_EQ(node.control_inputs().size(), 1u);
  EXPECT_EQ(node.control_inputs()[0]->name(), "before");
  EXPECT_EQ(node.device(), "/device:CPU:1");
  EXPECT_EQ(node.input(2).node->device(), "/device:CPU:1");
}

TEST_F(SharePackedTest, WherePackingIsNothingOrBitsWouldChangeProductsStay) {
  const auto three = [&](Output right, bool transpose, int64_t rows) {
    return Ops({Product(right, transpose, rows), Product(right, transpose, rows),
                Product(right, transpose, rows)});
  };
  EXPECT_THAT(three(w, true, 6), Each("MatMul")) << "dot products";
  EXPECT_THAT(three(w, false, 2048), Each("MatMul"));
  EXPECT_THAT(three(w, false, -1), Each("MatMul"));
  EXPECT_THAT(three(Matrix(64, 4), false, 20), Each("MatMul")) << "small";
  EXPECT_THAT(three(Matrix(64, -1), false, 20), Each("MatMul")) << "of unknown size";
  const Output variable = Matrix(64, 64, "VariableV2");
  EXPECT_THAT(three(variable, false, 20), ElementsAre("VariableV2", "MatMul", "MatMul", "MatMul"))
      << "what a reference shows may change";
  const Output marked = b.Op("_FusedMatMul", {Matrix(20, 64), w},
                             {{"num_args", int64_t{0}}, {"_weight", std::string("w")}}, "marked");
  EXPECT_THAT(Ops({marked, Product(w), Product(w)}),
              ElementsAre("_FusedMatMul", "MatMul", "MatMul"));
}

}  // namespace
}  // namespace thalweg
