// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_machine.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// out = fold(out, element) over the reduced dimensions, from `start`; `count` elements each.
template <class V, class F>
Array<V> Fold(RefCall<V>& r, V start, F fold, int64_t* count) {
  const Shape& in = r.in[0].shape;
  std::vector<bool> reduced(static_cast<size_t>(in.rank()), false);
  for (const V& axis : r.in[1].values) {
    const auto a = static_cast<int>(std::real(axis));
    reduced[a < 0 ? a + in.rank() : a] = true;
  }
  Dims kept, squeezed;
  *count = 1;
  for (int d = 0; d < in.rank(); ++d) {
    kept.push_back(reduced[d] ? 1 : in.dim(d));
    if (!reduced[d]) squeezed.push_back(in.dim(d));
    if (reduced[d]) *count *= in.dim(d);
  }
  Array<V> out{Shape(kept)};
  std::fill(out.values.begin(), out.values.end(), start);
  ForEachIndex(in, [&](const std::vector<int64_t>& at) {
    V& to = out.At(at);
    to = fold(to, r.in[0].At(at));
  });
  if (!r.template Attr<bool>("keep_dims")) out.shape = Shape(squeezed);
  return out;
}

OpCase Reduction(const char* op, double low = -2, double high = 2, bool distinct = true) {
  const auto axes = [](std::vector<double> values) {
    return In({static_cast<int64_t>(values.size())}, values);
  };
  const auto x = [&](std::initializer_list<int64_t> dims) {
    return distinct ? In(dims).Range(low, high).Distinct() : In(dims).Range(low, high);
  };
  OpCase made(op);
  made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kSum, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kSum, DType::kBfloat16))
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kSum, DType::kComplex64))
      .Try({x({7, 31}), axes({0})})
      .Try({x({7, 31}), axes({1})})
      .Try({x({7, 31}), axes({-1})}, {{"keep_dims", true}})
      .Try({x({3, 4, 5}), axes({0, 2})})
      .Try({x({3, 4, 5}), axes({1})}, {{"keep_dims", true}})
      .Try({x({2, 3, 2, 3}), axes({3, 1})}, {{"Tidx", DType::kInt64}})
      .Try({x({5}), In({}, {0})})
      .Try({x({2, 3}), In({0})})
      .Try({x({}), In({0})})
      .Try({x({0, 3}), axes({1})})
      .Bad({x({2, 3}), axes({2})}, {}, Code::kInvalidArgument,
           "Invalid reduction dimension 2 for input with 2 dimensions.",
           "Invalid reduction dimension (2 for input with 2 dimension(s)")
      .Bad({x({2, 3}), axes({-3})}, {}, Code::kInvalidArgument,
           "Invalid reduction dimension -3 for input with 2 dimensions.",
           "Invalid reduction dimension (-3 for input with 2 dimension(s)")
      .Bad({x({2, 3}), axes({0, -2})}, {}, Code::kInvalidArgument,
           "Axes contains duplicate dimension: 0");
  return made;
}

TEST(ReduceTest, Sums) {
  Reduction("Sum")
      .Reference([]<class V>(RefCall<V>& r) {
        int64_t count = 0;
        r.out = {Fold<V>(
            r, V(0), [](V a, V b) { return a + b; }, &count)};
      })
      .Try({In({0, 3}), In({1}, {0})})
      .Run();
  Reduction("Mean")
      .Reference([]<class V>(RefCall<V>& r) {
        int64_t count = 0;
        r.out = {Fold<V>(
            r, V(0), [](V a, V b) { return a + b; }, &count)};
        for (V& value : r.out[0].values) value /= static_cast<double>(count);
      })
      .Run();
  Reduction("Prod", 0.6, 2, false)
      .Reference([]<class V>(RefCall<V>& r) {
        int64_t count = 0;
        r.out = {Fold<V>(
            r, V(1), [](V a, V b) { return a * b; }, &count)};
      })
      .Try({In({0, 3}), In({1}, {0})})
      .Try({In({3, 2}, {0, 1, 2, 3, 4, 0}), In({1}, {0})})
      .Run();
}

TEST(ReduceTest, EuclideanNorms) {
  Reduction("EuclideanNorm", 0.5, 3)
      .Reference([]<class V>(RefCall<V>& r) {
        int64_t count = 0;
        r.out = {Fold<V>(
            r, V(0), [](V a, V b) { return a + V(std::norm(b)); }, &count)};
        for (V& value : r.out[0].values) {
          const bool whole = IsInteger(r.in_type(0));
          value = whole ? std::floor(std::sqrt(std::real(value))) : std::sqrt(std::real(value));
        }
      })
      .GradInputs({0})
      .Skip(DType::kInt8, "the sums wrap, see below")
      .Skip(DType::kUint8, "likewise")
      .Skip(DType::kInt16, "likewise")
      .Skip(DType::kUint16, "likewise")
      .Run();
  // Sums of squares of integers wrap before the root is taken.
  const Tensor wrapped = (*RunOp(
      "EuclideanNorm", {Tensor::Vector<int8_t>({100, 100}), Tensor::Vector<int32_t>({0})}))[0];
  EXPECT_EQ(wrapped.scalar<int8_t>(), 5);
  const Tensor large = Tensor::Vector<Half>({Half(1000.0f), Half(1.0f)});
  const Tensor norm = (*RunOp("EuclideanNorm", {large, Tensor::Vector<int32_t>({0})}))[0];
  EXPECT_EQ(static_cast<float>(norm.scalar<Half>()), 1000);
}

