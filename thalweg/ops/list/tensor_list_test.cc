// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/list/test_lists.h"

namespace thalweg {
namespace {

Result<Tensor> Length(const Tensor& list) { return RunList("TensorListLength", {list}); }
Result<Tensor> ShapeOfList(const Tensor& list, DType dtype = DType::kInt32) {
  return RunList("TensorListElementShape", {list}, {{"shape_type", dtype}});
}
Result<Tensor> Resized(const Tensor& list, int32_t size) {
  return RunList("TensorListResize", {list, Tensor::Scalar(size)});
}

const Tensor kTwo = Matrix(2, {1, 2, 3, 4});

TEST(TensorListTest, HasALengthAndAShape) {
  ExpectTensor(Length(Reserved(3)), Tensor::Scalar<int32_t>(3));
  ExpectTensor(Length(EmptyList()), Tensor::Scalar<int32_t>(0));
  ExpectTensor(ShapeOfList(EmptyList()), Ints({2}));
  ExpectTensor(ShapeOfList(EmptyList(kAnyShape)), kAnyShape);
  ExpectTensor(ShapeOfList(ListOf(kTwo, Ints({-1})), DType::kInt64), Tensor::Vector<int64_t>({-1}));
}

TEST(TensorListTest, RefusesBadSizesAndShapes) {
  const auto reserve = [](const Tensor& shape, int32_t n) {
    return RunList("TensorListReserve", {shape, Tensor::Scalar(n)}, OfFloats());
  };
  ExpectRefused(reserve(Ints({2}), -1), "non negative");
  ExpectRefused(reserve(Ints({2}), 2147483647), "at most", Code::kResourceExhausted);
  ExpectRefused(reserve(Ints({-2}), 1), "-2");
  ExpectRefused(reserve(Tensor::Scalar<int32_t>(3), 1), "-1");
  ExpectRefused(RunList("TensorListLength", {Need(RunList("OptionalNone", {}))}), "not a list");
  ExpectRefused(Length(*Tensor::AllocateHost(DType::kVariant, Shape())), "not a list");
}

TEST(TensorListTest, IsCutAndMadeLonger) {
  const Tensor list = ListOf(kTwo, Ints({2}));
  ExpectTensor(Stacked(Need(Resized(list, 3))), Matrix(3, {1, 2, 3, 4, 0, 0}));
  ExpectTensor(Stacked(Need(Resized(list, 1))), Matrix(1, {1, 2}));
  ExpectTensor(Stacked(list), kTwo);  // as it was
  ExpectRefused(Resized(list, -1), "non-negative");
  ExpectRefused(Resized(list, 2147483647), "at most", Code::kResourceExhausted);
}

TEST(TensorListTest, JoinsLists) {
  const auto join = [](const Tensor& a, const Tensor& b) {
    return RunList("TensorListConcatLists", {a, b}, OfFloats());
  };
  const Tensor list = ListOf(kTwo, Ints({2}));
  ExpectTensor(Stacked(Need(join(list, list))), Matrix(4, {1, 2, 3, 4, 1, 2, 3, 4}));
  ExpectRefused(join(list, ListOf(kTwo)), "not identical");
  const Tensor ints = ListOf(*Ints({1, 2}).Reshaped(Shape{1, 2}), Ints({2}));
  ExpectRefused(join(list, ints), "dtype");
}

TEST(TensorListTest, AreAdded) {
  const auto add = [](const std::vector<Tensor>& lists) {
    return RunList("AddN", lists, {{"N", static_cast<int64_t>(lists.size())}});
  };
  const Tensor list = ListOf(kTwo, Ints({2}));
  ExpectTensor(Stacked(Need(add({list, list, list}))), Matrix(2, {3, 6, 9, 12}));
  ExpectTensor(Stacked(Need(add({list, Reserved(2)}))), kTwo);
  ExpectTensor(Stacked(Need(add({Reserved(2, kAnyShape), Reserved(2)}))), Matrix(2, {0, 0, 0, 0}));
  ExpectRefused(add({list, Reserved(3)}), "different lengths");
  ExpectRefused(add({list, Reserved(2, Ints({3}))}), "element shapes");
  ExpectRefused(add({list, ListOf(Matrix(2, {1, 2}))}), "shapes");
  ExpectRefused(add({list, Need(RunList("OptionalNone", {}))}), "not known", Code::kUnimplemented);
  ExpectTensor(Stacked(Need(RunList("ZerosLike", {list}))), Matrix(2, {0, 0, 0, 0}));
}

}  // namespace
}  // namespace thalweg
