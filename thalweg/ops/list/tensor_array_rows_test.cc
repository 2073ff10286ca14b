// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/list/test_arrays.h"

namespace thalweg {
namespace {

constexpr Code kBadRows = Code::kInvalidArgument;
const Tensor kFour = Tensor::Vector<float>({1, 2, 3, 4});

class Rows : public ArrayGraph {
 public:
  Output Gather(const Array& array, const std::vector<int32_t>& indices, AttrMap attrs = {}) {
    if (attrs.Find("dtype") == nullptr) attrs.Set("dtype", DType::kFloat);
    return b.Op("TensorArrayGatherV3", {array.handle, b.Const(indices), array.flow}, attrs);
  }
  Array Scatter(const Array& array, const std::vector<int32_t>& indices, const Tensor& value) {
    return {array.handle, b.Op("TensorArrayScatterV3",
                               {array.handle, b.Const(indices), b.Const(value), array.flow})};
  }
  Output Concat(const Array& array, AttrMap attrs = {}) {
    if (attrs.Find("dtype") == nullptr) attrs.Set("dtype", DType::kFloat);
    return b.Op("TensorArrayConcatV3", {array.handle, array.flow}, attrs);
  }
  Array Split(const Array& array, const Tensor& value, const std::vector<int64_t>& lengths) {
    return {array.handle, b.Op("TensorArraySplitV3",
                               {array.handle, b.Const(value), b.Const(lengths), array.flow})};
  }
};

TEST(TensorArrayRowsTest, GatherAndScatter) {
  Rows g;
  const Tensor matrix = *kFour.Reshaped({2, 2});
  const Rows::Array array = g.Scatter(g.Make(3), {2, 0}, matrix);
  g.ExpectValue(g.Read(array, 0), Tensor::Vector<float>({3, 4}));
  g.ExpectValue(g.Gather(array, {2, 0}), matrix);
  g.ExpectError(g.Gather(array, {0, 0}), kBadRows, "because it was cleared");
  g.ExpectError(g.Gather(array, {0, 1}), kBadRows, "not fully defined");
  g.ExpectError(g.Gather(array, {5}), kBadRows, "array size is: 3");
  g.ExpectError(g.Gather(array, {0}, {{"element_shape", PartialShape{3}}}), kBadRows,
                "element_shape [3] which does not match");
  g.ExpectError(g.Gather(array, {}), Code::kUnimplemented, "size zero");
  g.ExpectValue(g.Gather(array, {}, {{"element_shape", PartialShape{2, 3}}}),
                *Tensor::Of<float>({}, Shape{0, 2, 3}).Reshaped({0, 2, 3}));
  g.ExpectError(g.Gather(g.Write(array, 1, Tensor::Scalar(1.0f)), {0, 1}), kBadRows,
                "Index 0 has shape: [2] but index 1 has shape: []");
}

TEST(TensorArrayRowsTest, BadScatters) {
  Rows g;
  const Rows::Array array = g.Make(3);
  const Tensor two = Tensor::Vector<float>({1, 2});
  g.ExpectError(g.Scatter(array, {0, 4}, two).flow, kBadRows, "(4 vs. 3)");
  g.ExpectError(g.Scatter(array, {0, -1}, two).flow, kBadRows, "index -1");
  g.ExpectError(g.Scatter(array, {0, 0}, two).flow, kBadRows, "already been written to");
  const Rows::Array grows = g.Make(3, {{"dynamic_size", true}});
  g.ExpectValue(g.Size(g.Scatter(grows, {0, 6}, two)), Tensor::Scalar<int32_t>(7));
  EXPECT_EQ(g.Scatter(array, {0}, two).flow.node, nullptr);
}

TEST(TensorArrayRowsTest, ConcatAndSplit) {
  Rows g;
  const Rows::Array array = g.Split(g.Make(3), kFour, {1, 0, 3});
  g.ExpectValue(g.Read(array, 2), Tensor::Vector<float>({2, 3, 4}));
  const Output whole = g.Concat(array);
  g.ExpectValue(whole, kFour);
  g.ExpectValue({whole.node, 1}, Tensor::Vector<int64_t>({1, 0, 3}));
  g.ExpectError(g.Split(g.Make(3), kFour, {1, 2, 2}).flow, kBadRows, "sum of lengths");
  g.ExpectError(g.Split(g.Make(3), kFour, {-1, 2, 3}).flow, kBadRows, "lengths: -1");
  g.ExpectError(g.Split(g.Make(3), kFour, {int64_t{1} << 62, int64_t{1} << 62, 4}).flow, kBadRows,
                "sum of lengths");
  g.ExpectError(g.Split(g.Make(3), kFour, {2, 2}).flow, kBadRows, "(3 vs. 2)");
  g.ExpectValue(g.Size(g.Split(g.Make(3, {{"dynamic_size", true}}), kFour, {1, 1, 1, 1})),
                Tensor::Scalar<int32_t>(4));
  g.ExpectError(g.Concat(g.Make(2)), kBadRows, "read from TensorArray index 0");
  g.ExpectError(g.Concat(g.Write(g.Make(1), 0, Tensor::Scalar(1.0f))), kBadRows, "scalar shape");
  g.ExpectError(g.Concat(g.Make(0)), Code::kUnimplemented, "size zero");
  g.ExpectValue(g.Concat(g.Make(0), {{"element_shape_except0", PartialShape{2}}}),
                Tensor::Of<float>({}, Shape{0, 2}));
  g.ExpectError(g.Concat(array, {{"element_shape_except0", PartialShape{2}}}), kBadRows, "except0");
}

TEST(TensorArrayRowsTest, OldOnesPackAndUnpack) {
  ArrayGraph g("");
  const ArrayGraph::Array array = g.Make(4);
  const Output flow = g.b.Op("TensorArrayUnpack", {array.handle, g.b.Const(kFour), array.flow});
  g.ExpectValue(g.b.Op("TensorArrayPack", {array.handle, flow}, {{"dtype", DType::kFloat}}), kFour);
  const ArrayGraph::Array three = g.Make(3);
  g.ExpectError(g.b.Op("TensorArrayUnpack", {three.handle, g.b.Const(kFour), three.flow}), kBadRows,
                "(3 vs. 4)");
}

// A large row is a view of the tensor it was written from, also when it is read.
TEST(TensorArrayRowsTest, LargeRowsAreShared) {
  Rows g;
  const Tensor rows = *Tensor::AllocateHost(DType::kFloat, Shape{2, 4096});
  const Output source = g.b.Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Rows::Array array = g.Make(2);
  const Output flow =
      g.b.Op("TensorArrayScatterV3",
             {array.handle, g.b.Const(std::vector<int32_t>{0, 1}), source, array.flow});
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  const auto got = runner.Run({{source, rows}}, {g.Read({array.handle, flow}, 1)});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<float>(), rows.data<float>() + 4096);
}

}  // namespace
}  // namespace thalweg
