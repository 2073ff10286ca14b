// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

const Tensor kNumbers = Tensor::Vector<float>({1, 2, 3});
const Tensor kText = Tensor::Scalar("a text");
const std::vector<DType> kOptionalTypes = {DType::kFloat, DType::kString};

Result<Tensor> MakeOptional() {
  ASSIGN_OR_RETURN(std::vector<Tensor> made, RunOp("OptionalFromValue", {kNumbers, kText},
                                                   {{"Toutput_types", kOptionalTypes}}));
  return made[0];
}

Result<std::vector<Tensor>> GetValue(const Tensor& optional, const std::vector<DType>& types,
                                     const std::vector<PartialShape>& shapes) {
  return RunOp("OptionalGetValue", {optional},
               {{"output_types", types}, {"output_shapes", shapes}});
}

TEST(OptionalTest, GivesBackWhatItHolds) {
  const Result<Tensor> optional = MakeOptional();
  ASSERT_TRUE(optional.ok()) << optional.status().ToString();
  const auto got = GetValue(*optional, kOptionalTypes, {PartialShape{-1}, PartialShape::OfRank(0)});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<float>()[2], 3.0f);
  EXPECT_EQ((*got)[1].scalar<std::string>(), "a text");
  EXPECT_TRUE((*RunOp("OptionalHasValue", {*optional}))[0].scalar<bool>());
}

TEST(OptionalTest, MayHoldNothing) {
  const auto none = RunOp("OptionalNone", {});
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_FALSE((*RunOp("OptionalHasValue", {(*none)[0]}))[0].scalar<bool>());
  const Status status = GetValue((*none)[0], {DType::kFloat}, {PartialShape::OfRank(0)}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("does not have a value"), std::string_view::npos);
}

TEST(OptionalTest, RefusesWhatDoesNotMatch) {
  const Result<Tensor> optional = MakeOptional();
  ASSERT_TRUE(optional.ok());
  const PartialShape vector{-1}, scalar = PartialShape::OfRank(0), four{4};
  EXPECT_EQ(GetValue(*optional, {DType::kFloat}, {vector}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(GetValue(*optional, {DType::kInt32, DType::kString}, {vector, scalar}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(GetValue(*optional, kOptionalTypes, {four, scalar}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(GetValue(*optional, kOptionalTypes, {vector}).status().code(), Code::kInvalidArgument);
  const Result<Tensor> empty = Tensor::AllocateHost(DType::kVariant, Shape());
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(RunOp("OptionalHasValue", {*empty}).status().code(), Code::kInvalidArgument);
}

TEST(OptionalTest, AreNestedToADepth) {
  Result<Tensor> optional = MakeOptional();
  int depth = 1;
  while (optional.ok() && depth < 1000) {
    Result<std::vector<Tensor>> outer = RunOp(
        "OptionalFromValue", {*optional}, {{"Toutput_types", std::vector<DType>{DType::kVariant}}});
    optional = outer.ok() ? Result<Tensor>((*outer)[0]) : Result<Tensor>(outer.status());
    ++depth;
  }
  EXPECT_EQ(depth, 65);
  EXPECT_EQ(optional.status().code(), Code::kInvalidArgument);
}

TEST(OptionalTest, ZerosLikeAnOptional) {
  const Result<Tensor> optional = MakeOptional();
  ASSERT_TRUE(optional.ok());
  const auto zeros = RunOp("ZerosLike", {*optional});
  ASSERT_TRUE(zeros.ok()) << zeros.status().ToString();
  const auto got =
      GetValue((*zeros)[0], kOptionalTypes, {PartialShape{3}, PartialShape::OfRank(0)});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<float>()[2], 0.0f);
  EXPECT_EQ((*got)[1].scalar<std::string>(), "");
  const auto none = RunOp("ZerosLike", {(*RunOp("OptionalNone", {}))[0]});
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_FALSE((*RunOp("OptionalHasValue", {(*none)[0]}))[0].scalar<bool>());
  EXPECT_EQ(RunOp("ZerosLike", {*Tensor::AllocateHost(DType::kVariant, Shape())}).status().code(),
            Code::kUnimplemented);
}

// The gradient goes into an optional and out of it again.
TEST(OptionalTest, GradientsPassThrough) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output x = b.Const(kNumbers);
  const Output optional =
      b.Op("OptionalFromValue", {x}, {{"Toutput_types", std::vector{DType::kFloat}}});
  const Output value = b.Op("OptionalGetValue", {optional},
                            {{"output_types", std::vector{DType::kFloat}},
                             {"output_shapes", std::vector{PartialShape{3}}}});
  const Output incoming = b.Const(Tensor::Vector<float>({5, 6, 7}));
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  GradientContext of_get(*value.node, b, {{incoming, {}, {}}});
  ASSERT_TRUE(value.node->op().gradient(of_get).ok());
  GradientContext of_from(*optional.node, b, {of_get.input_grads()[0]});
  ASSERT_TRUE(optional.node->op().gradient(of_from).ok());
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  const auto got = runner.Run({}, {of_from.input_grads()[0].values});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<float>()[2], 7.0f);
}

}  // namespace
}  // namespace thalweg
