// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/fused/fused_shape.h"
#include "thalweg/ops/fused/test_fused_attrs.h"

namespace thalweg {
namespace {

Tensor Matrix(std::vector<float> values, int64_t rows) {
  const auto columns = static_cast<int64_t>(values.size()) / rows;
  return Tensor::Of<float>(values, Shape{rows, columns});
}

TEST(FusedReductionTest, AReductionEndsTheProgram) {
  KernelCall call("_FusedReduction", {Matrix({1, -2, 3, -4}, 2), Tensor::Scalar(2.0f)},
                  Attrs({"Mul 0 1", "Square 2", "Sum 3 axes 0"}, {2, 4}, DTypes(2, DType::kFloat)));
  const Status status = call.Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(call.output(0).data<float>()[3], -8);
  ASSERT_EQ(call.output(1).shape(), Shape{2});
  EXPECT_EQ(call.output(1).data<float>()[0], 40);
  EXPECT_EQ(call.output(1).data<float>()[1], 80);
}

TEST(FusedReductionTest, RowsMinusTheirMeans) {
  KernelCall call("_FusedReduction", {Matrix({1, 3, 5, 9}, 2)},
                  Attrs({"Mean 0 axes -1 keep", "Sub 0 1"}, {2}));
  ASSERT_TRUE(call.Run().ok());
  const float want[] = {-1, 1, -2, 2};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(call.output(0).data<float>()[i], want[i]);
}

TEST(FusedReductionTest, NothingAndScalars) {
  KernelCall none("_FusedReduction", {Tensor::Of<float>(std::vector<float>{}, Shape{0, 3})},
                  Attrs({"Neg 0", "Sum 1 axes 0,1 keep"}, {2}));
  ASSERT_TRUE(none.Run().ok());
  ASSERT_EQ(none.output(0).shape(), (Shape{1, 1}));
  EXPECT_EQ(none.output(0).data<float>()[0], 0);
  KernelCall scalar("_FusedReduction", {Tensor::Scalar(3.0f)}, Attrs({"Neg 0", "Max 1"}, {2}));
  ASSERT_TRUE(scalar.Run().ok());
  EXPECT_EQ(scalar.output(0).scalar<float>(), -3);
}

TEST(FusedReductionTest, ShapesComeFromTheProgram) {
  const std::vector<PartialShape> values = {{8, -1, 3}, {3}, PartialShape(), {4}};
  const auto of = [&](std::string_view line) {
    const Result<PartialShape> shape = FusedLineShape(line, values);
    return shape.ok() ? shape->ToString() : "refused";
  };
  EXPECT_EQ(of("Mul 0 1"), "[8,?,3]");
  EXPECT_EQ(of("ReluGrad 0 0 same"), "[8,?,3]");
  EXPECT_EQ(of("Sum 0 axes 0,-1"), "[?]");
  EXPECT_EQ(of("Sum 0 axes 0,-1 keep"), "[1,?,1]");
  EXPECT_EQ(of("Cast:float64 1"), "[3]");
  EXPECT_EQ(of("Add 2 1"), "<unknown>");
  EXPECT_EQ(of("Add 0 3"), "refused");
  for (const char* bad : {"Sum 1 axes 1", "Sum 1 axes x", "Neg 4", "Neg -1", "", "Neg"}) {
    EXPECT_EQ(of(bad), "<unknown>") << bad;
  }
}

TEST(FusedReductionTest, AnErrorSaysWhoseItIs) {
  KernelCall axes("_FusedReduction", {Tensor::Vector<float>({1, 2})},
                  Attrs({"Neg 0", "Sum 1 axes 1"}, {2}, {DType::kFloat}, {"node 'n'", "node 's'"}));
  Status status = axes.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(status.message().ends_with("; in node 's'")) << status.message();
  KernelCall zero("_FusedReduction",
                  {Tensor::Vector<int32_t>({1, 2}), Tensor::Vector<int32_t>({1, 0})},
                  Attrs({"Div 0 1", "Sum 2 axes 0"}, {3}, {DType::kInt32}, {"node 'd'", "'s'"}));
  status = zero.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "Integer division by zero; in node 'd'");
}

TEST(FusedReductionTest, BadAttributesAreRefused) {
  const auto code = [](AttrMap attrs) {
    return KernelCall("_FusedReduction", {Tensor::Vector<float>({1})}, std::move(attrs))
        .Run()
        .code();
  };
  EXPECT_EQ(code(Attrs({"Sum 0 axes 0"}, {1})), Code::kOk);
  for (const char* bad : {"Sum", "Sum 1 axes 0", "Sum 0 axes x", "Sum 0 axes 0 what", "Som 0",
                          "Sum 0 axes 99999999999999999999", "Sum 0 axes 5"}) {
    EXPECT_EQ(code(Attrs({bad}, {1})), Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(code(Attrs({"Greater 0 0", "Sum 1 axes 0"}, {2}, {DType::kBool})),
            Code::kUnimplemented);
  EXPECT_EQ(code(Attrs({"Sum 0 axes 0"}, {0})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Sum 0 axes 0"}, {1, 1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Sum 0 axes 0"}, {1}, {DType::kInt32})), Code::kInvalidArgument);
  EXPECT_EQ(code(Attrs({"Sum 0 axes 0"}, {1}, {DType::kFloat}, {"a", "b"})),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
