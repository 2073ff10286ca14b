// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/shape_inference.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_values.h"

namespace thalweg {
namespace {

class ShapeInferenceTest : public ::testing::Test {
 protected:
  ShapeInferenceTest() {
    registry_->Op("Placeholder").Shape([](ShapeContext& c) -> Status {
      ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
      c.set_output(0, shape);
      return OkStatus();
    });
    registry_->Op("Const").Shape([](ShapeContext& c) -> Status {
      ASSIGN_OR_RETURN(Tensor value, c.Attr<Tensor>("value"));
      c.set_output(0, value.shape());
      return OkStatus();
    });
    for (const char* op : {"Identity", "Cast", "Neg"}) registry_->Op(op).Shape(UnchangedShape);
    registry_->Op("AddV2").Shape(BroadcastBinaryShape);
    registry_->Op("AddN").Shape(MergedInputsShape);
  }
  ~ShapeInferenceTest() override { EXPECT_TRUE(b_.ok()) << b_.status().ToString(); }

  Output Placeholder(PartialShape shape, DType dtype = DType::kFloat) {
    return b_.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}});
  }
  Output Ints(std::vector<int32_t> values) { return b_.Const(values); }
  Output Int(int32_t value) { return b_.Const(Tensor::Scalar(value)); }
  // Element `i` of a vector, as x[i] makes it.
  Output Element(Output vector, int i) {
    return b_.Op("StridedSlice", {vector, Ints({i}), Ints({i + 1}), Ints({1})},
                 {{"shrink_axis_mask", 1}});
  }
  static std::string ShapeText(Output output) { return ConstantValueAsShape(output).ToString(); }
  static std::string Value(Output output) {
    const Tensor tensor = ConstantValue(output);
    return tensor.empty() ? "" : tensor.ToString();
  }

  std::shared_ptr<OpRegistry> registry_ = std::make_shared<OpRegistry>();
  Graph graph_{registry_};
  GraphBuilder b_{&graph_};
};

TEST_F(ShapeInferenceTest, SharedFunctions) {
  const Output a = Placeholder({-1, 3});
  const Output row = Placeholder({3});
  const Output none = Placeholder(PartialShape::Unknown());
  EXPECT_EQ(b_.Op("AddV2", {a, row}).shape().ToString(), "[?,3]");
  EXPECT_EQ(b_.Op("AddV2", {a, none}).shape().ToString(), "<unknown>");
  EXPECT_EQ(b_.Op("AddN", {a, Placeholder({5, -1}), none}).shape().ToString(), "[5,3]");
  EXPECT_EQ(b_.Op("Neg", {a}).shape().ToString(), "[?,3]");
  EXPECT_EQ(
      graph_.AddNode({.op = "AddV2", .inputs = {a, Placeholder({4})}}).status().message(),
      "Dimensions must be equal, but are 3 and 4 for '' (op: 'AddV2') with input shapes: [?,3], "
      "[4].; [?,3] and [4] do not broadcast together");
  EXPECT_EQ(
      graph_.AddNode({.op = "AddN", .inputs = {a, row}}).status().message(),
      "Shapes must be equal rank, but are 2 and 1 for '' (op: 'AddN') with input shapes: [?,3], "
      "[3].; shapes [?,3] and [3]; of input 1 and those before it");
}

TEST_F(ShapeInferenceTest, Broadcasting) {
  const auto text = [](PartialShape a, PartialShape b) {
    Result<PartialShape> r = BroadcastShapes(a, b);
    return r.ok() ? r->ToString() : "error";
  };
  EXPECT_EQ(text({2, 1}, {3}), "[2,3]");
  EXPECT_EQ(text({-1}, {1}), "[?]");
  EXPECT_EQ(text({-1}, {4}), "[4]");
  EXPECT_EQ(text({1}, {-1}), "[?]");
  EXPECT_EQ(text({-1}, {-1}), "[?]");
  EXPECT_EQ(text({0}, {1}), "[0]");
  EXPECT_EQ(text(Shape(), {2, 3}), "[2,3]");
  EXPECT_EQ(text({2}, {3}), "error");
  EXPECT_EQ(text({0}, {3}), "error");
  EXPECT_EQ(*MergeDims(-1, 4), 4);
  EXPECT_EQ(*MergeDims(4, -1), 4);
  EXPECT_EQ(MergeDims(3, 4).status().message(), "Dimensions must be equal, but are 3 and 4");
}

