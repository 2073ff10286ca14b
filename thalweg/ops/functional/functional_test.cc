// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/function_body.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Square(x) = x * x, Join(x, y) = concat of both, Grow(x) = concat of x with itself.
constexpr std::string_view kLibrary = R"(
library {
  function {
    signature { name: "Square"
      input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
      attr { name: "T" type: "type" } }
    node_def { name: "m" op: "Mul" input: "x" input: "x"
      attr { key: "T" value { placeholder: "T" } } }
    ret { key: "y" value: "m:z:0" }
  }
  function {
    signature { name: "Grow" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
    node_def { name: "c" op: "ConcatV2" input: "x" input: "x" input: "axis:output:0"
      attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } }
      attr { key: "N" value { i: 2 } } }
    ret { key: "y" value: "c:output:0" }
  }
  function {
    signature { name: "Again" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "a" op: "Again" input: "x" }
    ret { key: "y" value: "a:y:0" }
  }
  function {
    signature { name: "Same" input_arg { name: "x" type: DT_RESOURCE }
      output_arg { name: "y" type: DT_RESOURCE } }
    node_def { name: "i" op: "Identity" input: "x" attr { key: "T" value { type: DT_RESOURCE } } }
    ret { key: "y" value: "i:output:0" }
  }
}
)";

class FunctionalTest : public testing::Test {
 protected:
  FunctionalTest() : graph_(AllRegistries().ops) {
    const Status status = ImportGraphDefText(kLibrary, graph_).status();
    EXPECT_TRUE(status.ok()) << status.ToString();
    x_ = *graph_.AddNode({.name = "x",
                          .op = "Placeholder",
                          .attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape{2, 3}}}});
    p_ = *graph_.AddNode({.name = "p",
                          .op = "Placeholder",
                          .attrs = {{"dtype", DType::kBool}, {"shape", PartialShape(Shape())}}});
  }

  PartialShape ShapeOf(NodeSpec spec) {
    Result<Node*> node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    return node.ok() ? (*node)->output_shape(0) : PartialShape::Unknown();
  }

  Graph graph_;
  Node* x_;
  Node* p_;
  const std::vector<DType> one_ = {DType::kFloat};
  const FunctionRef square_ = {"Square", {{"T", DType::kFloat}}};
  const FunctionRef grow_ = {"Grow", {}};
};

TEST_F(FunctionalTest, ShapesComeFromTheBody) {
  EXPECT_EQ(ShapeOf({.op = "Square", .inputs = {{x_, 0}}}), (PartialShape{2, 3}));
  EXPECT_EQ(ShapeOf({.op = "Grow", .inputs = {{x_, 0}}}), (PartialShape{4, 3}));
  EXPECT_EQ(ShapeOf({.op = "PartitionedCall",
                     .inputs = {{x_, 0}},
                     .attrs = {{"Tout", one_}, {"f", square_}}}),
            (PartialShape{2, 3}));
  EXPECT_EQ(ShapeOf({.op = "If",
                     .inputs = {{p_, 0}, {x_, 0}},
                     .attrs = {{"Tout", one_}, {"then_branch", square_}, {"else_branch", grow_}}}),
            (PartialShape{PartialShape::kUnknownDim, 3}));
  EXPECT_EQ(ShapeOf({.op = "SymbolicGradient",
                     .inputs = {{x_, 0}, {x_, 0}},
                     .attrs = {{"Tout", one_}, {"f", square_}}}),
            (PartialShape{2, 3}));
}

TEST_F(FunctionalTest, AHandleThatCameOutIsOfTheVariableThatWentIn) {
  const Result<Node*> variable = graph_.AddNode(
      {.op = "VarHandleOp", .attrs = {{"dtype", DType::kDouble}, {"shape", PartialShape{2, 3}}}});
  ASSERT_TRUE(variable.ok()) << variable.status().ToString();
  const Result<Node*> call = graph_.AddNode({.op = "Same", .inputs = {{*variable, 0}}});
  ASSERT_TRUE(call.ok()) << call.status().ToString();
  const HandleShape* const handle = (*call)->output_handle_shape(0);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(handle->dtype, DType::kDouble);
  EXPECT_EQ(handle->shape, (PartialShape{2, 3}));
  const FunctionRef same = {"Same", {}};
  const Result<Node*> loop = graph_.AddNode(
      {.op = "While", .inputs = {{*variable, 0}}, .attrs = {{"cond", same}, {"body", same}}});
  ASSERT_TRUE(loop.ok()) << loop.status().ToString();
  const HandleShape* const of_loop = (*loop)->output_handle_shape(0);
  ASSERT_NE(of_loop, nullptr);
  EXPECT_EQ(of_loop->dtype, DType::kDouble);
}

TEST_F(FunctionalTest, ALoopKeepsWhatItsBodyKeeps) {
  const auto loop = [&](const FunctionRef& body) {
    return ShapeOf(
        {.op = "While", .inputs = {{x_, 0}}, .attrs = {{"cond", square_}, {"body", body}}});
  };
  EXPECT_EQ(loop(square_), (PartialShape{2, 3}));
  EXPECT_EQ(loop(grow_), (PartialShape{PartialShape::kUnknownDim, 3}));
}

TEST_F(FunctionalTest, NothingIsKnownOfUnknownAndEndlessFunctions) {
  EXPECT_FALSE(ShapeOf({.op = "Again", .inputs = {{x_, 0}}}).known_rank());
  EXPECT_FALSE(ShapeOf({.op = "PartitionedCall",
                        .inputs = {{x_, 0}},
                        .attrs = {{"Tout", one_}, {"f", FunctionRef{"Sqare", {}}}}})
                   .known_rank());
}

TEST_F(FunctionalTest, BodiesAreKept) {
  const auto body = [&](const FunctionRef& f) {
    return InstantiateFunction(graph_.library(), graph_.shared_registry(), f);
  };
  const auto first = body(square_);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(*first, *body(square_));
  EXPECT_NE(*first, *body({"Square", {{"T", DType::kInt32}}}));
  EXPECT_EQ((*first)->rets[0].dtype(), DType::kFloat);
}

TEST_F(FunctionalTest, MalformedFunctionsAreNamed) {
  const auto error = [&](const FunctionRef& f) {
    return InstantiateFunction(graph_.library(), graph_.shared_registry(), f).status();
  };
  EXPECT_EQ(error({"Sqare", {}}).code(), Code::kNotFound);
  EXPECT_NE(error({"Sqare", {}}).message().find("Square"), std::string::npos);
  EXPECT_EQ(error({"Square", {}}).code(), Code::kInvalidArgument);
  EXPECT_NE(error({"Square", {}}).message().find("'T'"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
