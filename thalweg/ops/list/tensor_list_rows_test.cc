// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/list/test_lists.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

const Tensor kTwoRows = Matrix(2, {1, 2, 3, 4});

Tensor Longs(std::vector<int64_t> values) {
  return Tensor::Of<int64_t>(values, Shape{static_cast<int64_t>(values.size())});
}

TEST(TensorListRowsTest, Stacks) {
  ExpectTensor(Stacked(ListOf(kTwoRows)), kTwoRows);
  ExpectTensor(Stacked(Reserved(2)), Matrix(2, {0, 0, 0, 0}));
  ExpectTensor(Stacked(Reserved(2, kAnyShape), Ints({1})), Matrix(2, {0, 0}));
  ExpectTensor(Stacked(EmptyList()), Tensor::Of<float>({}, Shape{0, 2}));
  ExpectRefused(Stacked(EmptyList(kAnyShape)), "empty list");
  ExpectRefused(Stacked(Reserved(2, kAnyShape)), "non-fully-defined");
  ExpectRefused(Stacked(ListOf(kTwoRows, Ints({2})), Ints({3})), "shapes");
  ExpectRefused(Stacked(ListOf(kTwoRows), Ints({3})), "shapes");
  const Tensor uneven = Need(Pushed(ListOf(kTwoRows), Floats({1})));
  ExpectRefused(Stacked(uneven), "shapes");
  ExpectRefused(Stacked(uneven, Ints({2})), "shapes");
  ExpectRefused(RunList("TensorListStack", {ListOf(kTwoRows), kAnyShape},
                        {{"element_dtype", DType::kFloat}, {"num_elements", int64_t{3}}}),
                "expected a list with 3");
  ExpectRefused(
      RunList("TensorListStack", {ListOf(kTwoRows), kAnyShape}, {{"element_dtype", DType::kInt32}}),
      "Invalid data types");
  ExpectRefused(RunList("TensorListFromTensor", {kTwoRows, Ints({3})}), "3");
}

TEST(TensorListRowsTest, Gathers) {
  const auto gather = [](const Tensor& list, std::vector<int32_t> indices,
                         const Tensor& shape = kAnyShape) {
    return RunList("TensorListGather", {list, Ints(std::move(indices)), shape}, OfFloats());
  };
  const Tensor list = ListOf(kTwoRows, Ints({2}));
  ExpectTensor(gather(list, {1, 0, 1}), Matrix(3, {3, 4, 1, 2, 3, 4}));
  ExpectTensor(gather(list, {}), Tensor::Of<float>({}, Shape{0, 2}));
  ExpectTensor(gather(Reserved(2), {1}), Matrix(1, {0, 0}));
  ExpectRefused(gather(list, {2}), "Index 2");
  ExpectRefused(gather(list, {-1}), "Index -1");
  ExpectRefused(gather(Reserved(2, kAnyShape), {0}),
                "Tried to gather uninitialized tensors from a list with non-fully-defined");
  // The elements that are not asked for do not say a shape.
  const Tensor one_is_set = Need(RunList(
      "TensorListSetItem", {Reserved(2, kAnyShape), Tensor::Scalar<int32_t>(1), Floats({7, 8})}));
  ExpectTensor(gather(one_is_set, {0, 1}), Matrix(2, {0, 0, 7, 8}));
  ExpectRefused(gather(one_is_set, {0, 0}), "Tried to gather uninitialized tensors");
  ExpectRefused(gather(one_is_set, {}), "Tried to gather 0-elements from a list");
}