TEST_F(ShapeInferenceTest, ValuesOfConstants) {
  EXPECT_EQ(Value(Ints({1, 2})), "int32[2] 1 2");
  EXPECT_EQ(Value(b_.Op("Identity", {Ints({1, 2})})), "int32[2] 1 2");
  EXPECT_EQ(Value(b_.Op("Shape", {Placeholder({2, 3})})), "int32[2] 2 3");
  EXPECT_EQ(Value(b_.Op("Shape", {Placeholder({2, -1})})), "");
  EXPECT_EQ(Value(b_.Op("Shape", {Placeholder({int64_t{1} << 40})})), "");
  EXPECT_EQ(Value(b_.Op("Shape", {Placeholder({int64_t{1} << 40})}, {{"out_type", DType::kInt64}})),
            "int64[1] 1099511627776");
  EXPECT_EQ(Value(b_.Op("Cast", {Ints({7})}, {{"DstT", DType::kInt64}})), "int64[1] 7");
  EXPECT_EQ(Value(b_.Op("Range", {Int(0), b_.Op("Rank", {Placeholder({4, -1, 2})}), Int(1)})),
            "int32[3] 0 1 2");
  EXPECT_EQ(Value(b_.Op("Size", {Placeholder({4, 5})})), "int32[] 20");
  EXPECT_EQ(Value(Placeholder({2}, DType::kInt32)), "");
  EXPECT_EQ(Value({}), "");
  EXPECT_EQ(Value(b_.Const(Tensor::Scalar("text"))), "string[] 'text'");
}

TEST_F(ShapeInferenceTest, ShapesDimensionByDimension) {
  const Output image = Placeholder({-1, 28, 28, 3});
  const Output shape = b_.Op("Shape", {image});
  EXPECT_EQ(ShapeText(shape), "[?,28,28,3]");
  EXPECT_EQ(ShapeText(b_.Op("Pack", {Element(shape, 0), Int(-1), Element(shape, 3)})), "[?,?,3]");
  const Output area = b_.Op("Mul", {Element(shape, 1), Element(shape, 2)});
  EXPECT_EQ(ShapeText(b_.Op("Pack", {Element(shape, 0), area})), "[?,784]");
  EXPECT_EQ(ShapeText(b_.Op("ConcatV2",
                            {Ints({7}), b_.Op("Slice", {shape, Ints({1}), Ints({2})}), Int(0)})),
            "[7,28,28]");
  EXPECT_EQ(ShapeText(b_.Op("ConcatV2", {Ints({7}), Placeholder({2}, DType::kInt32), Int(0)})),
            "[7,?,?]");
  EXPECT_EQ(ShapeText(b_.Op("GatherV2", {shape, Ints({3, 0}), Int(0)})), "[3,?]");
  EXPECT_EQ(ShapeText(b_.Op("Reshape", {area, Ints({1})})), "[784]");
  EXPECT_EQ(ShapeText(b_.Op("ExpandDims", {area, Int(0)})), "[784]");
  EXPECT_EQ(ShapeText(Placeholder({3}, DType::kInt32)), "[?,?,?]");
  EXPECT_EQ(ShapeText(Placeholder({-1}, DType::kInt32)), "<unknown>");
  EXPECT_EQ(ShapeText(Int(-1)), "<unknown>");
  EXPECT_EQ(ShapeText(b_.Op("Prod", {shape, Ints({0})})), "<unknown>");
}