TEST(ReduceTest, Extremes) {
  const double inf = std::numeric_limits<double>::infinity();
  Reduction("Max")
      .Reference([inf](RefCall<double>& r) {
        int64_t count = 0;
        r.out = {Fold<double>(
            r, -inf, [](double a, double b) { return std::max(a, b); }, &count)};
      })
      .Run();
  Reduction("Min")
      .Reference([inf](RefCall<double>& r) {
        int64_t count = 0;
        r.out = {Fold<double>(
            r, inf, [](double a, double b) { return std::min(a, b); }, &count)};
      })
      .Run();
}

TEST(ReduceTest, Logic) {
  const auto logic = [](const char* op, bool all) {
    OpCase(op)
        .Reference([all](RefCall<double>& r) {
          int64_t count = 0;
          r.out = {Fold<double>(
              r, all, [all](double a, double b) { return all ? a * b : std::max(a, b); }, &count)};
        })
        .Try({In({7, 31}), In({1}, {1})})
        .Try({In({9, 2}), In({1}, {1})}, {{"keep_dims", true}})
        .Try({In({2, 2}), In({2}, {0, 1})}, {{"Tidx", DType::kInt64}})
        .Try({In({0, 3}), In({1}, {0})})
        .Try({In({}, {1}), In({0})})
        .Bad({In({2}), In({1}, {1})}, {}, Code::kInvalidArgument,
             "Invalid reduction dimension 1 for input with 1 dimensions.",
             "Invalid reduction dimension (1 for input with 1 dimension(s)")
        .Run();
  };
  logic("All", true);
  logic("Any", false);
}

// Releases that take an axis given twice as one, and those that refuse it.
TEST(ReduceTest, AnAxisGivenTwice) {
  for (const int producer : {134, 2470}) {
    Graph graph(AllRegistries().ops);
    graph.versions().producer = producer;
    GraphBuilder b(&graph);
    TestMachine machine(compute::BestIsaLevel(), false);
    const Output x = b.Const(Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{2, 2}));
    const Output axes = b.Const(Tensor::Vector<int32_t>({0, -2}));
    // The shape function does not see its value.
    const Output late = b.Op("Placeholder", {}, {{"dtype", DType::kInt32}});
    const Output y = b.Op("Sum", {x, late});
    ASSERT_TRUE(b.ok()) << b.status().ToString();
    const auto values = GraphRunner(*AllRegistries().kernels, machine)
                            .Run({{late, Tensor::Vector<int32_t>({0, -2})}}, {y}, {});
    const Output early = b.Op("Sum", {x, axes});
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    EXPECT_EQ(early.shape().ToString(), "[2]");
    if (producer == 134) {
      ASSERT_TRUE(values.ok()) << values.status().ToString();
      EXPECT_EQ((*values)[0].shape(), Shape{2});
      EXPECT_EQ((*values)[0].data<float>()[1], 6.0F);
      continue;
    }
    EXPECT_NE(values.status().message().find("Axes contains duplicate dimension: 0"),
              std::string_view::npos)
        << values.status().ToString();
  }
}

// 1.15 and 2.21 refuse a matrix of axes where its shape is known, but of old producers.
TEST(ReduceTest, AMatrixOfAxes) {
  for (const int producer : {20, 21}) {
    Graph graph(AllRegistries().ops);
    graph.versions().producer = producer;
    GraphBuilder b(&graph);
    TestMachine machine(compute::BestIsaLevel(), false);
    const Tensor axes = Tensor::Of<int32_t>(std::vector<int32_t>{0, -1}, Shape{2, 1});
    const Output x = b.Const(Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{2, 2}));
    const Output late = b.Op("Placeholder", {}, {{"dtype", DType::kInt32}});
    const Output y = b.Op("Sum", {x, late});
    ASSERT_TRUE(b.ok()) << b.status().ToString();
    const auto values = GraphRunner(*AllRegistries().kernels, machine).Run({{late, axes}}, {y}, {});
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    EXPECT_EQ((*values)[0].scalar<float>(), 10.0F);
    const Output early = b.Op("Sum", {x, b.Const(axes)});
    EXPECT_EQ(b.ok(), producer == 20) << b.status().ToString();
    if (b.ok()) {
      EXPECT_EQ(early.shape().ToString(), "[]");
    }
  }
}

}  // namespace
}  // namespace thalweg
