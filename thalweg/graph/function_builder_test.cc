// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/function.h"
#include "thalweg/graph/function_body.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/graph_text.h"
#include "thalweg/graph/test_function.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class FunctionBuilderTest : public FunctionTest {
 protected:
  static Output Mul(Graph& graph, Output a, Output b, const char* name = "Mul") {
    return Add(graph, {.name = name, .op = "Mul", .inputs = {a, b}});
  }
  static Output Inside(FunctionBuilder& builder, Output output) {
    const Result<Output> inside = builder.Inside(output);
    EXPECT_TRUE(inside.ok()) << inside.status().ToString();
    return inside.ok() ? *inside : Output();
  }
  static std::string Defined(FunctionBuilder& builder, const FunctionSpec& spec) {
    const Result<std::string> name = builder.Define(spec);
    EXPECT_TRUE(name.ok()) << name.status().ToString();
    return name.ok() ? *name : "";
  }
  std::shared_ptr<const FunctionBody> BodyOf(const std::string& name) {
    Result<std::shared_ptr<const FunctionBody>> body =
        InstantiateFunction(graph_->library(), registry_, {name, {}});
    EXPECT_TRUE(body.ok()) << body.status().ToString();
    return body.ok() ? *body : nullptr;
  }
};

TEST_F(FunctionBuilderTest, WhatIsReadFromOutsideIsAnArgument) {
  const Output w = Const(*graph_, 2.0F, "layer/W");
  FunctionBuilder builder(graph_);
  const Output x = *builder.AddArg("X", DType::kFloat, kScalar);
  const Output once = Mul(*builder.body(), x, Inside(builder, w));
  const Output twice = Mul(*builder.body(), once, Inside(builder, w));
  EXPECT_EQ(Defined(builder, {.name = "scale", .results = {twice, w}, .result_names = {"y", "w"}}),
            "scale");
  EXPECT_THAT(builder.captures(), ElementsAre(w));

  const OpEntry* op = graph_->library().FindOp("scale");
  ASSERT_NE(op, nullptr);
  ASSERT_EQ(op->def.inputs.size(), 2u);
  EXPECT_EQ(op->def.inputs[0].name, "x");
  EXPECT_EQ(op->def.inputs[1].name, "layer_w");
  EXPECT_FALSE(op->def.is_stateful);
  const std::shared_ptr<const FunctionBody> body = BodyOf("scale");
  ASSERT_NE(body, nullptr);
  ASSERT_EQ(body->args.size(), 2u);
  ASSERT_EQ(body->rets.size(), 2u);
  EXPECT_EQ(body->rets[0].node->op_name(), "Mul");
  EXPECT_EQ(body->rets[0].node->input(1).node, body->args[1]);
  EXPECT_EQ(body->rets[0].node->input(0).node->input(0).node, body->args[0]);
  EXPECT_EQ(body->rets[1].node, body->args[1]);  // a result that is only passed on
  // A call is an operation.
  const Output call = Add(*graph_, {.op = "scale", .inputs = {w, w}});
  EXPECT_EQ(call.node->num_outputs(), 2);
}

TEST_F(FunctionBuilderTest, NamesOfArgumentsNodesAndListsDoNotClash) {
  FunctionBuilder builder(graph_);
  const Output x = *builder.AddArg("x", DType::kFloat, kScalar);
  const Output other = *builder.AddArg("x", DType::kFloat, kScalar);
  const Output third = *builder.AddArg("7/\xc3\xa4", DType::kFloat, kScalar);
  const Output split =
      Add(*builder.body(), {.name = "x", .op = "Unpack", .inputs = {x}, .attrs = {{"num", 2}}});
  const Output last{split.node, 1};
  const Output sum = Mul(*builder.body(), other, last, "S");
  const Output more = Mul(*builder.body(), third, sum, "s");
  Defined(builder, {.name = "f", .results = {sum, more, last}});
  const std::shared_ptr<const FunctionBody> body = BodyOf("f");
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->rets[2].index, 1);
  EXPECT_EQ(body->rets[0].node->input(0).node, body->args[1]);
  EXPECT_EQ(body->rets[1].node->input(0).node, body->args[2]);
  const OpDef& def = graph_->library().FindOp("f")->def;
  EXPECT_NE(def.outputs[0].name, def.outputs[1].name);
  EXPECT_EQ(def.inputs[2].name, "arg_7___");
}

TEST_F(FunctionBuilderTest, AnInnerFunctionReadsThroughTheOuterOne) {
  const Output w = Const(*graph_, 2.0F, "w");
  const auto outer = std::make_shared<FunctionBuilder>(graph_);
  const Output x = *outer->AddArg("x", DType::kFloat, kScalar);
  FunctionBuilder inner(outer->body(), outer);
  const Output y = Mul(*inner.body(), Inside(inner, w), Inside(inner, x));
  const std::string name = Defined(inner, {.name = "inner", .results = {y}});
  EXPECT_EQ(graph_->library().FindOp("inner"), nullptr);
  ASSERT_THAT(outer->captures(), ElementsAre(w));
  ASSERT_THAT(inner.captures(), UnorderedElementsAre(Inside(*outer, w), x));
  const Output call = Add(*outer->body(), {.op = name, .inputs = inner.captures()});
  Defined(*outer, {.name = "outer", .results = {call}});
  EXPECT_NE(graph_->library().FindOp("inner"), nullptr);  // both travel with the graph
  const std::shared_ptr<const FunctionBody> body = BodyOf("outer");
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->rets[0].node->op_name(), "inner");
  EXPECT_EQ(body->rets[0].node->num_inputs(), 2);
}