TEST_F(ShapeInferenceTest, StridedSlicesOfShapes) {
  const Output shape = b_.Op("Shape", {Placeholder({2, 3, 4, 5})});
  const auto slice = [&](int begin, int end, int stride, int begin_mask, int end_mask) {
    return ShapeText(b_.Op("StridedSlice", {shape, Ints({begin}), Ints({end}), Ints({stride})},
                           {{"begin_mask", begin_mask}, {"end_mask", end_mask}}));
  };
  EXPECT_EQ(slice(1, 3, 1, 0, 0), "[3,4]");
  EXPECT_EQ(slice(0, -1, 1, 0, 0), "[2,3,4]");
  EXPECT_EQ(slice(0, 0, 1, 0, 1), "[2,3,4,5]");
  EXPECT_EQ(slice(2, 0, 1, 1, 0), "[]");
  EXPECT_EQ(slice(0, 0, -1, 1, 1), "[5,4,3,2]");
  EXPECT_EQ(slice(0, 99, 2, 0, 0), "[2,4]");
  EXPECT_EQ(slice(-1, -99, -1, 0, 0), "[5,4,3,2]");
  EXPECT_EQ(slice(-99, 99, 2147483647, 0, 0), "[2]");
  EXPECT_EQ(Value(Element(shape, 1)), "int32[] 3");
  EXPECT_EQ(Value(b_.Op("StridedSlice", {shape, Ints({-1}), Ints({0}), Ints({1})},
                        {{"shrink_axis_mask", 1}})),
            "int32[] 5");
  EXPECT_EQ(Value(Element(shape, 4)), "");
}

TEST_F(ShapeInferenceTest, WorkIsBounded) {
  // Without the limit this fan would cost 2^60 visits.
  Output wide = Int(1);
  for (int i = 0; i < 60; ++i) wide = b_.Op("AddV2", {wide, wide});
  EXPECT_EQ(Value(wide), "");
  Output deep = Ints({2});
  for (int i = 0; i < 100'000; ++i) deep = b_.Op("Neg", {deep});
  EXPECT_EQ(ShapeText(deep), "[?]");
  EXPECT_EQ(Value(b_.Op("Range", {Int(0), Int(2147483647), Int(1)})), "");
}

TEST_F(ShapeInferenceTest, RankChecks) {
  registry_->Op("Softmax").Shape([](ShapeContext& c) -> Status {
    ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 1));
    c.set_output(0, shape);
    return OkStatus();
  });
  EXPECT_EQ(
      graph_.AddNode({.name = "s", .op = "Softmax", .inputs = {Placeholder(Shape())}})
          .status()
          .message(),
      "Shape must be at least rank 1 but is rank 0 for 's' (op: 'Softmax') with input shapes: "
      "[].; of input 0");
  EXPECT_TRUE(CheckRank(2, 2).ok());
  EXPECT_TRUE(CheckRank(-1, 2).ok());
  EXPECT_TRUE(CheckRank(2, -1).ok());
  EXPECT_EQ(CheckRank(2, 3).message(), "Shape must be rank 3 but is rank 2");
  EXPECT_TRUE(CheckRankAtLeast(-1, 1).ok());
  EXPECT_TRUE(CheckRankAtLeast(1, 1).ok());
  EXPECT_EQ(CheckRankAtLeast(0, 1).message(), "Shape must be at least rank 1 but is rank 0");
  EXPECT_TRUE(CheckRankAtMost(-1, 1).ok());
  EXPECT_TRUE(CheckRankAtMost(1, 1).ok());
  EXPECT_EQ(CheckRankAtMost(2, 1).message(), "Shape must be at most rank 1 but is rank 2");
}

TEST_F(ShapeInferenceTest, ErrorsAreExplainedBehindTheirWords) {
  EXPECT_TRUE(Explained(OkStatus(), "nothing").ok());
  const Status status = Explained(CheckDim(3, 2), "of input ", 1);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "Dimension must be 2 but is 3; of input 1");
}

}  // namespace
}  // namespace thalweg
