// SPDX-License-Identifier: Apache-2.0
// The registry here knows no shapes: those of loops and branches are tested where it does (api).
#include "thalweg/graph/control_flow_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/function.h"
#include "thalweg/graph/function_body.h"
#include "thalweg/graph/test_function.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ControlFlowBuilderTest : public FunctionTest {
 protected:
  static Output Of(FunctionBuilder& builder, const char* op, std::vector<Output> inputs) {
    for (Output& input : inputs) input = *builder.Inside(input);
    return Add(*builder.body(), {.name = op, .op = op, .inputs = std::move(inputs)});
  }
  static std::string NameOf(const Output& call, const char* attr) {
    return call.node->Attr<FunctionRef>(attr)->name;
  }

  FunctionBuilder first_{graph_}, second_{graph_};
};

TEST_F(ControlFlowBuilderTest, ALoopPassesWhatEitherFunctionReads) {
  const Output limit = Const(*graph_, 9.0F), step = Const(*graph_, 2.0F),
               start = Const(*graph_, 1.0F);
  const Output x = *first_.AddArg("x", DType::kFloat, kScalar);
  const Output y = *second_.AddArg("x", DType::kFloat, kScalar);
  const Output goes_on = Of(first_, "Less", {x, limit});
  const Output next = Of(second_, "Mul", {Of(second_, "Mul", {y, step}), limit});
  const auto last = AddWhile({.name = "up"}, {start}, {&first_, {goes_on}}, {&second_, {next}});
  ASSERT_TRUE(last.ok()) << last.status().ToString();
  ASSERT_EQ(last->size(), 1u);
  const Node& loop = *(*last)[0].node;
  EXPECT_EQ(loop.op_name(), "StatelessWhile");
  EXPECT_EQ(loop.name(), "up");
  EXPECT_THAT(loop.inputs(), ElementsAre(start, limit, step));
  for (const char* attr : {"cond", "body"}) {
    const OpEntry* function = graph_->library().FindOp(NameOf((*last)[0], attr));
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->def.inputs.size(), 3u);
    EXPECT_EQ(function->def.outputs.size(), attr[0] == 'c' ? 1u : 3u);
  }
}

TEST_F(ControlFlowBuilderTest, EffectsMakeTheStatefulForm) {
  const Output shape = Const(*graph_, Tensor::Of<int32_t>(std::vector<int32_t>{}, Shape{0}));
  const Output otherwise = Const(*graph_, 1.0F);
  const Output noise = Add(*first_.body(), {.name = "noise",
                                            .op = "RandomUniform",
                                            .inputs = {*first_.Inside(shape)},
                                            .attrs = {{"dtype", DType::kFloat}}});
  const Output yes = Const(*graph_, Tensor::Scalar(true));
  const auto made = AddIf({.name = "maybe"}, yes, {&first_, {noise}}, {&second_, {otherwise}});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ((*made)[0].node->op_name(), "If");
  EXPECT_THAT((*made)[0].node->inputs(), ElementsAre(yes, shape, otherwise));
}

TEST_F(ControlFlowBuilderTest, ACaseReadsWhatAnyBranchReads) {
  const Output a = Const(*graph_, Tensor::Of<float>(std::vector<float>{1, 2}, Shape{2}));
  const Output b = Const(*graph_, Tensor::Of<float>(std::vector<float>{1, 2, 3}, Shape{3}));
  const Output index = Const(*graph_, Tensor::Scalar(int32_t{1}));
  const auto made = AddCase({.name = "choose"}, index, {{&first_, {a, a}}, {&second_, {b, a}}});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ((*made)[0].node->op_name(), "StatelessCase");
  EXPECT_THAT((*made)[0].node->inputs(), ElementsAre(index, a, b));
  EXPECT_EQ(made->size(), 2u);
}

TEST_F(ControlFlowBuilderTest, WhatDoesNotFitIsNamedAndAddsNothing) {
  const Output one = Const(*graph_, 1.0F), yes = Const(*graph_, Tensor::Scalar(true));
  const Output x = *first_.AddArg("x", DType::kFloat, kScalar);
  const Output y = *second_.AddArg("x", DType::kFloat, kScalar);
  const int nodes = graph_->num_nodes();
  const auto loop = [&](std::vector<Output> goes_on, std::vector<Output> next,
                        std::vector<Output> initial) {
    return Refusal(AddWhile({.name = "w"}, std::move(initial), {&first_, std::move(goes_on)},
                            {&second_, std::move(next)})
                       .status());
  };
  EXPECT_THAT(loop({x}, {y}, {one}), HasSubstr("gives one bool, this one gives float32"));
  EXPECT_THAT(loop({yes, yes}, {y}, {one}), HasSubstr("this one gives 2"));
  EXPECT_THAT(loop({yes}, {y, y}, {one}), HasSubstr("a loop of 1 variables gives 2 results"));
  EXPECT_THAT(loop({yes}, {y, y}, {one, one}),
              HasSubstr("the condition of a loop of 2 variables has 1"));
  EXPECT_THAT(loop({yes}, {yes}, {one}), HasSubstr("in the body, but bool"));
  EXPECT_THAT(loop({yes}, {Output()}, {one}), HasSubstr("result 0 is none"));
  EXPECT_THAT(loop({yes}, {y}, {Output()}), HasSubstr("no initial value"));
  EXPECT_THAT(Refusal(AddIf({}, yes, {&first_, {one}}, {&second_, {one}}).status()),
              HasSubstr("branch 0 has arguments"));
  FunctionBuilder a(graph_), b(graph_);
  EXPECT_THAT(Refusal(AddIf({}, yes, {&a, {one}}, {&b, {}}).status()),
              HasSubstr("branch 1 gives 0"));
  EXPECT_THAT(Refusal(AddIf({}, yes, {&a, {one}}, {&b, {yes}}).status()),
              HasSubstr("result 0 is float32 in branch 0 and bool in branch 1"));
  EXPECT_THAT(Refusal(AddCase({}, yes, {}).status()), HasSubstr("no branches"));
  FunctionBuilder stranger(std::make_shared<Graph>(std::make_shared<OpRegistry>()));
  EXPECT_THAT(Refusal(AddIf({}, yes, {&a, {}}, {&stranger, {}}).status()),
              HasSubstr("not all of one graph"));
  EXPECT_EQ(graph_->num_nodes(), nodes);
  EXPECT_TRUE(graph_->library().Names().empty());
}

}  // namespace
}  // namespace thalweg
