// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

struct Shelf : Resource {
  std::string DebugString() const override { return "a shelf"; }
};
struct Drawer : Resource {
  std::string DebugString() const override { return "a drawer"; }
};
template <class T>
RefPtr<T> MakeResource() {
  return RefPtr<T>::Adopt(std::make_unique<T>().release());
}
Tensor HandleOf(ResourceHandle handle) {
  Tensor tensor = *Tensor::AllocateHost(DType::kResource, Shape());
  *tensor.mutable_data<ResourceHandle>() = std::move(handle);
  return tensor;
}

TEST(ContextTest, TakesOnlyLastUnsharedSoleUses) {
  Tensor values[3] = {Tensor::Vector<float>({1, 2}), Tensor(), Tensor()};
  const Operand operands[] = {Operand::Make(0, 0, true), Operand::Make(0, 1)};
  const Operand not_last[] = {Operand::Make(0, 0), Operand::Make(0, 1)};
  const Operand shared[] = {Operand::Make(0, 0, true, true), Operand::Make(0, 1)};
  Context ctx;
  ctx.SetBase(0, values);
  ctx.SetOperands(not_last, 1, 1);
  EXPECT_TRUE(ctx.TakeInput(0).empty());
  ctx.SetOperands(shared, 1, 1);
  EXPECT_TRUE(ctx.TakeInput(0).empty());
  ctx.SetOperands(operands, 1, 1);
  {
    const Tensor other = values[0];
    EXPECT_TRUE(ctx.TakeInput(0).empty());
  }
  const void* data = values[0].raw_data();
  EXPECT_EQ((*ctx.TakeOrAllocateOutput({0}, 0, DType::kFloat, Shape{2}))->raw_data(), data);
}

TEST(ContextTest, TheMakingOfStringsEndsWithTheStep) {
  constexpr int64_t kMany = 1 << 20;
  TestStep step;
  TestCall call(step);
  EXPECT_TRUE(call.context().AllocateOutput(0, DType::kString, Shape{kMany}).ok());
  call.context().set_output(0, Tensor());
  step.cancellation.Cancel();
  EXPECT_EQ(call.context().AllocateOutput(0, DType::kString, Shape{kMany}).status().code(),
            Code::kCancelled);
  EXPECT_EQ(call.context().AllocateTemporary(DType::kString, Shape{kMany}).status().code(),
            Code::kCancelled);
  EXPECT_EQ(step.bytes_in_use(), 0);
  // Few are there at once, and what is no object needs no making.
  EXPECT_TRUE(call.context().AllocateTemporary(DType::kString, Shape{10}).ok());
  EXPECT_TRUE(call.context().AllocateTemporary(DType::kFloat, Shape{kMany}).ok());
  EXPECT_TRUE(Tensor::Allocate(*step.allocator, DType::kString, Shape{kMany}).ok());
}

TEST(ContextTest, AnOperandKeepsItsFourParts) {
  const Operand operand = Operand::Make(3, Operand::kIndexMask, true, false);
  EXPECT_EQ(operand.base(), 3u);
  EXPECT_EQ(operand.index(), Operand::kIndexMask);
  EXPECT_TRUE(operand.last());
  EXPECT_FALSE(operand.shared());
  EXPECT_TRUE(Operand::Make(0, 0, false, true).shared());
  EXPECT_FALSE(Operand::Make(0, 0, false, true).last());
}

TEST(ContextTest, AnOutputTakesTheFirstInputThatFits) {
  TestStep step;
  const auto input = [&](const Shape& shape, DType dtype = DType::kFloat) {
    return *Tensor::Allocate(*step.allocator, dtype, shape);
  };
  TestCall call(step, {input({4}), input({2, 2}), input({2, 2})});
  const void *wrong_shape = call.context().input(0).raw_data(),
             *fits = call.context().input(1).raw_data();
  const Tensor* out = *call.context().TakeOrAllocateOutput({0, 1, 2}, 0, DType::kFloat, {2, 2});
  EXPECT_EQ(out->raw_data(), fits);
  EXPECT_EQ(call.context().input(0).raw_data(), wrong_shape) << "what does not fit stays";
  EXPECT_EQ(out->shape(), (Shape{2, 2}));
}

