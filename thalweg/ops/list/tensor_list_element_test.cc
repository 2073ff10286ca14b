// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/list/test_lists.h"
#include "thalweg/resources/tensor_list.h"
#include "thalweg/testing/graph_runner.h"

namespace thalweg {
namespace {

const Tensor kTwoElements = Matrix(2, {1, 2, 3, 4});

Result<Tensor> Get(const Tensor& list, int32_t i, const Tensor& shape = kAnyShape,
                   DType dtype = DType::kFloat) {
  return RunList("TensorListGetItem", {list, Tensor::Scalar(i), shape}, {{"element_dtype", dtype}});
}
Result<Tensor> Set(const Tensor& list, int32_t i, const Tensor& value, bool grows = false) {
  return RunList("TensorListSetItem", {list, Tensor::Scalar(i), value},
                 {{"resize_if_index_out_of_bounds", grows}});
}
Result<Tensor> Popped(const Tensor& list, size_t output, const Tensor& shape = kAnyShape) {
  return RunList("TensorListPopBack", {list, shape}, OfFloats(), output);
}

TEST(TensorListElementTest, PushesAndPops) {
  const Tensor one = Need(Pushed(EmptyList(), Floats({1, 2})));
  const Tensor two = Need(Pushed(one, Floats({3, 4})));
  ExpectTensor(Stacked(two), kTwoElements);
  ExpectTensor(Stacked(one), Matrix(1, {1, 2}));
  ExpectTensor(Popped(two, 1), Floats({3, 4}));
  ExpectTensor(Stacked(Need(Popped(two, 0))), Matrix(1, {1, 2}));
  ExpectTensor(Popped(Reserved(1), 1), Floats({0, 0}));
  ExpectRefused(Popped(Reserved(1, kAnyShape), 1), "not fully defined");
  ExpectRefused(Popped(EmptyList(), 1), "empty list");
  ExpectRefused(Pushed(two, Floats({1})), "incompatible shape");
  ExpectRefused(Pushed(two, Ints({1, 2})), "Invalid data types");
  ExpectRefused(Pushed(Need(Pushed(EmptyList(Ints({2}), 1), Floats({1, 2}))), Floats({1, 2})),
                "full list");
}

TEST(TensorListElementTest, GetsAndSets) {
  const Tensor list = ListOf(kTwoElements, Ints({2}));
  ExpectTensor(Get(list, 1), Floats({3, 4}));
  ExpectRefused(Get(list, 2), "element 2 in a list with 2");
  ExpectRefused(Get(list, -1), "element -1");
  ExpectRefused(Get(list, 0, kAnyShape, DType::kInt32), "Invalid data types");
  ExpectTensor(Get(Reserved(2), 1), Floats({0, 0}));
  ExpectTensor(Get(Reserved(2, kAnyShape), 1, Ints({3})), Floats({0, 0, 0}));
  ExpectTensor(Get(Need(Set(Reserved(2, kAnyShape), 0, Floats({7}))), 1), Floats({0}));
  ExpectRefused(Get(Reserved(2, kAnyShape), 1), "no list element is set");
  ExpectTensor(Stacked(Need(Set(list, 0, Floats({7, 8})))), Matrix(2, {7, 8, 3, 4}));
  ExpectTensor(Stacked(list), kTwoElements);
  ExpectTensor(Stacked(Need(Set(list, 3, Floats({7, 8}), true))),
               Matrix(4, {1, 2, 3, 4, 0, 0, 7, 8}));
  ExpectRefused(Set(list, 2, Floats({7, 8})), "modify element 2");
  ExpectRefused(Set(list, -1, Floats({7, 8}), true), "modify element -1");
  ExpectRefused(Set(list, 2147483647, Floats({7, 8}), true), "at most", Code::kResourceExhausted);
  ExpectRefused(Set(list, 0, Floats({7})), "incompatible shape");
  ExpectRefused(Set(list, 0, Ints({7, 8})), "Invalid data types");
}

TEST(TensorListElementTest, ListsOfListsHaveADepth) {
  const Tensor outer = Need(RunList("EmptyTensorList", {kAnyShape, Tensor::Scalar<int32_t>(-1)},
                                    {{"element_dtype", DType::kVariant}}));
  Result<Tensor> list = EmptyList();
  int depth = 1;
  for (; list.ok() && depth < 1000; ++depth) list = Pushed(outer, *list);
  EXPECT_EQ(depth, 65);
  ExpectRefused(list, "nested");
}

// Whoever holds a list alone changes it where it is; the list of another stays as it was.
TEST(TensorListElementTest, IsChangedInPlaceWhereNobodyElseHoldsIt) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output first = b.Op("Placeholder", {}, {{"dtype", DType::kVariant}});
  const Output value = b.Const(Floats({1, 2}));
  const Output once = b.Op("TensorListPushBack", {first, value});
  const Output twice = b.Op("TensorListPushBack", {once, value});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  runner.set_take_inputs(true);
  Tensor list = EmptyList();
  const VariantValue* const object = list.scalar<Variant>().get();
  Feeds feeds;
  feeds.emplace_back(first, std::move(list));
  auto got = runner.Run(std::move(feeds), {twice});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].scalar<Variant>().get(), object);
  EXPECT_EQ((*got)[0].scalar<Variant>().As<TensorList>()->size(), 2);
  const Tensor held = EmptyList();
  got = runner.Run({{first, held}}, {twice});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(held.scalar<Variant>().As<TensorList>()->size(), 0);
  // A second tensor of the same list is a holder too.
  Tensor other = *Tensor::AllocateHost(DType::kVariant, Shape());
  *other.mutable_data<Variant>() = held.scalar<Variant>();
  feeds.clear();
  feeds.emplace_back(first, std::move(other));
  got = runner.Run(std::move(feeds), {twice});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(held.scalar<Variant>().As<TensorList>()->size(), 0);
}

TEST(TensorListElementTest, PushesToManyLists) {
  Tensor lists = *Tensor::AllocateHost(DType::kVariant, Shape{2});
  lists.mutable_data<Variant>()[0] = ListOf(kTwoElements, Ints({2})).scalar<Variant>();
  lists.mutable_data<Variant>()[1] = EmptyList().scalar<Variant>();
  const auto push = [&](const Tensor& rows) {
    return RunList("TensorListPushBackBatch", {lists, rows});
  };
  const Result<Tensor> got = push(Matrix(2, {5, 6, 7, 8}));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  Tensor second = *Tensor::AllocateHost(DType::kVariant, Shape());
  *second.mutable_data<Variant>() = got->data<Variant>()[1];
  ExpectTensor(Stacked(second), Matrix(1, {7, 8}));
  ExpectRefused(push(Matrix(1, {5, 6})), "1 vs. 2");
  ExpectRefused(push(Matrix(2, {5, 6})), "incompatible shape");
}

}  // namespace
}  // namespace thalweg
