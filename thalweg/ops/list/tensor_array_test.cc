// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/list/test_arrays.h"

namespace thalweg {
namespace {

TEST(TensorArrayTest, HasASizeOfItsOwnEachTime) {
  ArrayGraph g;
  const ArrayGraph::Array three = g.Make(3), none = g.Make(0);
  g.ExpectValue(g.Size(three), Tensor::Scalar<int32_t>(3));
  g.ExpectValue(g.Size(none), Tensor::Scalar<int32_t>(0));
}

TEST(TensorArrayTest, RefusesBadSizes) {
  ArrayGraph g;
  g.ExpectError(g.Size(g.Make(-1)), Code::kInvalidArgument, "Size should be >= 0");
  EXPECT_FALSE(
      g.b.Op("TensorArrayV3", {g.b.Const(std::vector<int32_t>{1, 2})}, {{"dtype", DType::kFloat}})
          .node != nullptr);
}

// Nothing is allocated for what nobody wrote.
TEST(TensorArrayTest, MayBeVeryLong) {
  ArrayGraph g;
  const int32_t longest = 2147483647;
  ArrayGraph::Array array = g.Make(longest);
  array = g.Write(array, longest - 1, Tensor::Scalar(5.0f));
  g.ExpectValue(g.Size(array), Tensor::Scalar(longest));
  g.ExpectValue(g.Read(array, longest - 1), Tensor::Scalar(5.0f));
  g.ExpectError(g.Read(array, longest), Code::kInvalidArgument, "but array size is");
}

TEST(TensorArrayTest, GrowsWhenItMay) {
  ArrayGraph g;
  ArrayGraph::Array array = g.Make(1, {{"dynamic_size", true}});
  array = g.Write(array, 6, Tensor::Scalar(2.0f));
  g.ExpectValue(g.Size(array), Tensor::Scalar<int32_t>(7));
  // A gradient array fixes the size of both.
  const ArrayGraph::Array gradient = g.Gradient(array, "g");
  g.ExpectValue(g.Size(gradient), Tensor::Scalar<int32_t>(7));
  g.ExpectError(g.Write(gradient, 7, Tensor::Scalar(1.0f)).flow, Code::kInvalidArgument,
                "not resizeable and size is: 7");
  g.ExpectError(g.Write({array.handle, gradient.flow}, 7, Tensor::Scalar(1.0f)).flow,
                Code::kInvalidArgument, "not resizeable and size is: 7");
}

TEST(TensorArrayTest, ClosedOnesRefuse) {
  ArrayGraph g;
  const ArrayGraph::Array array = g.Write(g.Make(2), 0, Tensor::Scalar(2.0f));
  Node* const closed =
      g.b.WithControls({array.flow.node}).OpNode("TensorArrayCloseV3", {array.handle});
  ASSERT_TRUE(g.b.ok()) << g.b.status().ToString();
  const Output flow = g.b.WithControls({closed}).Op("Identity", {array.flow});
  const ArrayGraph::Array after{array.handle, flow};
  g.ExpectError(g.Read(after, 0), Code::kInvalidArgument, "already been closed");
  g.ExpectError(g.Write(after, 1, Tensor::Scalar(2.0f)).flow, Code::kInvalidArgument,
                "already been closed");
  g.ExpectError(g.Gradient(after, "g").flow, Code::kInvalidArgument, "already been closed");
}

// Gradients of one source are one array, those of another source another.
TEST(TensorArrayTest, GradientArraysGoBySource) {
  ArrayGraph g;
  const ArrayGraph::Array array = g.Write(g.Make(2), 0, Tensor::Scalar(2.0f));
  const ArrayGraph::Array written = g.Write(g.Gradient(array, "a"), 0, Tensor::Scalar(3.0f));
  const ArrayGraph::Array again = g.Gradient({array.handle, written.flow}, "a");
  const ArrayGraph::Array other = g.Gradient({array.handle, written.flow}, "b");
  g.ExpectValue(g.Read(again, 0), Tensor::Scalar(3.0f));
  g.ExpectValue(g.Read(other, 0), Tensor::Scalar(0.0f));
}

TEST(TensorArrayTest, GradientArraysMayHaveMoreDimensions) {
  ArrayGraph g;
  const ArrayGraph::Array array = g.Write(g.Make(2), 1, Tensor::Scalar(2.0f));
  const auto with = [&](int32_t dim) {
    Node* const made = g.b.OpNode("TensorArrayGradWithShape",
                                  {array.handle, array.flow, g.b.Const(std::vector<int32_t>{dim})},
                                  {{"source", "g"}});
    return ArrayGraph::Array{{made, 0}, {made, 1}};
  };
  g.ExpectValue(g.Read(with(2), 1), Tensor::Vector<float>({0, 0}));
  g.ExpectError(with(-2).flow, Code::kInvalidArgument, "must be >= 0");
}

// The handles of the first two versions are names.
TEST(TensorArrayTest, OldHandlesAreNames) {
  for (const std::string version : {"", "V2"}) {
    ArrayGraph g(version);
    ArrayGraph::Array array = g.Make(3, {{"tensor_array_name", "mine"}});
    array = g.Write(array, 1, Tensor::Scalar(4.0f));
    g.ExpectValue(g.Size(array), Tensor::Scalar<int32_t>(3));
    g.ExpectValue(g.Read(array, 1), Tensor::Scalar(4.0f));
    const Result<std::vector<Tensor>> handle = g.Run({g.b.Op("Identity", {array.handle})});
    ASSERT_TRUE(handle.ok()) << handle.status().ToString();
    ASSERT_EQ((*handle)[0].shape(), Shape{2});
    EXPECT_TRUE((*handle)[0].data<std::string>()[1].starts_with("mine_"));
  }
  ArrayGraph g("V2");
  const Output nobody = g.b.Const(std::vector<std::string>{"_tensor_arrays", "nobody"});
  g.ExpectError(g.Size({nobody, g.b.Const(Tensor::Scalar(0.0f))}), Code::kNotFound, "nobody");
  const Output one = g.b.Const(std::vector<std::string>{"nobody"});
  g.ExpectError(g.Size({one, g.b.Const(Tensor::Scalar(0.0f))}), Code::kInvalidArgument,
                "2-element vector");
}

}  // namespace
}  // namespace thalweg
