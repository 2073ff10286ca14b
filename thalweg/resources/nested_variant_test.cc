// SPDX-License-Identifier: Apache-2.0
// Values inside variants: how deep they are, what they say of themselves, how long chains end.
#include "thalweg/resources/nested_variant.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thalweg/resources/composite_value.h"
#include "thalweg/resources/loop_stack.h"
#include "thalweg/resources/ragged_value.h"
#include "thalweg/resources/test_variants.h"

namespace thalweg {
namespace {

std::shared_ptr<const LoopStack> Longer(std::shared_ptr<const LoopStack> stack,
                                        std::vector<Tensor> record) {
  return std::make_shared<const LoopStack>(std::move(stack), std::move(record));
}

TEST(NestedVariantTest, DepthIsOneMoreThanTheDeepestValueInside) {
  EXPECT_EQ(DepthAround(Tensor()), 1);
  EXPECT_EQ(DepthAround(Tensor::Scalar(1)), 1);
  EXPECT_EQ(DepthAround(VariantTensor(nullptr)), 1);
  const Tensor flat = VariantTensor(std::make_shared<const OptionalValue>());
  const OptionalValue deeper({Tensor::Scalar(1), flat});
  EXPECT_EQ(deeper.depth(), 2);
  const CompositeValue composite(7, {VariantTensor(std::make_shared<OptionalValue>(deeper)), flat});
  EXPECT_EQ(composite.depth(), 3);
  Tensor many = *Tensor::AllocateHost(DType::kVariant, Shape{3});
  many.mutable_data<Variant>()[2] = Variant(std::make_shared<CompositeValue>(composite));
  EXPECT_EQ(DepthAround(many), 4) << "any element of a tensor counts";
}

TEST(NestedVariantTest, TheLimitIsKeptToTheLastLevel) {
  std::shared_ptr<const OptionalValue> value = std::make_shared<OptionalValue>();
  for (int depth = 1; depth < NestedVariant::kMaxDepth; ++depth) {
    value = std::make_shared<OptionalValue>(std::vector<Tensor>{VariantTensor(value)});
  }
  EXPECT_TRUE(CheckDepth(*value).ok());
  const OptionalValue over({VariantTensor(value)});
  EXPECT_EQ(CheckDepth(over).code(), Code::kInvalidArgument);
}

TEST(NestedVariantTest, RaggedTensorsOfRaggedTensorsHaveTheLimitToo) {
  Result<Variant> value = RaggedValue::Make(DType::kInt64, {}, Tensor::Scalar(1));
  for (int depth = 1; depth < NestedVariant::kMaxDepth; ++depth) {
    ASSERT_TRUE(value.ok()) << depth;
    value = RaggedValue::Make(DType::kInt64, {}, Tensor::Scalar(Variant(*value)));
  }
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(RaggedValue::Make(DType::kInt64, {}, Tensor::Scalar(*value)).status().code(),
            Code::kInvalidArgument);
}

TEST(OptionalValueTest, AnOptionalOfNoComponentsIsNotOneWithoutAValue) {
  EXPECT_FALSE(OptionalValue().has_value());
  EXPECT_TRUE(OptionalValue(std::vector<Tensor>()).has_value());
  EXPECT_EQ(OptionalValue({Tensor::Scalar(1)}).DebugString(), "an optional of 1 components");
  EXPECT_EQ(OptionalValue().TypeName(), "tensorflow::data::Optional");
}

TEST(CompositeValueTest, KeepsItsKindAndComponents) {
  const CompositeValue value(42, {Tensor::Scalar(1), Tensor::Scalar(2)});
  EXPECT_EQ(value.kind(), 42u);
  EXPECT_EQ(value.components()[1].scalar<int>(), 2);
  EXPECT_EQ(value.TypeName(), "CompositeTensorVariant");
}

TEST(LoopStackTest, APushSharesTheEarlierRecordsAndChangesNobodysView) {
  const auto none = std::make_shared<const LoopStack>();
  const auto one = Longer(none, {Tensor::Scalar(1)});
  const auto two = Longer(one, {Tensor::Scalar(2)}), other = Longer(one, {Tensor::Scalar(3)});
  EXPECT_EQ(none->length(), 0);
  EXPECT_EQ(none->earlier(), nullptr);
  EXPECT_EQ(one->length(), 1);
  EXPECT_EQ(two->length(), 2);
  EXPECT_EQ(two->earlier(), one);
  EXPECT_EQ(other->earlier(), one);
  EXPECT_EQ(two->latest()[0].scalar<int>(), 2);
  EXPECT_EQ(other->latest()[0].scalar<int>(), 3);
  EXPECT_EQ(two->DebugString(), "a loop stack of 2 iterations");
}

// A million records freed by recursion would end the stack.
TEST(LoopStackTest, ALongStackIsFreedWithoutRecursion) {
  auto stack = std::make_shared<const LoopStack>();
  for (int i = 0; i < 1000000; ++i) stack = Longer(std::move(stack), {});
  EXPECT_EQ(stack->length(), 1000000);
  stack.reset();
}

TEST(LoopStackTest, StacksWithinRecordsAreFreedWithoutRecursion) {
  Tensor tensor = VariantTensor(std::make_shared<const LoopStack>());
  for (int i = 0; i < 300000; ++i) {
    tensor = VariantTensor(Longer(std::make_shared<const LoopStack>(), {tensor}));
  }
  EXPECT_EQ(VariantIn<LoopStack>(tensor).length(), 1);
  tensor = Tensor();
}

TEST(LoopStackTest, ARecordLivesAsLongAsAStackThatHasIt) {
  AllocatorPtr allocator = MakeCpuAllocator();
  const auto record = [&] {
    return std::vector<Tensor>{*Tensor::Allocate(*allocator, DType::kFloat, Shape{1000})};
  };
  auto first = Longer(std::make_shared<const LoopStack>(), record());
  const int64_t one = allocator->Stats().bytes_in_use;
  auto second = Longer(first, record());
  EXPECT_EQ(allocator->Stats().bytes_in_use, 2 * one);
  first.reset();
  EXPECT_EQ(allocator->Stats().bytes_in_use, 2 * one) << "the longer one has it too";
  first = second->earlier();
  second.reset();
  EXPECT_EQ(allocator->Stats().bytes_in_use, one);
  first.reset();
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

// What is left to free is kept by thread.
TEST(LoopStackTest, ThreadsFreeTheirShareOfOneStack) {
  AllocatorPtr allocator = MakeCpuAllocator();
  auto trunk = std::make_shared<const LoopStack>();
  for (int i = 0; i < 1000; ++i) {
    trunk = Longer(trunk, {*Tensor::Allocate(*allocator, DType::kFloat, Shape{100})});
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, branch = trunk]() mutable {
      for (int i = 0; i < 1000; ++i) {
        branch =
            Longer(std::move(branch), {*Tensor::Allocate(*allocator, DType::kFloat, Shape{100})});
      }
    });
  }
  trunk.reset();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace thalweg
