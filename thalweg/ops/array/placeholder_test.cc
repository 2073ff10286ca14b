// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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
  graph.versions().producer = 23;
  GraphBuilder b(&graph);
  const AttrMap attrs = {{"dtype", DType::kFloat}, {"shape", Shape()}};
  EXPECT_FALSE(b.Op("Placeholder", {}, attrs).shape().known_rank());
  graph.versions().producer = 24;
  EXPECT_EQ(b.Op("Placeholder", {}, attrs).shape().rank(), 0);
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
