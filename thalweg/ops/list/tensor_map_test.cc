// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_map.h"

#include <limits>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/list/test_lists.h"
#include "thalweg/testing/graph_runner.h"

namespace thalweg {
namespace {

Tensor EmptyMap() { return Need(RunList("EmptyTensorMap", {})); }
Result<Tensor> Put(const Tensor& map, const Tensor& key, const Tensor& value) {
  return RunList("TensorMapInsert", {map, key, value});
}
Result<Tensor> Look(const Tensor& map, const Tensor& key, DType dtype = DType::kFloat) {
  return RunList("TensorMapLookup", {map, key}, {{"value_dtype", dtype}});
}
Result<Tensor> Without(const Tensor& map, const Tensor& key) {
  return RunList("TensorMapErase", {map, key}, {{"value_dtype", DType::kFloat}});
}
int Size(const Tensor& map) { return Need(RunList("TensorMapSize", {map})).scalar<int32_t>(); }
bool Has(const Tensor& map, const Tensor& key) {
  return Need(RunList("TensorMapHasKey", {map, key})).scalar<bool>();
}
Result<Tensor> Keys(const Tensor& map, DType dtype = DType::kFloat) {
  return RunList("TensorMapStackKeys", {map}, {{"key_dtype", dtype}});
}

const Tensor kOne = Tensor::Scalar(1.0f), kTwoKey = Tensor::Scalar(2.0f);

TEST(TensorMapTest, InsertsAndFinds) {  // as TensorFlow 2.21
  const Tensor one = Need(Put(EmptyMap(), kOne, Floats({1, 2})));
  const Tensor two = Need(Put(one, kTwoKey, Tensor::Scalar(5.0f)));
  EXPECT_EQ(Size(one), 1) << "who holds a map sees no change";
  EXPECT_EQ(Size(two), 2);
  ExpectTensor(Look(two, kOne), Floats({1, 2}));
  ExpectTensor(Look(Need(Put(two, kOne, kTwoKey)), kOne), kTwoKey);
  EXPECT_TRUE(Has(two, kTwoKey));
  EXPECT_FALSE(Has(two, Tensor::Scalar(9.0f)));
  EXPECT_FALSE(Has(two, Tensor::Scalar(1))) << "a key of another type is another key";
  EXPECT_FALSE(Has(two, Floats({1}))) << "and so is one of another shape";
  ExpectRefused(Look(two, Tensor::Scalar(9.0f)), "Trying to lookup non-existent key");
  ExpectRefused(Look(two, kOne, DType::kInt32), "Type mismatch: actual float32 vs. expect int32");
  EXPECT_EQ(Size(Need(Without(two, kOne))), 1);
  ExpectRefused(Without(two, Tensor::Scalar(9.0f)), "Trying to erase non-existent item");
  ExpectRefused(RunList("TensorMapSize", {EmptyList()}), "Input handle is not a map");
  ExpectRefused(RunList("TensorMapSize", {Tensor::Scalar(Variant())}), "an empty variant");
}

TEST(TensorMapTest, KeysOfManyKinds) {
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  ExpectTensor(Look(Need(Put(EmptyMap(), nan, kOne)), nan), kOne);
  const Tensor text = Tensor::Vector<std::string>({"a", "c"});
  const Tensor map = Need(Put(EmptyMap(), text, kOne));
  ExpectTensor(Look(map, text), kOne);
  EXPECT_FALSE(Has(map, Tensor::Vector<std::string>({"ac", ""})));
  const Tensor none = Floats({});
  const Tensor of_none = Need(Put(EmptyMap(), none, kOne));
  EXPECT_TRUE(Has(of_none, none));
  EXPECT_FALSE(Has(of_none, *Tensor::AllocateHost(DType::kFloat, Shape{0, 2})));
  ExpectRefused(Put(EmptyMap(), EmptyList(), kOne), "a key of a map must be");
}

TEST(TensorMapTest, KeysAsRows) {
  Tensor map = Need(Put(EmptyMap(), Ints({1, 2}), kOne));
  map = Need(Put(map, Ints({3, 4}), kTwoKey));
  map = Need(Put(map, Ints({1, 2}), kTwoKey));
  ExpectTensor(Keys(map, DType::kInt32),
               Tensor::Of<int32_t>(std::vector<int32_t>{1, 2, 3, 4}, Shape{2, 2}));
  ExpectRefused(Keys(map), "Key does not match requested dtype");
  ExpectRefused(Keys(Need(Put(map, Ints({5}), kOne)), DType::kInt32),
                "Keys must all have the same shape");
  ExpectRefused(Keys(EmptyMap()), "cannot be called on empty map");
  ExpectTensor(Keys(Need(Put(EmptyMap(), Tensor::Scalar("a"), kOne)), DType::kString),
               Tensor::Vector<std::string>({"a"}));
}

TEST(TensorMapTest, MapsInMapsHaveADepth) {
  Result<Tensor> map = EmptyMap();
  int depth = 1;
  for (; map.ok() && depth < 1000; ++depth) map = Put(EmptyMap(), kOne, *map);
  EXPECT_EQ(depth, 65);
  ExpectRefused(map, "nested");
}

TEST(TensorMapTest, SumsAndZeros) {
  const Tensor a = Need(Put(EmptyMap(), kOne, kTwoKey));
  const Tensor b = Need(Put(Need(Put(EmptyMap(), kOne, kOne)), kTwoKey, kOne));
  const Tensor sum = Need(RunList("AddN", {a, b}));
  EXPECT_EQ(Size(sum), 2);
  ExpectTensor(Look(sum, kOne), Tensor::Scalar(3.0f));
  ExpectTensor(Look(sum, kTwoKey), kOne);
  EXPECT_EQ(Size(Need(RunList("ZerosLike", {b}))), 0);
  ExpectRefused(RunList("AddN", {a, Need(Put(EmptyMap(), kOne, Floats({1, 2})))}), "shapes");
}

// Whoever holds a map alone changes it where it is.
TEST(TensorMapTest, IsChangedInPlaceWhereNobodyElseHoldsIt) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output first = b.Op("Placeholder", {}, {{"dtype", DType::kVariant}});
  const Output once = b.Op("TensorMapInsert", {first, b.Const(kOne), b.Const(kTwoKey)});
  const Output twice = b.Op("TensorMapInsert", {once, b.Const(kTwoKey), b.Const(kTwoKey)});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  runner.set_take_inputs(true);
  Tensor map = EmptyMap();
  const VariantValue* const object = map.scalar<Variant>().get();
  Feeds feeds;
  feeds.emplace_back(first, std::move(map));
  const auto got = runner.Run(std::move(feeds), {twice});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].scalar<Variant>().get(), object);
  const Tensor held = EmptyMap();
  ASSERT_TRUE(runner.Run({{first, held}}, {twice}).ok());
  EXPECT_EQ(Size(held), 0);
}

}  // namespace
}  // namespace thalweg
