// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(PlaceholderTest, AsksToBeFed) {
  for (const char* op : {"Placeholder", "PlaceholderV2"}) {
    KernelCall call(op, {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{-1, 3}}});
    const Status status = call.Run();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("You must feed a value for placeholder tensor"),
              std::string_view::npos);
    EXPECT_EQ(call.node().output_shape(0), (PartialShape{-1, 3}));
  }
}

TEST(PlaceholderTest, AScalarShapeOfOldProducersMeansUnknown) {
  Graph graph(AllRegistries().ops);
  graph.versions().producer = 21;
  GraphBuilder b(&graph);
  const AttrMap attrs = {{"dtype", DType::kFloat}, {"shape", Shape()}};
  EXPECT_FALSE(b.Op("Placeholder", {}, attrs).shape().known_rank());
  graph.versions().producer = 22;
  EXPECT_EQ(b.Op("Placeholder", {}, attrs).shape().rank(), 0);
  // What is imported obeys the older of both; what is refused leaves no trace.
  const std::string node =
      "node { name: 'old' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'shape' value { shape {} } } } versions { producer: 21 } ";
  EXPECT_FALSE(ImportGraphDefText(node + "node { name: 'b' op: 'Nowhere' }", graph).ok());
  EXPECT_EQ(graph.versions().producer, 22);
  ASSERT_TRUE(ImportGraphDefText(node, graph).ok());
  EXPECT_FALSE(graph.FindNode("old")->output_shape(0).known_rank());
  EXPECT_EQ(graph.versions().producer, 21);
}

TEST(PlaceholderWithDefaultTest, GivesTheDefault) {
  OpCase("PlaceholderWithDefault")
      .Types({{"dtype", DType::kDouble}})
      .Reference([](auto& r) { r.out = {r.in[0]}; })
      .Try({In({2, 3})}, {{"shape", PartialShape{2, 3}}})
      .Bad({In({2, 3})}, {{"shape", PartialShape{-1, 4}}}, Code::kInvalidArgument, "does not fit")
      .Trivial("the default is passed on")
      .ShapesFromValues("a fed value may have any shape that the attribute admits")
      .Run();
}

}  // namespace
}  // namespace thalweg
