// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/kernel/test_step.h"
#include "thalweg/resources/test_variants.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// The value of a key as a number, -1 where there is none.
int ValueIn(const TensorMap& map, const Tensor& key) {
  const Tensor* const value = map.Find(key);
  return value == nullptr ? -1 : value->scalar<int>();
}

TEST(TensorMapTest, KeysAreEqualWhenTypeShapeAndBytesAre) {
  TensorMap map;
  const auto insert = [&](const Tensor& key, int value) {
    ASSERT_TRUE(map.Insert(key, Tensor::Scalar(value)).ok());
  };
  insert(Tensor::Scalar(1), 1);
  insert(Tensor::Scalar(1.0F), 2);
  insert(Tensor::Vector<int32_t>({1}), 3);
  insert(Tensor::Vector<std::string>({"a", "bc"}), 4);
  insert(Tensor::Vector<std::string>({"ab", "c"}), 5);
  insert(Tensor::Scalar(std::nanf("")), 6);
  insert(Tensor::Scalar(0.0), 7);
  insert(Tensor::Scalar(-0.0), 8);
  EXPECT_EQ(map.size(), 8);
  EXPECT_EQ(ValueIn(map, Tensor::Scalar(1)), 1);
  EXPECT_EQ(ValueIn(map, Tensor::Scalar(1.0F)), 2);
  EXPECT_EQ(ValueIn(map, Tensor::Vector<int32_t>({1})), 3);
  EXPECT_EQ(ValueIn(map, Tensor::Vector<std::string>({"a", "bc"})), 4);
  EXPECT_EQ(ValueIn(map, Tensor::Scalar(std::nanf(""))), 6) << "NaN is equal to itself";
  EXPECT_EQ(ValueIn(map, Tensor::Scalar(0.0)), 7);
  EXPECT_EQ(ValueIn(map, Tensor::Scalar(int64_t{1})), -1);
}

TEST(TensorMapTest, EntriesKeepTheOrderInWhichTheirKeysCame) {
  TensorMap map;
  for (const int key : {5, 3, 4}) {
    ASSERT_TRUE(map.Insert(Tensor::Scalar(key), Tensor::Scalar(key)).ok());
  }
  ASSERT_TRUE(map.Insert(Tensor::Scalar(5), Tensor::Scalar(50)).ok());
  EXPECT_TRUE(map.Erase(Tensor::Scalar(3)));
  EXPECT_FALSE(map.Erase(Tensor::Scalar(3)));
  ASSERT_TRUE(map.Insert(Tensor::Scalar(3), Tensor::Scalar(30)).ok());
  std::vector<int> keys, values;
  for (const auto& [turn, entry] : map.entries()) {
    keys.push_back(entry.key.scalar<int>());
    values.push_back(entry.value.scalar<int>());
  }
  EXPECT_EQ(keys, (std::vector<int>{5, 4, 3}));
  EXPECT_EQ(values, (std::vector<int>{50, 4, 30}));
}

TEST(TensorMapTest, KeysOfVariantsAndResourcesAreRefused) {
  TensorMap map;
  const Status variant = map.Insert(VariantTensor(nullptr), Tensor::Scalar(1));
  EXPECT_EQ(variant.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(variant.message()), HasSubstr("got variant"));
  const Tensor handle = *Tensor::AllocateHost(DType::kResource, Shape());
  EXPECT_EQ(map.Insert(handle, Tensor::Scalar(1)).code(), Code::kInvalidArgument);
  EXPECT_EQ(map.size(), 0);
}

TEST(TensorMapTest, MapsInMapsEndAtTheirGreatestDepth) {
  auto map = std::make_shared<TensorMap>();
  for (int depth = 1; depth < NestedVariant::kMaxDepth; ++depth) {
    auto outer = std::make_shared<TensorMap>();
    ASSERT_TRUE(outer->Insert(Tensor::Scalar(1), VariantTensor(map)).ok());
    map = std::move(outer);
  }
  TensorMap deeper;
  EXPECT_EQ(deeper.Insert(Tensor::Scalar(1), VariantTensor(map)).code(), Code::kInvalidArgument);
}

TEST(TensorMapTest, AnUpdateChangesTheMapItselfOrACopyWhereOthersHoldIt) {
  TestStep step;
  const auto insert = [&](TestCall& call) {
    MapUpdate update = *MapUpdate::Of(call.context(), 0);
    EXPECT_TRUE(update->Insert(Tensor::Scalar(1), Tensor::Scalar(2)).ok());
    EXPECT_TRUE(std::move(update).SetOutput(call.context(), 0).ok());
    EXPECT_EQ(VariantIn<TensorMap>(call.output()).size(), 1);
  };
  TestCall alone(step, {VariantTensor(std::make_shared<TensorMap>())});
  const TensorMap* const before = *MapInput(alone.context(), 0);
  insert(alone);
  EXPECT_EQ(&VariantIn<TensorMap>(alone.output()), before);

  const Tensor shared = VariantTensor(std::make_shared<TensorMap>());
  TestCall beside(step, {shared});
  insert(beside);
  EXPECT_EQ(VariantIn<TensorMap>(shared).size(), 0);

  const auto held = std::make_shared<TensorMap>();
  TestCall held_elsewhere(step, {VariantTensor(held)});
  insert(held_elsewhere);
  EXPECT_EQ(held->size(), 0);
}

TEST(TensorMapTest, WhatIsNoMapIsRefusedAndSaid) {
  TestStep step;
  TestCall call(step, {Tensor::Vector<float>({1}), VariantTensor(nullptr),
                       VariantTensor(std::make_shared<OptionalValue>())});
  const auto words = [&](int i) {
    EXPECT_EQ(MapUpdate::Of(call.context(), i).status().code(), Code::kInvalidArgument);
    return std::string(MapInput(call.context(), i).status().message());
  };
  EXPECT_EQ(words(0), "Input map must be a scalar. Saw: float32[1]");
  EXPECT_EQ(words(1), "Input handle is not a map. Saw: an empty variant");
  EXPECT_EQ(words(2), "Input handle is not a map. Saw: an optional without a value");
}

}  // namespace
}  // namespace thalweg
