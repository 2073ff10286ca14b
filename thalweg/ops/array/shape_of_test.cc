// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

template <class V>
Array<V> ShapeVector(const Shape& shape) {
  Array<V> out(Shape{int64_t{shape.rank()}});
  for (int i = 0; i < shape.rank(); ++i) out[i] = static_cast<V>(static_cast<double>(shape.dim(i)));
  return out;
}

TEST(ShapeTest, IsTheListOfDimensions) {
  for (const char* op : {"Shape", "ShapeN"}) {
    OpCase(op)
        .Reference([]<class V>(RefCall<V>& r) {
          for (const Array<V>& in : r.in) r.out.push_back(ShapeVector<V>(in.shape));
        })
        .Try({In({2, 3, 4})}, {{"T", DType::kFloat}})
        .Try({In({0, 4})}, {{"T", DType::kComplex64}})
        .Try({In({})}, {{"T", DType::kBool}})
        .Run();
  }
}

TEST(ShapeTest, OfSeveralTensors) {
  Result<std::vector<Tensor>> shapes =
      RunOp("ShapeN", {Tensor::Vector<float>({1, 2}), Tensor::Scalar(1.0f)});
  ASSERT_TRUE(shapes.ok()) << shapes.status().ToString();
  EXPECT_EQ((*shapes)[0].data<int32_t>()[0], 2);
  EXPECT_EQ((*shapes)[1].num_elements(), 0);
}

TEST(SizeTest, IsTheNumberOfElements) {
  OpCase("Size")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape(), {static_cast<V>(static_cast<double>(r.in[0].size()))})};
      })
      .Try({In({2, 3, 4})}, {{"T", DType::kFloat}})
      .Try({In({0, 4})}, {{"T", DType::kFloat}})
      .Run();
}

TEST(SizeTest, RefusesWhatDoesNotFit) {
  static char byte = 0;  // 5 GB that nobody reads
  const Tensor huge = Tensor::FromBuffer(DType::kUint8, Shape{5'000'000'000}, &byte, [] {});
  KernelCall small("Size", {huge});
  EXPECT_EQ(small.Run().code(), Code::kInvalidArgument);
  KernelCall wide("Size", {huge}, {{"out_type", DType::kInt64}});
  ASSERT_TRUE(wide.Run().ok());
  EXPECT_EQ(wide.output(0).scalar<int64_t>(), 5'000'000'000);
  KernelCall shape("Shape", {huge});
  EXPECT_EQ(shape.Run().code(), Code::kInvalidArgument);
}

TEST(RankTest, IsTheNumberOfDimensions) {
  OpCase("Rank")
      .Types({{"T", DType::kFloat}})
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape(), {static_cast<V>(static_cast<double>(r.in[0].shape.rank()))})};
      })
      .Try({In({2, 3, 4})})
      .Try({In({})})
      .Run();
}

}  // namespace
}  // namespace thalweg
