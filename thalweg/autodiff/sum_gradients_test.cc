// SPDX-License-Identifier: Apache-2.0
// Sums of partials, and what is said where a path breaks.
#include "thalweg/autodiff/sum_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/autodiff/path_report.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

class SumGradientsTest : public testing::Test {
 protected:
  Output Vector(std::initializer_list<float> values) { return b_.Const(Tensor::Vector(values)); }
  // Rows of two elements of a tensor of three.
  template <class Index>
  GradientValue Rows(const Floats& values, std::initializer_list<Index> rows) {
    return {b_.Const(Tensor::Of<float>(values, Shape{static_cast<int64_t>(rows.size()), 2})),
            b_.Const(Tensor::Vector<Index>(rows)), b_.Const(Tensor::Vector<int64_t>({3, 2}))};
  }
  GradientValue Sum(std::vector<GradientValue> partials) {
    const Output of = Vector({0});
    GradientValue sum = SumGradients(b_, of, std::move(partials));
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    return sum;
  }
  Tensor Value(const Output& output) {
    GraphRunner runner(*AllRegistries().kernels, machine_);
    const Result<std::vector<Tensor>> value = runner.Run({}, {output});
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return value.ok() ? (*value)[0] : Tensor();
  }
  Floats ValuesOf(const Output& output) {
    const Tensor value = Value(output);
    return {value.flat<float>().begin(), value.flat<float>().end()};
  }

  Graph graph_{AllRegistries().ops};
  GraphBuilder b_{&graph_};
  TestMachine machine_{compute::BestIsaLevel(), false};
};

TEST_F(SumGradientsTest, NoPartialsAreAbsentAndOneIsItself) {
  EXPECT_FALSE(Sum({}).present());
  const GradientValue one{Vector({1, 2}), {}, {}};
  const int before = graph_.num_nodes();
  EXPECT_EQ(Sum({one}).values, one.values);
  EXPECT_EQ(graph_.num_nodes(), before + 1) << "no node but the constant of this test";
}

TEST_F(SumGradientsTest, DensePartialsAreAddedByOneNode) {
  const GradientValue sum =
      Sum({{Vector({1, 2}), {}, {}}, {Vector({10, 20}), {}, {}}, {Vector({100, 200}), {}, {}}});
  EXPECT_EQ(sum.values.node->op_name(), "AddN");
  EXPECT_FALSE(sum.is_sparse());
  EXPECT_EQ(ValuesOf(sum.values), (Floats{111, 222}));
}

TEST_F(SumGradientsTest, SparseRowsStaySparseOneAfterTheOther) {
  const GradientValue sum = Sum({Rows<int32_t>({1, 2}, {2}), Rows<int32_t>({3, 4, 5, 6}, {0, 2})});
  ASSERT_TRUE(sum.is_sparse());
  EXPECT_EQ(ValuesOf(sum.values), (Floats{1, 2, 3, 4, 5, 6}));
  const Tensor rows = Value(sum.indices);
  EXPECT_EQ(std::vector<int32_t>(rows.flat<int32_t>().begin(), rows.flat<int32_t>().end()),
            (std::vector<int32_t>{2, 0, 2}));
  EXPECT_NE(sum.dense_shape.node, nullptr);
}

TEST_F(SumGradientsTest, IndicesAreWideAsSoonAsOneIs) {
  const GradientValue sum = Sum({Rows<int32_t>({1, 2}, {2}), Rows<int64_t>({3, 4}, {1})});
  EXPECT_EQ(sum.indices.dtype(), DType::kInt64);
  EXPECT_EQ(Value(sum.indices).data<int64_t>()[0], 2);
}

TEST_F(SumGradientsTest, BesideADenseOneSparseRowsBecomeDense) {
  const GradientValue dense{
      b_.Const(Tensor::Of<float>(Floats{1, 1, 1, 1, 1, 1}, Shape{3, 2})), {}, {}};
  const GradientValue sum = Sum({Rows<int32_t>({5, 6, 7, 8}, {2, 2}), dense});
  EXPECT_FALSE(sum.is_sparse());
  EXPECT_EQ(ValuesOf(sum.values), (Floats{1, 1, 1, 1, 13, 15})) << "a row named twice counts twice";
}

class PathReportTest : public SumGradientsTest {
 protected:
  Output Float(std::string_view name) {
    return b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, name);
  }
};

TEST_F(PathReportTest, ANodeWithoutAGradientIsNamedWithItsReason) {
  const Output x = Float("x");
  const Output top = b_.Op("ArgMax", {x, b_.Const(Tensor::Scalar<int32_t>(0))}, {}, "top");
  const Output y = b_.Op("Cast", {top}, {{"DstT", DType::kFloat}}, "y");
  const std::string words = ReportBrokenPath({y}, x);
  EXPECT_THAT(words, AllOf(HasSubstr("no gradient of 'y' with respect to 'x'"),
                           HasSubstr("the path from 'x' breaks at")));
  EXPECT_THAT(words, testing::AnyOf(HasSubstr("ArgMax 'top'"), HasSubstr("Cast 'y'")));
}

TEST_F(PathReportTest, TheTypeOfAnEdgeThatCarriesNoGradientIsSaid) {
  const Output x = Float("x");
  const Output whole = b_.Op("Cast", {x}, {{"DstT", DType::kInt32}}, "whole");
  const Output y = b_.Op("Cast", {whole}, {{"DstT", DType::kFloat}}, "y");
  EXPECT_THAT(ReportBrokenPath({y}, x), HasSubstr("breaks at Cast 'y' ("));
  EXPECT_THAT(ReportBrokenPath({y}, x), HasSubstr("its input 'whole' has type int32"));
}

TEST_F(PathReportTest, WhatDoesNotDependOnItIsSaidOfTheFirstOfSeveral) {
  const Output x = Float("x"), y = Float("y"), z = Float("z");
  EXPECT_EQ(ReportBrokenPath({y}, x),
            "no gradient of 'y' with respect to 'x': it does not depend on 'x'");
  EXPECT_EQ(ReportBrokenPath({y, z}, x),
            "no gradient of 'y' (and others) with respect to 'x': it does not depend on 'x'");
}

TEST_F(PathReportTest, AWholePathIsLeftToItsGradientFunctions) {
  const Output x = Float("x"), y = b_.Op("Neg", {x}, {}, "y");
  EXPECT_THAT(ReportBrokenPath({y}, x),
              HasSubstr("along the path, from Neg 'y' back to Placeholder 'x', pass nothing on"));
}

}  // namespace
}  // namespace thalweg
