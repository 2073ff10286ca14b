// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph_text.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

TEST(GraphTextTest, OneLineANode) {
  auto registry = std::make_shared<OpRegistry>();
  registry->Op("Neg").Shape(UnchangedShape);
  registry->Op("Placeholder").Shape([](ShapeContext& c) -> Status {
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    c.set_output(0, shape);
    return OkStatus();
  });
  Graph graph(registry);
  GraphBuilder b(&graph);
  const Output x =
      b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{-1, 10}}}, "x");
  const Output w = b.Const(std::vector<float>{1, 2}, "w");
  Node* init = b.Group({x.node, w.node}, "init");
  b.WithControls({init})
      .WithDevice("/device:CPU:0")
      .Op("MatMul", {x, w}, {{"transpose_b", true}, {"transpose_a", false}}, "y");
  const Output axis = b.Const(Tensor::Scalar(0), "axis");
  Node* split = b.OpNode("Split", {axis, b.Op("Neg", {x})}, {{"num_split", 2}}, "s");
  b.WithSite(graph.InternSite("train.py:41")).Op("Neg", {{split, 1}}, {}, "n");
  b.Op("VariableV2", {}, {{"dtype", DType::kInt32}, {"shape", Shape{}}}, "v");
  const Output enter = b.Op("Enter", {x}, {{"frame_name", "f"}});
  b.Op("Merge", {enter, {}});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_EQ(GraphText(graph, {.sites = true}),
            "x:0 float32[?,10] = Placeholder() {shape: [?,10]}\n"
            "w:0 float32<unknown> = Const() {value: float32[2] 1 2}\n"
            "init = NoOp() ^x ^w\n"
            "y:0 float32<unknown> = MatMul(x, w) {transpose_b: true} @/device:CPU:0 ^init\n"
            "axis:0 int32<unknown> = Const() {value: int32[] 0}\n"
            "Neg:0 float32[?,10] = Neg(x)\n"
            "s:0 float32<unknown>, s:1 float32<unknown> = Split(axis, Neg)\n"
            "n:0 float32<unknown> = Neg(s:1)  # train.py:41\n"
            "v:0 int32&<unknown> = VariableV2() {shape: []}\n"
            "Enter:0 float32<unknown> = Enter(x) {frame_name: \"f\"}\n"
            "Merge:0 float32<unknown>, Merge:1 int32<unknown> = Merge(Enter, ?)\n");
  EXPECT_EQ(NodeText(*split, {.shapes = false}), "s:0 float32, s:1 float32 = Split(axis, Neg)");
}

}  // namespace
}  // namespace thalweg
