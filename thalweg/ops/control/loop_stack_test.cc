// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/loop_stack.h"

#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

Tensor Empty() {
  KernelCall call("_EmptyLoopStack", {});
  EXPECT_TRUE(call.Run().ok());
  return call.output(0);
}

Tensor Push(const Tensor& stack, const std::vector<Tensor>& record) {
  std::vector<Tensor> inputs = {stack};
  std::vector<DType> types;
  for (const Tensor& value : record) {
    inputs.push_back(value);
    types.push_back(value.dtype());
  }
  KernelCall call("_PushLoopStack", inputs, {{"T", types}});
  EXPECT_TRUE(call.Run().ok());
  return call.output(0);
}

// The stack without its latest record, and that record.
Result<std::vector<Tensor>> Pop(const Tensor& stack, const std::vector<DType>& types) {
  KernelCall call("_PopLoopStack", {stack},
                  {{"T", types}, {"shapes", std::vector<PartialShape>()}});
  RETURN_IF_ERROR(call.Run());
  std::vector<Tensor> all;
  for (size_t i = 0; i <= types.size(); ++i) all.push_back(call.output(static_cast<int>(i)));
  return all;
}

TEST(LoopStackOpTest, GivesTheLatestFirstAndChangesNothing) {
  const Tensor one = Push(Empty(), {Tensor::Scalar(1.0f), Tensor::Scalar("a")});
  const Tensor two = Push(one, {Tensor::Scalar(2.0f), Tensor::Scalar("b")});
  const std::vector<DType> types = {DType::kFloat, DType::kString};
  for (int again = 0; again < 2; ++again) {
    const auto last = Pop(two, types);
    ASSERT_TRUE(last.ok()) << last.status().ToString();
    EXPECT_EQ((*last)[1].scalar<float>(), 2.0f);
    EXPECT_EQ((*last)[2].scalar<std::string>(), "b");
    const auto first = Pop((*last)[0], types);
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    EXPECT_EQ((*first)[1].scalar<float>(), 1.0f);
    EXPECT_EQ(Pop((*first)[0], types).status().code(), Code::kInvalidArgument);
  }
}

TEST(LoopStackOpTest, ARecordIsWhatWasPushed) {
  const Tensor stack = Push(Empty(), {Tensor::Scalar(1.0f)});
  EXPECT_EQ(Pop(stack, {DType::kDouble}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Pop(stack, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Pop(*Tensor::AllocateHost(DType::kVariant, Shape()), {}).status().code(),
            Code::kInvalidArgument);
}

// Along the stack and within its records.
TEST(LoopStackOpTest, FreesManyRecordsWithoutRecursion) {
  using Shared = std::shared_ptr<const LoopStack>;
  Shared along = std::make_shared<const LoopStack>();
  Shared within = along;
  for (int i = 0; i < 200000; ++i) {
    along = std::make_shared<const LoopStack>(along, std::vector<Tensor>());
    Tensor value = *Tensor::AllocateHost(DType::kVariant, Shape());
    *value.mutable_data<Variant>() = Variant(std::move(within));
    within = std::make_shared<const LoopStack>(std::make_shared<const LoopStack>(),
                                               std::vector<Tensor>{std::move(value)});
  }
  EXPECT_EQ(along->length(), 200000);
}

// Zeros of what can have a gradient, record by record, also within records.
TEST(LoopStackOpTest, HasZeros) {
  const Tensor inner = Push(Empty(), {Tensor::Scalar(5.0f)});
  const Tensor outer = Push(Empty(), {Tensor::Scalar<int32_t>(1), inner, Tensor::Scalar(2.0)});
  KernelCall zeros("ZerosLike", {outer});
  ASSERT_TRUE(zeros.Run().ok());
  const auto record = Pop(zeros.output(0), {DType::kVariant, DType::kDouble});
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ((*record)[2].scalar<double>(), 0.0);
  const auto nested = Pop((*record)[1], {DType::kFloat});
  ASSERT_TRUE(nested.ok()) << nested.status().ToString();
  EXPECT_EQ((*nested)[1].scalar<float>(), 0.0f);
}

}  // namespace
}  // namespace thalweg