TEST_F(FunctionBuilderTest, EqualFunctionsAreOne) {
  const auto define = [&](float factor) {
    FunctionBuilder builder(graph_);
    const Output x = *builder.AddArg("x", DType::kFloat, kScalar);
    const Output y = Mul(*builder.body(), x, Const(*builder.body(), factor, "c"));
    return Defined(builder, {.name = "f", .append_hash = true, .results = {y}});
  };
  const std::string two = define(2);
  EXPECT_TRUE(two.starts_with("f_"));
  EXPECT_EQ(define(2), two);
  EXPECT_NE(define(3), two);
  EXPECT_EQ(graph_->library().Names().size(), 2u);
}

TEST_F(FunctionBuilderTest, WhatHasStateSaysSo) {
  FunctionBuilder builder(graph_);
  const Output shape = Add(
      *builder.body(), {.op = "Const",
                        .attrs = {{"dtype", DType::kInt32},
                                  {"value", Tensor::Of<int32_t>(std::vector<int32_t>{2}, {1})}}});
  const Output y =
      Add(*builder.body(),
          {.op = "RandomUniform", .inputs = {shape}, .attrs = {{"dtype", DType::kFloat}}});
  Defined(builder, {.name = "noise", .results = {y}});
  EXPECT_TRUE(graph_->library().FindOp("noise")->def.is_stateful);
  // The function goes with the graph.
  const Result<std::string> bytes = ExportGraphDefBytes(*graph_);
  ASSERT_TRUE(bytes.ok());
  Graph other(registry_);
  ASSERT_TRUE(ImportGraphDefBytes(*bytes, other).ok());
  EXPECT_NE(other.library().FindOp("noise"), nullptr);
}

TEST_F(FunctionBuilderTest, WhatIsCopiedIsWhatTheOutputNeeds) {
  const Output a = Const(*graph_, 1.0F, "a");
  Const(*graph_, 5.0F, "unneeded");
  const Output b = Mul(*graph_, a, a, "b");
  const Output c = Mul(*graph_, b, a, "c");
  FunctionBuilder builder(graph_);
  const Result<Output> copy = builder.CopyInside(c);
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_EQ(&copy->node->graph(), builder.body().get());
  EXPECT_EQ(*builder.CopyInside(c), *copy);  // once
  Defined(builder, {.name = "factory", .results = {*copy}});
  EXPECT_TRUE(builder.captures().empty());
  EXPECT_EQ(builder.body()->num_nodes(), 3);
  const std::shared_ptr<const FunctionBody> body = BodyOf("factory");
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->graph->num_nodes(), 3);
}

TEST_F(FunctionBuilderTest, WhatOnlyASessionHasIsNotCopied) {
  const Output fed =
      Add(*graph_, {.name = "n", .op = "Placeholder", .attrs = {{"dtype", DType::kFloat}}});
  const Output y = Mul(*graph_, fed, fed);
  FunctionBuilder builder(graph_);
  EXPECT_EQ(Refusal(builder.CopyInside(y).status(), Code::kFailedPrecondition),
            "'Mul' depends on Placeholder 'n', which only a session has");
  const Output variable = Add(
      *graph_,
      {.name = "v", .op = "VarHandleOp", .attrs = {{"dtype", DType::kFloat}, {"shape", kScalar}}});
  const Output read = Add(
      *graph_, {.op = "ReadVariableOp", .inputs = {variable}, .attrs = {{"dtype", DType::kFloat}}});
  EXPECT_THAT(Refusal(builder.CopyInside(read).status(), Code::kFailedPrecondition),
              HasSubstr("VarHandleOp 'v'"));
  EXPECT_EQ(builder.body()->num_nodes(), 0);
}

TEST_F(FunctionBuilderTest, WhatCannotBeIsRefused) {
  const Output w = Const(*graph_, 2.0F, "w");
  Graph elsewhere(registry_);
  FunctionBuilder builder(graph_);
  EXPECT_THAT(Refusal(builder.Inside(Const(elsewhere, 1.0F, "far")).status()),
              HasSubstr("'far' is of a graph that does not hold this function"));
  EXPECT_THAT(Refusal(builder.Inside({w.node, 3}).status()), HasSubstr("there is no output 3"));
  const Output x = *builder.AddArg("x", DType::kFloat, kScalar);
  Inside(builder, w);
  EXPECT_THAT(
      Refusal(builder.AddArg("y", DType::kFloat, kScalar).status(), Code::kFailedPrecondition),
      HasSubstr("argument 'y' comes after the body has read 'w'"));
  EXPECT_EQ(Refusal(builder.Define({.name = "f", .results = {x, Output()}}).status()),
            "function 'f': result 1: no tensor");
  EXPECT_EQ(
      Refusal(builder.Define({.name = "f", .results = {x}, .result_names = {"a", "b"}}).status()),
      "function 'f': there are 1 results and 2 names for them");
  EXPECT_TRUE(graph_->library().Names().empty());
  Defined(builder, {.name = "f", .results = {x}});
  EXPECT_THAT(Refusal(builder.Define({.name = "f", .results = {x, x}}).status()),
              HasSubstr("'f' is in the library with another definition"));
  EXPECT_EQ(
      Refusal(
          builder.Define({.name = "g", .results = {x, x}, .result_names = {"a", "a"}}).status()),
      "function 'g': results 0 and 1 are both called 'a'");
}

}  // namespace
}  // namespace thalweg
