// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/list/test_arrays.h"

namespace thalweg {
namespace {

constexpr Code kBad = Code::kInvalidArgument;

TEST(TensorArrayElementTest, ReadsWhatWasWritten) {
  ArrayGraph g;
  ArrayGraph::Array array = g.Make(3);
  array = g.Write(array, 2, Tensor::Vector<float>({1, 2}));
  array = g.Write(array, 0, Tensor::Scalar(7.0f));
  g.ExpectValue(g.Read(array, 2), Tensor::Vector<float>({1, 2}));
  g.ExpectValue(g.Read(array, 0), Tensor::Scalar(7.0f));
  g.ExpectError(g.Read(array, 1), kBad, "element shape is not fully defined");
  g.ExpectError(g.Read(array, 3), kBad, "Tried to read from index 3 but array size is: 3");
  g.ExpectError(g.Read(array, -1), kBad, "Tried to read from index -1");
  g.ExpectError(g.Read(array, 0, DType::kInt32), kBad, "dtype is float");
}

TEST(TensorArrayElementTest, AnElementIsWrittenOnce) {
  ArrayGraph g;
  const ArrayGraph::Array array = g.Write(g.Make(3), 0, Tensor::Scalar(7.0f));
  g.ExpectError(g.Write(array, 0, Tensor::Scalar(7.0f)).flow, kBad, "already been written to");
  g.ExpectError(g.Write(array, 3, Tensor::Scalar(7.0f)).flow, kBad, "not resizeable");
  g.ExpectError(g.Write(array, -1, Tensor::Scalar(7.0f)).flow, kBad, "write to index -1");
  g.ExpectError(g.Write(array, 1, Tensor::Scalar<int32_t>(7)).flow, kBad, "trying to write");
  const Output read = g.Read(array, 0);
  g.ExpectError(g.Write({array.handle, read}, 0, Tensor::Scalar(7.0f)).flow, kBad,
                "already been read");
}

TEST(TensorArrayElementTest, IsClearedByAReadUnlessItStays) {
  for (const bool clear : {true, false}) {
    ArrayGraph g;
    const ArrayGraph::Array array =
        g.Write(g.Make(1, {{"clear_after_read", clear}}), 0, Tensor::Scalar(7.0f));
    const Output again = g.Read({array.handle, g.Read(array, 0)}, 0);
    if (clear) {
      g.ExpectError(again, kBad, "because it was cleared");
    } else {
      g.ExpectValue(again, Tensor::Scalar(7.0f));
    }
  }
}

TEST(TensorArrayElementTest, ShapesAreKept) {
  ArrayGraph g;
  const ArrayGraph::Array same =
      g.Write(g.Make(2, {{"identical_element_shapes", true}}), 0, Tensor::Vector<float>({1, 2}));
  g.ExpectError(g.Write(same, 1, Tensor::Scalar(7.0f)).flow, kBad, "inferred element shape: [2]");
  g.ExpectValue(g.Read(same, 1), Tensor::Vector<float>({0, 0}));
  const ArrayGraph::Array known = g.Make(2, {{"element_shape", PartialShape{2}}});
  EXPECT_EQ(g.Read(known, 0).shape(), PartialShape{2});
  g.ExpectValue(g.Read(known, 0), Tensor::Vector<float>({0, 0}));
  EXPECT_EQ(g.Write(known, 0, Tensor::Scalar(7.0f)).flow.node, nullptr);
}

TEST(TensorArrayElementTest, GradientArraysAdd) {
  ArrayGraph g;
  ArrayGraph::Array array = g.Gradient(g.Write(g.Make(3), 0, Tensor::Vector<float>({1, 2})), "g");
  array = g.Write(array, 0, Tensor::Vector<float>({10, 20}));
  g.ExpectValue(g.Read(array, 0), Tensor::Vector<float>({10, 20}));
  const ArrayGraph::Array twice = g.Write(array, 0, Tensor::Vector<float>({1, 2}));
  const ArrayGraph::Array thrice = g.Write(twice, 0, Tensor::Vector<float>({100, 200}));
  g.ExpectValue(g.Read(thrice, 0), Tensor::Vector<float>({111, 222}));
  g.ExpectError(g.Write(array, 0, Tensor::Scalar(7.0f)).flow, kBad, "the existing shape is [2]");
  g.ExpectError(g.Read(array, 1), kBad, "element shape is not fully defined");
  g.ExpectError(g.Write({array.handle, g.Read(array, 0)}, 0, Tensor::Vector<float>({1, 2})).flow,
                kBad, "already been read");
}

TEST(TensorArrayElementTest, TextsCannotBeAdded) {
  ArrayGraph g;
  ArrayGraph::Array array = g.Gradient(g.Make(1, {{"dtype", DType::kString}}), "g");
  array = g.Write(g.Write(array, 0, Tensor::Scalar("a")), 0, Tensor::Scalar("b"));
  g.ExpectError(array.flow, kBad, "cannot be added");
}

}  // namespace
}  // namespace thalweg
