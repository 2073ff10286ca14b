// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/fused/test_fused_attrs.h"

namespace thalweg {
namespace {

TEST(FusedElementwiseTest, Computes) {
  KernelCall call(
      "_FusedElementwise", {Tensor::Vector<float>({1, -2, 3}), Tensor::Scalar(2.0f)},
      Attrs({"Mul 0 1", "Relu 2", "Greater 3 0"}, {3, 4}, {DType::kFloat, DType::kBool}));
  const Status status = call.Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Tensor y = call.output(0), larger = call.output(1);
  ASSERT_EQ(y.shape(), Shape{3});
  const float want[] = {2, 0, 6};
  const bool want_larger[] = {true, true, true};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(y.data<float>()[i], want[i]);
    EXPECT_EQ(larger.data<bool>()[i], want_larger[i]);
  }
}

TEST(FusedElementwiseTest, Scalars) {
  KernelCall call("_FusedElementwise", {Tensor::Scalar(3.0f), Tensor::Scalar(2.0f)},
                  Attrs({"Mul 0 1", "Add 2 1"}, {3}));
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(call.output(0).scalar<float>(), 8);
}

TEST(FusedElementwiseTest, ManyDimensions) {
  Dims dims;
  dims.resize(50, 1);
  dims[49] = 2;
  const Tensor x = Tensor::Of<float>(std::vector<float>{1, 2}, Shape(dims));
  KernelCall call("_FusedElementwise", {x, x}, Attrs({"Mul 0 1", "Add 2 1"}, {3}));
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(call.output(0).shape(), Shape(dims));
  EXPECT_EQ(call.output(0).data<float>()[1], 6);
}

TEST(FusedElementwiseTest, AnErrorSaysWhoseItIs) {
  KernelCall shapes("_FusedElementwise",
                    {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1, 2, 3})},
                    Attrs({"Neg 0", "Add 2 1"}, {3}, {DType::kFloat}, {"node 'n'", "node 'sum'"}));
  Status status = shapes.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "Incompatible shapes: [2] vs. [3]; in node 'sum'");
  KernelCall zero("_FusedElementwise",
                  {Tensor::Vector<int32_t>({1, 2}), Tensor::Vector<int32_t>({1, 0})},
                  Attrs({"Div 0 1", "Neg 2"}, {3}, {DType::kInt32}, {"node 'd'", "node 'n'"}));
  status = zero.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "Integer division by zero; in node 'd'");
}

TEST(FusedElementwiseTest, BadAttributesAreRefused) {
  const auto code = [](AttrMap attrs) {
    return KernelCall("_FusedElementwise", {Tensor::Scalar(1.0f)}, std::move(attrs)).Run().code();
  };
  EXPECT_EQ(code(Attrs({"Neg 0"}, {1})), Code::kOk);
  EXPECT_EQ(code(Attrs({"Teapot 0"}, {1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 1"}, {1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 0"}, {0})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 0"}, {-1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 0"}, {int64_t{1} << 40})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 0"}, {1, 1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 0"}, {1}, {DType::kInt32})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Neg 0"}, {1}, {DType::kFloat}, {"a", "b"})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Invert 0"}, {1})), Code::kUnimplemented);
  EXPECT_EQ(code(Attrs(Lines(65, "Neg 0"), {1})), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
