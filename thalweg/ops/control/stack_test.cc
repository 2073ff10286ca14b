// SPDX-License-Identifier: Apache-2.0
// Errors are those of TensorFlow 1.15.
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {
namespace {

class StackTest : public testing::TestWithParam<bool> {
 protected:
  StackTest() : graph_(AllRegistries().ops), b_(&graph_), machine_(compute::BestIsaLevel(), false) {
    const AttrMap attrs = {{"elem_type", DType::kFloat}, {"stack_name", "s"}};
    handle_ = GetParam() ? b_.Op("StackV2", {b_.Const(Tensor::Scalar<int32_t>(2))}, attrs)
                         : b_.Op("Stack", {}, attrs);
  }

  std::string Name(const char* op) const { return GetParam() ? StrCat(op, "V2") : op; }
  Output Push(const Output& value, std::vector<Node*> after = {}) {
    return b_.WithControls(std::move(after)).Op(Name("StackPush"), {handle_, value});
  }
  Output Push(float value, std::vector<Node*> after = {}) {
    return Push(b_.Const(Tensor::Scalar(value)), std::move(after));
  }
  Output Pop(std::vector<Node*> after = {}, DType dtype = DType::kFloat) {
    return b_.WithControls(std::move(after))
        .Op(Name("StackPop"), {handle_}, {{"elem_type", dtype}});
  }
  Result<std::vector<Tensor>> Run(const std::vector<Output>& fetches,
                                  const std::vector<Node*>& targets = {}) {
    RETURN_IF_ERROR(b_.status());
    return GraphRunner(*AllRegistries().kernels, machine_).Run({}, fetches, targets);
  }
  void ExpectError(const Output& fetch, std::string_view words) {
    const Status status = Run({fetch}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.ToString();
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  Output handle_;
};

TEST_P(StackTest, LastInFirstOut) {
  const Output one = Push(1), two = Push(2, {one.node});
  const Output last = Pop({two.node}), first = Pop({last.node});
  for (int step = 0; step < 2; ++step) {
    const auto values = Run({one, two, last, first});
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    EXPECT_EQ((*values)[1].scalar<float>(), 2.0f);
    EXPECT_EQ((*values)[2].scalar<float>(), 2.0f);
    EXPECT_EQ((*values)[3].scalar<float>(), 1.0f);
  }
}

TEST_P(StackTest, StacksOfOneNameAreDifferent) {
  const Output first = handle_;
  const AttrMap attrs = {{"elem_type", DType::kFloat}, {"stack_name", "s"}};
  const Output second = GetParam() ? b_.Op("StackV2", {b_.Const(Tensor::Scalar<int32_t>(2))}, attrs)
                                   : b_.Op("Stack", {}, attrs);
  const Output one = Push(1);
  handle_ = second;
  const Output two = Push(2, {one.node});
  handle_ = first;
  const auto values = Run({Pop({two.node})});
  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_EQ((*values)[0].scalar<float>(), 1.0f);
}

TEST_P(StackTest, WhatIsNotThereCannotBeTaken) {
  ExpectError(Pop(), "is empty when calling Pop()");
  ExpectError(Pop({Push(1).node}, DType::kInt32), "expected a value of type int32");
  Node* const closed =
      b_.WithControls({Push(1).node}).OpNode(Name("StackClose"), {handle_}, {}, "close");
  ExpectError(Pop({closed}), "has already been closed");
  ExpectError(Push(1, {closed}), "has already been closed");
  const Output second = Push(2, {Push(1).node});
  if (GetParam()) ExpectError(Push(3, {second.node}), "overflowed its max_size (2)");
}

// A stack that holds its own handle goes with the step as well.
TEST_P(StackTest, HoldsHandlesOfStacks) {
  if (!GetParam()) return;
  const Output pushed = Push(handle_);
  const Output handle = Pop({pushed.node}, DType::kResource);
  Node* const again = b_.OpNode("StackPushV2", {handle, b_.Const(Tensor::Scalar(4.0f))});
  const Output popped = Pop({again});
  Node* const loop = b_.WithControls({popped.node}).OpNode("StackPushV2", {handle_, handle_});
  const auto values = Run({popped}, {loop});
  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_EQ((*values)[0].scalar<float>(), 4.0f);
}

TEST_P(StackTest, BadSizes) {
  const Output size = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}});
  const Output handle = b_.Op("StackV2", {size}, {{"elem_type", DType::kFloat}});
  const Status status = GraphRunner(*AllRegistries().kernels, machine_)
                            .Run({{size, Tensor::Vector<int32_t>({1, 2})}}, {handle})
                            .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Versions, StackTest, testing::Bool());

}  // namespace
}  // namespace thalweg