TEST(TensorListRowsTest, Scatters) {
  const auto scatter = [](std::vector<int32_t> indices, int32_t count) {
    return RunList("TensorListScatterV2",
                   {kTwoRows, Ints(std::move(indices)), Ints({2}), Tensor::Scalar(count)});
  };
  ExpectTensor(Stacked(Need(scatter({2, 0}, -1))), Matrix(3, {3, 4, 0, 0, 1, 2}));
  ExpectTensor(Stacked(Need(scatter({0, 1}, 3))), Matrix(3, {1, 2, 3, 4, 0, 0}));
  ExpectTensor(Stacked(Need(scatter({0, 0}, -1))), Matrix(1, {3, 4}));
  ExpectTensor(Stacked(Need(RunList("TensorListScatter", {kTwoRows, Ints({1, 0}), Ints({2})}))),
               Matrix(2, {3, 4, 1, 2}));
  ExpectRefused(scatter({2, 0}, 2), "index 2 in list with size 2");
  ExpectRefused(scatter({-1, 0}, -1), "non-negative");
  ExpectRefused(scatter({1, 0}, -2), ">= -1");
  ExpectRefused(scatter({0}, -1), "number of rows");
  ExpectRefused(scatter({0, 2147483647}, -1), "at most", Code::kResourceExhausted);
  const auto into = [](const Tensor& rows, std::vector<int32_t> indices) {
    return RunList("TensorListScatterIntoExistingList",
                   {ListOf(kTwoRows, Ints({2})), rows, Ints(std::move(indices))});
  };
  ExpectTensor(Stacked(Need(into(Matrix(1, {5, 6}), {3}))), Matrix(4, {1, 2, 3, 4, 0, 0, 5, 6}));
  ExpectRefused(into(Matrix(1, {5, 6}), {-1}), "non-negative");
  ExpectRefused(into(Matrix(1, {5}), {0}), "no rows");
  ExpectRefused(into(Floats({5}), {0}), "no rows");
}

TEST(TensorListRowsTest, ConcatenatesAndSplits) {
  const auto concat = [](const Tensor& list, const Tensor& shape = kAnyShape,
                         std::vector<int64_t> lengths = {}, size_t output = 0) {
    return RunList("TensorListConcatV2", {list, shape, Longs(std::move(lengths))}, OfFloats(),
                   output);
  };
  const auto split = [](const Tensor& x, std::vector<int64_t> lengths,
                        const Tensor& shape = kAnyShape) {
    return RunList("TensorListSplit", {x, shape, Longs(std::move(lengths))});
  };
  const Tensor x = Floats({1, 2, 3});
  const Tensor list = Need(split(x, {1, 0, 2}));
  ExpectTensor(concat(list), x);
  ExpectTensor(concat(list, kAnyShape, {}, 1), Longs({1, 0, 2}));
  ExpectTensor(concat(EmptyList(Ints({-1, 2}))), Tensor::Of<float>({}, Shape{0, 2}));
  ExpectTensor(concat(Reserved(2)), Floats({0, 0, 0, 0}));
  ExpectTensor(concat(Reserved(2, Ints({-1})), kAnyShape, {1, 2}), Floats({0, 0, 0}));
  ExpectRefused(concat(Reserved(2, Ints({-1})), kAnyShape, {1}), "only 1 elements");
  ExpectRefused(concat(Reserved(2, Ints({-1})), kAnyShape, {1, -2}), "must be >= 0");
  ExpectRefused(concat(Reserved(2, kAnyShape)), "uninitialized");
  ExpectRefused(concat(EmptyList(kAnyShape)), "fully defined");
  ExpectRefused(concat(ListOf(Floats({1, 2}))), "scalar");
  ExpectRefused(concat(list, Ints({5})), "shape");
  ExpectRefused(split(x, {1, 1}), "sum of lengths");
  ExpectRefused(split(x, {1, 3}), "sum of lengths");
  ExpectRefused(split(x, {-1, 4}), "-1");
  ExpectRefused(split(x, {1, 2}, Ints({1, 2})), "not compatible");
  ExpectTensor(RunList("TensorListConcat", {ListOf(kTwoRows, Ints({2}))}, OfFloats()),
               Floats({1, 2, 3, 4}));
}

TEST(TensorListRowsTest, ACancelledStepJoinsNoMoreRows) {
  const Tensor many = ListOf(Tensor::Of<float>(std::vector<float>(40'000), Shape{20'000, 2}));
  KernelCall call("TensorListConcat", {many}, OfFloats());
  call.cancellation().Cancel();
  EXPECT_EQ(call.Run().code(), Code::kCancelled);
}

}  // namespace
}  // namespace thalweg