TEST(ContextTest, AnOutputOfAnotherTypeOfTheSameSizeTakesTheBytes) {
  TestStep step;
  TestCall call(step, {*Tensor::Allocate(*step.allocator, DType::kFloat, Shape{8})});
  const void* const bytes = call.context().input(0).raw_data();
  const Tensor* out = *call.context().TakeOrAllocateOutput({0}, 0, DType::kInt32, Shape{8});
  EXPECT_EQ(out->raw_data(), bytes);
  EXPECT_EQ(out->dtype(), DType::kInt32);
  TestCall wider(step, {*Tensor::Allocate(*step.allocator, DType::kFloat, Shape{8})});
  const void* const narrow = wider.context().input(0).raw_data();
  const Tensor* doubles = *wider.context().TakeOrAllocateOutput({0}, 0, DType::kDouble, Shape{8});
  EXPECT_NE(doubles->raw_data(), narrow);
}

TEST(ContextTest, AnOutputBeyondTheLimitIsResourceExhaustedAndTheSlotStays) {
  TestStep step(int64_t{1} << 20);
  TestCall call(step);
  call.context().set_output(0, Tensor::Scalar(7));
  const auto refused = call.context().AllocateOutput(0, DType::kFloat, Shape{int64_t{1} << 20});
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(call.output().scalar<int>(), 7);
  EXPECT_EQ(
      call.context().AllocateTemporary(DType::kFloat, Shape{int64_t{1} << 20}).status().code(),
      Code::kResourceExhausted);
  EXPECT_EQ(step.bytes_in_use(), 0);
}

TEST(ContextTest, ATemporaryGivesItsMemoryBack) {
  TestStep step;
  TestCall call(step);
  {
    const Tensor temporary = *call.context().AllocateTemporary(DType::kFloat, Shape{1000});
    EXPECT_GE(step.bytes_in_use(), 4000);
  }
  EXPECT_EQ(step.bytes_in_use(), 0);
}

TEST(ContextTest, AHandleLeadsToItsResourceByPointerElseByName) {
  TestStep step;
  RefPtr<Shelf> shelf = MakeResource<Shelf>();
  const ResourceHandle::Place place{.container = "c", .name = "s"};
  TestCall by_pointer(step,
                      {HandleOf(ResourceHandle(place, RefPtr<Resource>::Share(shelf.get())))});
  EXPECT_EQ(by_pointer.context().Resource<Shelf>(0)->get(), shelf.get());

  TestCall by_name(step, {HandleOf(ResourceHandle(place, {}))});
  EXPECT_EQ(by_name.context().Resource<Shelf>(0).status().code(), Code::kNotFound);
  ASSERT_TRUE(step.resources.Create("c", "s", shelf).ok());
  EXPECT_EQ(by_name.context().Resource<Shelf>(0)->get(), shelf.get());
}

TEST(ContextTest, AHandleOfAnotherClassIsNotThatResource) {
  TestStep step;
  RefPtr<Drawer> drawer = MakeResource<Drawer>();
  TestCall call(step, {HandleOf(ResourceHandle({.container = "c", .name = "s"},
                                               RefPtr<Resource>::Share(drawer.get())))});
  EXPECT_EQ(call.context().Resource<Shelf>(0).status().code(), Code::kNotFound);
}

TEST(ContextTest, WhatIsNoHandleIsNamedWithItsTypeAndShape) {
  TestStep step;
  TestCall call(step, {Tensor::Vector<float>({1, 2}), HandleOf(ResourceHandle())});
  const Status number = call.context().Resource<Shelf>(0).status();
  EXPECT_EQ(number.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(number.message()), HasSubstr("float32[2]"));
  const Status unset = call.context().Resource<Shelf>(1).status();
  EXPECT_EQ(unset.code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(unset.message()), HasSubstr("input 1 is an uninitialized"));
}

}  // namespace
}  // namespace thalweg
